# shellcheck shell=bash
# The options that choose a part of a trace mean the same in every export and view: each choice of a table is exported to every format,
# read by the format's own reader, and held against `brace report --json` of the same choice, which excerpt.sh recounts from the text
# of the whole trace. (Parquet: export-duckdb.sh; brace tui: tui.sh.)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export-lib.sh"
export PYTHONDONTWRITEBYTECODE=1

record --mode block -- "$FIXTURES/parts"
nothing_lost "a program of three threads" 150
"$BRACE" report --json "$T/trace" >"$T/whole" 2>"$T/err"
# Two times at which nothing happens: no reader and no rounding can take a call for one of the other side.
"$BRACE" replay -O funcgraph-abstime -O funcgraph-proc "$T/trace" >"$T/full" 2>>"$T/err"
read -r FROM TO < <(/usr/bin/python3 "$HERE/excerpt_truth.py" "$T/full" times)
"$BRACE" export --list | cut -d ' ' -f 1 | grep -v parquet >"$T/formats"
check_that "there are formats" test "$(wc -l <"$T/formats")" -ge 15

cat >"$T/compared.py" <<'P'
"""compared.py REPORT: on standard input `brace diff --json` of the part with itself, which has the report's rows on both sides."""
import json, sys
rows = [row for row in map(json.loads, sys.stdin) if 'a' in row and 'name' in row]
report = {(r['name'], r['module']): (r['calls'], r['self_ns']) for r in map(json.loads, list(open(sys.argv[1]))[1:])}
sides = [{(r['name'], r['module']): (r[side]['calls'], r[side]['self_ns']) for r in rows} for side in 'ab']
assert sides == [report, report] and report, (sides, report)
P
# Formats that add calls up have the report's times; timelines begin an open call where it began, and have its calls alone.
adds_up() { [[ $1 = @(folded|flamegraph|callgrind|pprof|dot) ]]; }
check_format() { # FORMAT OPTION...
	unset CALLS_ONLY
	[[ " ${*:2} " != *' --from '* ]] || adds_up "$1" || export CALLS_ONLY=1
	export_to "$1" trace "${@:2}" && show "$1" trace && is_reports "$1" trace || { echo "--- $1" && cat "$T/err" "$T/log"; } >>"$T/differs"
}
check_views() { # OPTION...
	"$BRACE" report --json --by thread "$@" "$T/trace" >"$T/threads" 2>"$T/err" && "$BRACE" html "$@" "$T/trace" -o "$T/page" >"$T/out" 2>>"$T/err" &&
		python3 "$HERE/pages.py" "$T/page" "$T/trace.report" "$T/threads" >"$T/log" 2>&1 || { echo '--- html' && cat "$T/err" "$T/log"; } >>"$T/differs"
	"$BRACE" diff --json "$@" "$T/trace" "$T/trace" 2>"$T/err" | python3 "$T/compared.py" "$T/trace.report" >"$T/log" 2>&1 ||
		{ echo '--- diff' && cat "$T/err" "$T/log"; } >>"$T/differs"
}
while read -r options; do
	: >"$T/differs"
	set -f
	# shellcheck disable=SC2086 # words
	set -- $options
	set +f
	"$BRACE" report --json "$@" "$T/trace" >"$T/trace.report" 2>"$T/err" && ! cmp -s "$T/whole" "$T/trace.report" || { echo '--- report' && cat "$T/err"; } >>"$T/differs"
	while read -r format; do
		if [ -n "${READER[$format]-}" ] && ! command -v "${READER[$format]}" >"$T/log"; then continue; fi
		check_format "$format" "$@"
	done <"$T/formats"
	check_views "$@"
	result "$options: in each format and view" "$(wc -l <"$T/differs")" "$T/differs"
done <<END
-l leaf -l fib*
-g round_of -n fibonacci --max-graph-depth 3
-l parts.c
--callers-of short_step
--min-duration 300ns
--min-size 40
--process parts --thread e* --thread odd
--from $FROM
--from $FROM --to $TO -g round_of --min-duration 10ns -n leaf
END
finish

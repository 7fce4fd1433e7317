#!/bin/bash
# `brace export`: each format is read by its own reader where the machine has it, and by a strict one of ours (exports.py); calls
# and times are those of `brace report`.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export-lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
export ACCOUNT=$T/account

record() { # NAME ARGUMENT...: and its report
	timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/$1" "${@:2}" >"$T/out" 2>"$T/err" </dev/null
	"$BRACE" report --json "$T/$1" >"$T/$1.report" 2>>"$T/err"
}
cat >"$T/evil.c" <<'C'
#include <unistd.h>
__attribute__((noinline, noclone)) int innocent(int n) { __asm__ volatile(""); return n + 1; }
__attribute__((noinline, noclone)) int again(int n) { __asm__ volatile(""); return n ? again(n - 1) + innocent(n) : 0; }
int main(void) { return again(20) == 1; }
C
NAME='</title></text><script>alert(1)</script>"; ]]>&x'
cc -O1 -fno-optimize-sibling-calls -c -o "$T/evil.o" "$T/evil.c" && objcopy --redefine-sym innocent="$NAME" "$T/evil.o" && cc -o "$T/evil" "$T/evil.o"
check_that "a program has a function of an evil name" test -x "$T/evil"

record threads -- "$FIXTURES/threads"
record recursion -- "$FIXTURES/recursion"
record exceptions -- "$FIXTURES/exceptions"
record names -- "$T/evil"
check_that "traces were made" test -s "$T/threads.report" -a -s "$T/recursion.report" -a -s "$T/exceptions.report" -a -s "$T/names.report"
check_that "the name is in the trace" grep -q 'script>alert' "$T/names.report"

for name in threads exceptions names; do
	for weight in self total calls; do
		export_to folded $name --weight $weight
		agree folded $name $weight
	done
	for format in chrome speedscope flamegraph firefox; do
		export_to $format $name
		agree $format $name
	done
	for format in callgrind perfetto uftrace csv; do
		agree_by_reader $format $name
	done
	export_to sqlite $name
	check_that "$name as sqlite: sqlite3 finds it whole" test "$(sqlite3 "$T/$name.sqlite" 'PRAGMA integrity_check')" = ok
	check_that "$name as sqlite: calls by name are report's" /usr/bin/python3 -c 'import collections, json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
report = [json.loads(l) for l in open(sys.argv[2])][1:]
calls, self = collections.Counter(), collections.Counter()
for r in report:
    calls[r["name"]] += r["calls"]
    self[r["name"]] += r["self_ns"] or 0
rows = list(db.execute("SELECT name, count(*), sum(self) FROM slice GROUP BY name"))
assert {r[0]: r[1] for r in rows} == dict(calls) and rows, (rows, calls)
assert all(abs((r[2] or 0) - self[r[0]]) <= r[1] + len(report) for r in rows), rows
assert list(db.execute("SELECT name, module, calls, coalesce(total, 0) FROM function ORDER BY 1, 2, 3")) == sorted((r["name"], r["module"], r["calls"], r["total_ns"]) for r in report)
' "$T/$name.sqlite" "$T/$name.report"
	"$BRACE" query --csv "$T/$name" 'SELECT * FROM thread' | tail -n +2 >"$T/asked"
	check_that "$name as sqlite: tables are those of brace query" diff <(sqlite3 -csv "$T/$name.sqlite" 'SELECT * FROM thread' | tr -d '\r"') <(tr -d '\r"' <"$T/asked")
	agree_by_reader dot $name
	agree_by_reader trace.dat.v7 $name
	agree_by_reader trace.dat $name
	check_that "$name as trace.dat.v7: it shows what it shows of version 6" diff "$T/$name.trace.dat" "$T/$name.trace.dat.v7"
	export_to trace.dat.v7 $name
	trace-cmd dump --summary -i "$T/$name.trace.dat.v7" >"$T/log" 2>&1 && grep -qE '^\s+7\s+\[Version' "$T/log" && grep -q '\[8 sections\]' "$T/log"
	result "$name as trace.dat.v7: trace-cmd dump finds its sections" $? "$T/log"
	# Threads that the program's end cut off end with the stream.
	if [ $name = threads ]; then export CALLS_ONLY=1; fi
	agree_by_reader ctf $name
	unset CALLS_ONLY
	check_that "$name as ctf: babeltrace2 has nothing to say of it" test ! -s "$T/err"
done
if command -v protoc >"$T/log"; then
	agree_by_reader pprof names
	! grep -E '^ *[0-9]+[:{ ]' "$T/names.pprof" >"$T/unknown"
	result "with names for all of its fields" $? "$T/unknown"
	export_to perfetto names
	protoc --decode=Trace --proto_path="$HERE" perfetto.proto <"$T/names.perfetto" >"$T/decoded" 2>"$T/err"
	result "protoc decodes Perfetto's" $? "$T/err"
	! grep -E '^ *[0-9]+[:{ ]' "$T/decoded" >"$T/unknown"
	result "with names for all fields" $? "$T/unknown"
	check_that "and the calls" test "$(grep -c TYPE_SLICE_BEGIN "$T/decoded")" = "$(grep -c TYPE_SLICE_END "$T/decoded")" -a \
		"$(grep -c TYPE_SLICE_BEGIN "$T/decoded")" -gt 40
else
	skip "Perfetto by protoc" "protobuf-compiler is not installed"
fi
export_to folded recursion
check_that "calls that are too deep are told" grep -qE 'warning: [0-9]+ calls were added to their callers' "$T/err"
export_to flamegraph threads --weight calls
agree flamegraph threads calls
export_to flamegraph names
node "$HERE/flamegraph_script.js" "$T/names.flamegraph" again >"$T/log" 2>&1
result "the script of a flame graph searches and zooms" $? "$T/log"
check_that "a name stays text in a picture" test "$(grep -c '<script' "$T/names.flamegraph")" = 1
export_to chrome names
check_that "and in JSON" python3 -c 'import json, sys
assert any(e.get("name") == sys.argv[2] for e in json.load(open(sys.argv[1]))["traceEvents"])' "$T/names.chrome" "$NAME"

# Events, values, arguments, and what has no place.
record events -t function_graph --args --retval -e truth:tick -- "$FIXTURES/events"
export_to chrome events
check_that "events, arguments and values are in Chrome's JSON" python3 -c 'import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
count = lambda f: sum(1 for e in events if f(e))
report = [json.loads(l) for l in open(sys.argv[2])][1:]
assert count(lambda e: e["ph"] == "i") == sum(r["calls"] for r in report if r["name"].startswith("truth:")) > 0
assert count(lambda e: "arguments" in e.get("args", {})) and count(lambda e: "returned" in e.get("args", {}))' "$T/events.chrome" "$T/events.report"
check_that "nothing is said of what is there" test ! -s "$T/err"
export_to firefox events
check_that "events are markers of the Firefox Profiler" python3 -c 'import json, sys
n = sum(t["markers"]["length"] for t in json.load(open(sys.argv[1]))["threads"])
assert n == sum(r["calls"] for r in map(json.loads, list(open(sys.argv[2]))[1:]) if r["name"].startswith("truth:")) > 0, n' "$T/events.firefox" "$T/events.report"
export_to folded events
check_that "folded says what it leaves out" grep -qE '^brace: folded has no place for some of the trace, which is left out: [0-9]+ events?, .*arguments.*values?' "$T/err"

# Threads whose process calls exec, calls open at the end, calls that were told at their ends.
record killed -- bash -c 'exec bash -c "kill -9 \$\$"'
record short --threshold 2us -- "$FIXTURES/threads"
for name in killed short; do
	for format in chrome speedscope perfetto firefox; do
		export_to $format $name
		python3 "$HERE/exports.py" $format "$T/$name.report" "$T/$name.$format" >"$T/log" 2>&1
		! grep -qE 'time goes back|is open|JSON|IndexError' "$T/log"
		result "$name as $format: calls are pairs" $? "$T/log"
	done
done
check_that "calls open at the end are marked" grep -q '"ended":"unfinished"' "$T/killed.chrome"
export_to folded short
check_that "a threshold is told" grep -q 'calls shorter than 2000 ns were not recorded' "$T/err"

# Losses.
timeout -k 5 "$LIMIT" "$BRACE" record -q -b 64K --mode overwrite -o "$T/lossy" -- "$FIXTURES/recursion" >"$T/out" 2>"$T/err"
"$BRACE" report --json "$T/lossy" >"$T/lossy.report" 2>>"$T/err"
for format in chrome speedscope perfetto firefox; do
	export_to $format lossy
	python3 "$HERE/exports.py" $format "$T/lossy.report" "$T/lossy.$format" >"$T/log" 2>&1
	! grep -qE 'time goes back|is open|JSON|IndexError' "$T/log"
	result "lossy as $format: calls are pairs" $? "$T/log"
done
if grep -q '"lost":[1-9]' "$T/lossy.report"; then
	check_that "losses are told" grep -q 'records were lost: figures are too low' "$T/err"
	check_that "losses are marked" grep -q '"lost records"' "$T/lossy.chrome"
else
	not_ok "nothing was lost"
fi

# A database: events with their fields; what it cannot be.
export_to sqlite events
check_that "a database has events and their arguments" test "$(sqlite3 "$T/events.sqlite" "SELECT count(*) > 0 AND count(*) = (SELECT count(DISTINCT arg_set_id) FROM args WHERE arg_set_id IN (SELECT arg_set_id FROM ftrace_event WHERE name = 'tick')) FROM ftrace_event WHERE name = 'tick'")" = 1
"$BRACE" query --csv "$T/events" 'SELECT count(*), sum(int_value), min(key), max(key) FROM args' | tail -n 1 >"$T/asked"
check_that "as many as brace query has" test "$(sqlite3 -csv "$T/events.sqlite" 'SELECT count(*), sum(int_value), min(key), max(key) FROM args' | tr -d '\r"')" = "$(tr -d '\r"' <"$T/asked")"

# A part of a trace.
record part -- "$FIXTURES/threads"
"$BRACE" export "$T/part" --to folded --weight calls -g step --from 0% --to 100% >"$T/some" 2>"$T/err"
"$BRACE" export "$T/part" --to folded --weight calls >"$T/all" 2>>"$T/err"
check_that "a part has less than all" test "$(wc -l <"$T/some")" -lt "$(wc -l <"$T/all")" -a -s "$T/some"
"$BRACE" export "$T/part" --to chrome --from 40% --to 60% >"$T/part.chrome" 2>>"$T/err"
python3 "$HERE/exports.py" chrome "$T/part.report" "$T/part.chrome" >"$T/log" 2>&1
! grep -qE 'time goes back|is open|JSON|IndexError' "$T/log"
result "a part's calls are pairs" $? "$T/log"

# The output.
check_that "a file is its user's alone" test "$(stat -c %a "$T/names.chrome")" = 600
check_that "nothing temporary stays" test -z "$(find "$T" -name '*.chrome.*')"
echo kept >"$T/kept" && ln -s kept "$T/link"
says() { # SENTENCE ARGUMENT...
	"$BRACE" export "${@:2}" >"$T/out" 2>"$T/err"
	[ $? = 125 ] && grep -q -- "$1" "$T/err" && [ ! -s "$T/out" ]
	result "export says: $1" $? "$T/err"
}
says 'symbolic link' --to chrome "$T/names" -o "$T/link"
check_that "the file behind the link is as it was" test "$(cat "$T/kept")" = kept
says 'did you mean folded' --to foldet "$T/names"
says 'needs an argument' "$T/names" --to
says 'needs a format' "$T/names"
says 'no weight' --to folded --weight most "$T/names"
says 'of folded and flamegraph' --to chrome --weight self "$T/names"
# --- a part of a trace as a database: its calls, and their sums, are those of brace replay's and report's part
for part in "-l main" "--from 25% --min-duration 1us" "--from 10% --to 60%"; do
	# shellcheck disable=SC2086 # words
	"$BRACE" export --to sqlite "$T/threads" -o "$T/part.sqlite" $part 2>"$T/err" && "$BRACE" export --to csv "$T/threads" -o "$T/part.csv" $part 2>>"$T/err"
	# shellcheck disable=SC2086 # words
	"$BRACE" report --json "$T/threads" $part >"$T/part.report" 2>>"$T/err"
	check_that "a database of $part has its calls" /usr/bin/python3 -c 'import csv, collections, json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
rows = list(csv.DictReader(open(sys.argv[2])))
want = collections.Counter((r["function"], int(r["duration_ns"] or 0)) for r in rows)
have = collections.Counter((n, d or 0) for n, d in db.execute("SELECT name, dur FROM slice"))
assert want and want == have, (want - have, have - want)
report = [json.loads(l) for l in open(sys.argv[3])][1:]
assert sorted((r["name"], r["calls"]) for r in report) == sorted(db.execute("SELECT name, calls FROM function"))
' "$T/part.sqlite" "$T/part.csv" "$T/part.report"
	rm -f "$T/part.sqlite" "$T/part.csv"
done
check_that "a part that has nothing leaves no database" sh -c '! "$0" export --to sqlite "$1" -o "$2" --min-duration 1h 2>"$3" && grep -q "nothing of the trace is chosen" "$3" && ! test -e "$2"' "$BRACE" "$T/threads" "$T/none.sqlite" "$T/err"
says 'name its file with -o' --to sqlite "$T/names"
says 'a database is a file' --to sqlite "$T/names" -o /dev/null
says 'matches -l' --to sqlite "$T/names" -o "$T/none" -l no_such_function
(ulimit -f 8; trap '' XFSZ; "$BRACE" export --to sqlite "$T/threads" -o "$T/none" 2>"$T/err"; [ $? = 125 ])
result "a database that has no room: nothing is left" $(($? || $(find "$T" -name 'none*' | wc -l))) "$T/err"
says 'No such file' --to chrome "$T/nothing"
head -c 3000 "$T/threads" >"$T/cut"
"$BRACE" export --to chrome "$T/cut" >"$T/cut.chrome" 2>"$T/err"
check_that "a trace that was cut is exported up to there" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$T/cut.chrome"
check_that "and that is said" grep -q 'ends early' "$T/err"
"$BRACE" export --to chrome "$T/threads" -o /dev/full 2>"$T/err"
check_that "a full disk is an error" grep -q 'cannot write /dev/full' "$T/err"
echo old >"$T/old"
(ulimit -f 8; trap '' XFSZ; "$BRACE" export --to chrome "$T/threads" -o "$T/old" 2>"$T/err")
check_that "what fails leaves the old file" test "$(cat "$T/old")" = old -a -z "$(find "$T" -name 'old.*')"
check_that "a reader that goes away is an end" bash -c 'set -o pipefail; "$1" export --to chrome "$2" | head -c 10 >/dev/null' - "$BRACE" "$T/threads"
"$BRACE" export --list >"$T/list"
while read -r format _; do
	grep -q "^\.It $format\$" "$HERE/../../man/brace-export.1" && grep -q "| \`$format\` |" "$HERE/../../docs/exports.md" || echo "$format"
done <"$T/list" >"$T/missing"
check_that "each format is in the manual page and in docs/exports.md" test -s "$T/list" -a ! -s "$T/missing"
# --- bad input and output, every format
: >"$T/void"
echo 'not a trace' >"$T/foreign"
cut_at=$(($(stat -c %s "$T/threads") * 7 / 8)) && head -c $cut_at "$T/threads" >"$T/cut"
while read -r format _; do
	: >"$T/faults"
	for bad in 'void:is empty' 'foreign:is not a brace trace file'; do
		"$BRACE" export --to "$format" -o "$T/bad" "$T/${bad%%:*}" >"$T/out" 2>"$T/err"
		[ $? = 125 ] && [ ! -e "$T/bad" ] && grep -q -- "${bad#*:}" "$T/err" || { echo "${bad%%:*}" && cat "$T/err"; } >>"$T/faults"
	done
	"$BRACE" export --to "$format" -o "$T/bad" "$T/cut" >"$T/out" 2>"$T/err"
	[ $? = 0 ] && [ -e "$T/bad" ] && grep -q 'ends early' "$T/err" || { echo cut && cat "$T/err"; } >>"$T/faults"
	rm -rf "$T/bad"
	"$BRACE" export --to "$format" -o "$T/nowhere/bad" "$T/threads" >"$T/out" 2>"$T/err"
	[ $? = 125 ] && grep -q "$T/nowhere/bad.*No such file" "$T/err" || { echo unwritable && cat "$T/err"; } >>"$T/faults"
	if [[ $format != @(ctf|uftrace|parquet|sqlite) ]]; then
		"$BRACE" export --to "$format" -o /dev/full "$T/threads" >"$T/out" 2>"$T/err"
		[ $? = 125 ] && grep -q 'cannot write /dev/full' "$T/err" || { echo 'full disk' && cat "$T/err"; } >>"$T/faults"
	fi
	# Of folded there is less than the kilobyte that is allowed.
	[ "$format" = folded ] || (ulimit -f 1; trap '' XFSZ; "$BRACE" export --to "$format" "$T/threads" -o "$T/bad" >"$T/out" 2>"$T/err"; [ $? = 125 ]) &&
		[ ! -e "$T/bad" ] && [ -s "$T/err" ] || { echo 'no room' && cat "$T/err"; } >>"$T/faults"
	check_that "$format: empty, foreign, cut traces, a place that is not there, no room" cmp "$T/faults" /dev/null
done <"$T/list"
check_that "no failure leaves anything behind" test -z "$(find "$T" -name 'bad*')"
# What is left of a cut trace is what report has of it.
"$BRACE" report --json "$T/cut" >"$T/cut.report" 2>"$T/err"
for format in chrome speedscope perfetto firefox folded flamegraph csv; do
	export_to $format cut
	agree $format cut
done

# --- what a format has no place for. folded has none for anything: what it says is what there is
while read -r name kinds; do
	while read -r format _; do
		rm -rf "$T/said" && "$BRACE" export --to "$format" "$T/$name" -o "$T/said" 2>"$T/$name.$format.said" || echo "$format" >>"$T/unsaid"
	done <"$T/list"
	cut -d ' ' -f 1 "$T/list" | python3 "$HERE/left_out.py" "$kinds" "$T/$name" >"$T/log" 2>&1
	result "each format says what of $kinds it leaves out" $? "$T/log"
done <<'END'
events events arguments values
lossy losses
killed ends
END
check_that "and none fails" test ! -e "$T/unsaid"

# --- readers that show one call after another, and rows
cat >"$T/steps.c" <<'END'
__attribute__((noinline, noclone)) int leaf(int n) { __asm__ volatile(""); return n + 1; }
__attribute__((noinline, noclone)) int middle(int n) { __asm__ volatile(""); return leaf(n) + leaf(n + 1); }
int main(void) { int n = 0; for (int i = 0; i < 50; i++) n += i % 3 ? middle(i) : leaf(i); return n == 1; }
END
cc -O1 -fno-optimize-sibling-calls -o "$T/stepping" "$T/steps.c" && record steps -- "$T/stepping"
if command -v uftrace >"$T/log"; then
	export_to uftrace steps
	timeout 60 uftrace replay --no-pager --color=no --demangle=no --no-comment -f none -d "$T/steps.uftrace" 2>"$T/err" | sed '/^ *$/d' >"$T/shown"
	"$BRACE" replay -O nofuncgraph-tail "$T/steps" | grep -v '^#' | sed -E 's/^[^|]*\|  //; /^ *$/d; /^ *-+$/d; /=>/d' >"$T/wanted"
	check_that "uftrace replay shows brace replay's calls, as they nest" diff "$T/wanted" "$T/shown"
	check_that "which are those of the program" test "$(grep -c 'leaf();' "$T/shown")" = 83
else
	skip "uftrace replay" "uftrace is not installed"
fi
"$BRACE" export --to csv "$T/steps" -o "$T/steps.csv" 2>"$T/err" &&
	sqlite3 :memory: ".import --csv $T/steps.csv calls" 'SELECT function, count(*), sum(duration_ns), sum(self_ns) FROM calls GROUP BY 1 ORDER BY 1' >"$T/shown" 2>>"$T/err"
result "sqlite3 imports csv" $? "$T/err"
check_that "with the calls and times of the database that is exported" diff "$T/shown" <(export_to sqlite steps &&
	sqlite3 "$T/steps.sqlite" 'SELECT name, count(*), coalesce(sum(dur), 0), coalesce(sum(self), 0) FROM slice GROUP BY 1 ORDER BY 1')

# --- a trace without a call is read by each format's reader
cat >"$T/never.c" <<'END'
__attribute__((noinline)) int never(int n) { __asm__ volatile(""); return n; }
int main(int argc, char **argv) { return argc > 1 ? never(argc) : 0; }
END
cc -O1 -o "$T/never" "$T/never.c" && record none -l never -- "$T/never"
check_that "a trace without a call is there" test -s "$T/none"
while read -r format _; do export_to "$format" none || echo "$format"; done <"$T/list" >"$T/faults"
check_that "each format takes it" cmp "$T/faults" /dev/null
reads() { # READER COMMAND...: if it is there
	command -v "$2" >"$T/log" || return 0
	timeout 60 "${@:2}" >"$T/log" 2>"$T/err"
	result "$1 reads it" $? "$T/err"
}
reads "JSON's reader" python3 -c 'import json, sys
for path in sys.argv[1:]: json.load(open(path))' "$T/none.chrome" "$T/none.speedscope" "$T/none.firefox"
reads "XML's reader" python3 -c 'import xml.etree.ElementTree as tree, sys; tree.parse(sys.argv[1])' "$T/none.flamegraph"
reads callgrind_annotate callgrind_annotate "$T/none.callgrind"
reads babeltrace2 babeltrace2 "$T/none.ctf"
reads trace-cmd trace-cmd report -i "$T/none.trace.dat"
reads "trace-cmd, version 7," trace-cmd report -i "$T/none.trace.dat.v7"
reads graphviz dot -Tplain "$T/none.dot"
reads sqlite3 sqlite3 "$T/none.sqlite" 'SELECT count(*) FROM slice'
reads protoc sh -c 'protoc --decode=Profile --proto_path="$1" pprof.proto <"$2" && protoc --decode=Trace --proto_path="$1" perfetto.proto <"$3"' - \
	"$HERE" "$T/none.pprof" "$T/none.perfetto"
check_that "folded and csv have no rows" test ! -s "$T/none.folded" -a "$(wc -l <"$T/none.csv")" = 1

# --- stacks: each frame has in trace-cmd's report the name that replay shows
record stacked -t nop -e stk:at -R stacktrace -- "$FIXTURES/stacked"
"$BRACE" replay --no-pager "$T/stacked" 2>"$T/err" | sed -n 's/^ => //p' | tr ' ' _ | sort >"$T/frames"
for format in trace.dat trace.dat.v7; do
	export_to $format stacked
	trace-cmd report -i "$T/stacked.$format" 2>>"$T/err" | sed -nE 's/^=> (.*) \([0-9a-f]+\)$/\1/p' | sort >"$T/shown"
	[ "$(wc -l <"$T/shown")" -gt 50 ] && diff "$T/frames" "$T/shown" >"$T/err"
	result "stacks as $format: their names are those of replay" $? "$T/err"
done
finish

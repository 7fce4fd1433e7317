# shellcheck shell=bash
# brace report by callers, callees, modules, processes, as a tree and as a histogram: recounted from
# the text of the trace (views_truth.py) and by callgrind, and equal to the rows of functions; and the
# options that choose a part of the trace.
. "$(dirname "$0")/lib.sh"
need valgrind
export PYTHONDONTWRITEBYTECODE=1

tap() { # FILE: passes on TAP lines without numbers
	local line
	while read -r line; do
		case $line in
		'ok - '*) ok "${line#ok - }" ;;
		'not ok - '*) not_ok "${line#not ok - }" ;;
		*) echo "$line" ;;
		esac
	done <"$1"
}

record --mode block -- "$FIXTURES/parts"
nothing_lost "a program of three threads" 150
mkdir "$T/views"
"$BRACE" replay -O funcgraph-abstime -O funcgraph-proc "$T/trace" >"$T/full"
for rows in function module process thread; do
	"$BRACE" report --json --by $rows "$T/trace" >"$T/views/$rows"
done
"$BRACE" report --json --tree "$T/trace" >"$T/views/tree"
for function in leaf short_step fibonacci round_of; do
	"$BRACE" report --json --callers $function "$T/trace" >"$T/views/callers.$function"
done
for function in long_step round_of fibonacci; do
	"$BRACE" report --json --callees $function "$T/trace" >"$T/views/callees.$function"
done
for function in leaf fibonacci; do
	"$BRACE" report --json --histogram $function "$T/trace" >"$T/views/histogram.$function"
done
valgrind -q --tool=callgrind --callgrind-out-file="$T/callgrind" "$FIXTURES/parts" >"$T/out" 2>"$T/err"
result "callgrind runs it, too" $? "$T/err"
/usr/bin/python3 "$HERE/views_truth.py" "$T/full" "$T/views" "$T/callgrind" >"$T/recounted" 2>"$T/err"
tap "$T/recounted"
result "all views were compared" "$(wc -l <"$T/err")" "$T/err"

# --- for people
"$BRACE" report --tree "$T/trace" >"$T/out"
grep -qE '^ +TOTAL% +TOTAL +SELF +CALLS  FUNCTION$' "$T/out" && grep -qE '^ +[0-9.]+ .* 12  (  )*round_of \[parts\]$|rounds \[parts\]$' "$T/out"
result "the tree as text" $? "$T/out"
[ "$("$BRACE" report --tree --limit 3 "$T/trace" | sed 1d | wc -l)" -eq 3 ]
result "--limit cuts it" $?
"$BRACE" report --callers leaf "$T/trace" | head -n 1 | grep -qE 'MAX  CALLER$'
result "callers have their title" $?
[ "$("$BRACE" report "$T/trace" | sed 1d | awk '{ for (i = 2; i < NF; i++) if ($i ~ /^[0-9]+\.[0-9][0-9]$/) { n += $i; next } } END { print (n > 99 && n < 100.01) }')" = 1 ]
result "parts of the time sum up to 100 %" $? "$T/out"

# --- parts of the trace
json_of() { "$BRACE" report --json "$@" "$T/trace" 2>"$T/err"; }
calls_of() { json_of "${@:2}" | sed -nE "s/.*\"name\":\"$1\".*\"calls\":([0-9]+).*/\1/p"; }
time_of() { sed -nE "s/^ *([0-9.]+) \|.* $1\(.*/\1/p" "$T/full" | sed -n "$2"; } # FUNCTION LINE
same_calls() { # FUNCTION OPTION...: as many as replay shows
	local want
	want=$("$BRACE" replay -O nofuncgraph-tail "${@:2}" "$T/trace" | grep -cE " $1\(\)( \{|;)")
	[ "$want" -gt 0 ] && [ "$(calls_of "$@")" = "$want" ]
	result "report ${*:2}: $want calls of $1, as in replay" $? "$T/err"
}
same_calls leaf -g long_step
same_calls fibonacci --max-graph-depth 5 -g fibonacci
same_calls leaf --min-duration 500ns
same_calls leaf --thread odd
same_calls leaf --callers-of leaf
same_calls short_step -l short_step --from "$(time_of short_step 5p)" --to 100%
cmp <(json_of) <(json_of --from +0) >"$T/err" 2>&1
result "all of the range has the figures of all of the trace" $? "$T/err"
cmp <(json_of --by thread) <(json_of --by thread --to 100%) >"$T/err" 2>&1
result "by thread, too" $? "$T/err"
json_of --from "$(time_of round_of 2p)" --to "$(time_of round_of '$p')" >"$T/part"
/usr/bin/python3 - "$T/part" <(json_of) <<'P' >"$T/err" 2>&1
import json, sys
part, whole = ([json.loads(line) for line in open(path)][1:] for path in sys.argv[1:])
main = {row["name"]: row for row in part}["main"]
of_all = {row["name"]: row for row in whole}["main"]
assert main["calls"] == 1 and 0 < main["total_ns"] < of_all["total_ns"], (main, of_all)
assert sum(row["self_ns"] for row in part) < sum(row["self_ns"] for row in whole)
P
result "a call that is open counts with its part in the range" $? "$T/err"
all=$("$BRACE" report --json --from +0 "$T/trace" | sed 1d | wc -l)
[ "$all" -gt 10 ] && [ "$(json_of -l leaf | sed 1d | wc -l)" -eq 1 ]
result "-l leaves one of $all rows" $?

# --- functions by their places in the source
SOURCE=$HERE/../targets/parts.c
line_of() { grep -nF -m 1 -- "$1" "$SOURCE" | cut -d: -f1; }
names() { json_of "$@" | sed -nE 's/.*"name":"([^"]*)".*/\1/p' | sort | tr '\n' ' '; }
is_names() { # NAME WANTED OPTION...
	local got
	got=$(names "${@:3}")
	[ "$got" = "$2 " ]
	result "$1: $2" $? "$T/err"
}
is_names "a line" short_step -l "parts.c:$(line_of 'leaf(1);')"
is_names "two lines" "leaf short_step" -l "parts.c:$(line_of 'leaf(1);')" -l "parts.c:$(line_of 'atomic_fetch_add(&done, 1);')"
is_names "a line's graph" "leaf long_step short_step" -g "parts.c:$(line_of 'leaf(n);')"
is_names "a file" "fibonacci leaf long_step main round_of rounds short_step" -l parts.c
is_names "a folder" "fibonacci leaf long_step main round_of rounds short_step" -l 'tests/targets/*'
is_names "all but a file's" "$(comm -23 <(names | tr ' ' '\n' | sort) <(names -l parts.c | tr ' ' '\n' | sort) | grep . | tr '\n' ' ' | sed 's/ $//')" -n parts.c

# --- what cannot be meant
refuses() { # NAME PATTERN OPTION...
	"$BRACE" report "${@:3}" "$T/trace" >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && [ ! -s "$T/out" ] && grep -qE -e "$2" "$T/err"
	result "$1" $? "$T/err"
}
refuses "callers of nobody" 'no function of the trace matches' --callers nobody
refuses "a histogram of nobody" 'no function of the trace matches --histogram' --histogram nobody
for option in --callers --callees --histogram; do
	refuses "$option of no name" "^brace: $option names a function" $option ''
	refuses "$option of a blank" "^brace: $option names a function" $option ' '
done
refuses "two views at once" '^brace: --callers and --tree each say what to print' --tree --callers leaf
refuses "a histogram with -l" 'leave -l out' --histogram leaf -l main
refuses "a part with nothing" 'nothing of the trace is chosen' --min-duration 1h
refuses "a line without code" 'there is no code at parts.c:1; the next line that has some is [0-9]+' -l parts.c:1
refuses "a file that is none of its" 'is of a source file nix.c' -l nix.c:1
refuses "a folder that is none of its" 'no function of the trace stands there' -l 'nix/*'
refuses "nothing to leave out" 'no function of the trace stands there' -n 'nix/*'
cp "$FIXTURES/parts" "$T/changed"
record --mode block -- "$T/changed"
cp /bin/true "$T/changed"
refuses "another file than was traced" 'changed is not the file that was traced' -l parts.c
record --mode block -t function -- "$FIXTURES/parts"
refuses "no tree without ends" '--tree needs all calls and their ends.*-t function' --tree
[ "$(calls_of leaf -l leaf)" = 36 ]
result "a part of the tracer function's" $? "$T/err"
record --mode block --threshold 1us -- "$FIXTURES/parts"
refuses "no callers where short calls are missing" '--callers needs all calls' --callers leaf
json_of --by module >"$T/out" && grep -q '"name":"parts"' "$T/out"
result "modules, where short calls are missing" $? "$T/out"
finish

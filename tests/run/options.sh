#!/bin/bash
# Options that choose what is recorded: the counts of tests/targets/shapes.c are
# known, so every choice has exact numbers.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
SHAPES=$FIXTURES/shapes-plain
"$SHAPES" >"$T/shapes.out"

# traced OPTIONS...: records shapes in block mode; a TAP line that it ran as ever.
traced() {
	record --mode block "$@" -- "$SHAPES"
	[ "$(cat "$T/traced.status")" -eq 0 ] && cmp -s "$T/traced.out" "$T/shapes.out"
	result "traced with $*" $? "$T/summary"
}

# only FUNCTION=COUNT...: these counts, in the report of the last trace.
only() {
	local pair
	for pair; do
		calls_are "${pair%=*}" "${pair#*=}"
	done
}

traced
only main=1 jumping=300 looping=300 leaf=3300 tiny=300 real=300 variadic=300 recursive=21891

# --- depth
traced --max-graph-depth 1
only main=1 jumping=0 leaf=0 recursive=0
traced --max-graph-depth 2
only main=1 jumping=300 tiny=300 real=300 variadic=300 leaf=0 recursive=1
traced --max-graph-depth 3
only main=1 looping=300 leaf=0 recursive=3 # jumping goes on to looping by a tail call: a level
traced --max-graph-depth 4
only leaf=3300 recursive=7

# --- graph functions
traced -g recursive
only recursive=21891 main=0 leaf=0
traced -g jumping -g tiny
only jumping=300 looping=300 leaf=3300 tiny=300 main=0 recursive=0
traced -g recursive --max-graph-depth 4
only recursive=15 main=0
traced -g 'loop*'
only looping=300 leaf=3300 main=0

# --- filters
traced -l leaf
only leaf=3300 main=0 looping=0
traced -l 'l*'
only leaf=3300 looping=300 main=0 recursive=0
traced -l '*ing'
only jumping=300 looping=300 leaf=0
traced -l '*ecurs*' -l main
only recursive=21891 main=1 leaf=0
traced -l 'r?al'
only real=300 recursive=0
traced -n recursive -n 'l*'
only recursive=0 leaf=0 looping=0 main=1 tiny=300
traced -l '*i*' -n '*ing'
only main=1 tiny=300 variadic=300 jumping=0 looping=0
traced -l leaf@shapes-plain
only leaf=3300 main=0
traced -l :mod:shapes-plain
only leaf=3300 main=1

# --- libraries
record --mode block -- "$FIXTURES/callbacks"
only qsort=1 sort_and_search=1 tsearch=100
record --mode block -L libc.so.6 -- "$FIXTURES/callbacks"
only sort_and_search=1 tsearch=100 tdelete=0
record --mode block -L libc.so.6 -l 'tsearch@libc.so.6' -- "$FIXTURES/callbacks"
only tsearch=100 sort_and_search=0
record --mode block -L libc.so.6 -l ':mod:libc.so.6' -- "$FIXTURES/callbacks"
only sort_and_search=0 compare=0 tsearch=100

# --- threshold
traced --threshold 1h
only main=0 leaf=0
traced --threshold 1us -l main
only main=1
traced --threshold 1ns
only main=1 leaf=3300 recursive=21891
record --mode block --threshold 20ms -- /usr/bin/python3 -c 'import time; time.sleep(0.03)'
"$BRACE" report --json "$T/trace" 2>/dev/null | sed -nE 's/.*"min_ns": ?([0-9]+).*/\1/p' >"$T/least"
awk '$1 < 20000000 { bad++ } END { exit bad || !NR }' "$T/least"
result "a threshold keeps only calls that lasted it" $? "$T/least"

# --- tracers and modes
traced -p function
only leaf=3300 recursive=21891 main=1
"$BRACE" replay --no-pager "$T/trace" >"$T/replay" 2>&1
grep -q 'leaf <-looping' "$T/replay"
result "the function tracer prints callee and caller" $? "$T/replay"
traced -p function_graph -b 64
only leaf=3300 recursive=21891
traced -b 8M -v
grep -qi 'buffer_size_kb' "$T/summary" "$T/traced.err"
result "-v prints the write to buffer_size_kb" $? "$T/traced.err"
record -v --mode block -l leaf -g looping -n tiny --max-graph-depth 5 --threshold 10us -- "$SHAPES"
for file in set_ftrace_filter set_ftrace_notrace set_graph_function max_graph_depth tracing_thresh; do
	cat "$T/summary" "$T/traced.err" >"$T/words"
	grep -q "$file" "$T/words"
	result "-v prints the write to $file" $? "$T/words"
done

for mode in stream overwrite block; do
	record --mode $mode -b 128 -- "$SHAPES"
	cmp -s "$T/traced.out" "$T/shapes.out"
	result "--mode $mode with a small buffer: same output" $? "$T/summary"
	check "--mode $mode: replays" sh -c "'$BRACE' replay --no-pager '$T/trace' >'$T/replay'"
	grep -q '()' "$T/replay"
	result "--mode $mode: has calls in it" $? "$T/replay"
done
summary_number calls >"$T/check.log"
nothing_lost "--mode block loses nothing" 26000

# A ring smaller than the run keeps its end.
record --mode overwrite -b 128 -- "$FIXTURES/tails"
n=$(json_calls ping)
[ "$n" -gt 1000 ] && [ "$n" -lt 500000 ]
result "overwrite keeps the end of a run that is longer than its buffer ($n of 500001)" $? "$T/summary"
lost=$(summary_number lost)
calls=$(summary_number calls)
result "overwrite counts what it dropped ($lost records, $calls calls kept)" $((lost < 100000)) "$T/summary"

# Eight threads that call faster than anything can be taken away: each of the 16 million records
# is there or counted as lost.
"$FIXTURES/storm" >"$T/storm.out"
for mode in stream overwrite block; do
	record --mode $mode -b 512 -l step -- "$FIXTURES/storm"
	cmp -s "$T/traced.out" "$T/storm.out"
	result "a storm in --mode $mode: same output" $? "$T/summary"
	records=$("$BRACE" info "$T/trace" 2>/dev/null | awk '$1 == "records" { print $2 }')
	lost=$("$BRACE" info "$T/trace" 2>/dev/null | awk '$1 == "lost" { print $2 }')
	[ $((records + lost)) -eq 16000000 ]
	result "a storm in --mode $mode: $records records and $lost lost are all there were" $? "$T/summary"
done
calls_are step 8000000

# --- the live graph
run_in "$T/live" "$BRACE" graph --mode block -g recursive -- "$SHAPES"
grep -q 'recursive() {' "$T/live.out" && grep -qF "$(cat "$T/shapes.out")" "$T/live.out"
result "brace graph prints while the program runs" $? "$T/live.err"
[ "$(grep -c '{$' "$T/live.out")" -eq "$(grep -cE '\| +\}' "$T/live.out")" ]
result "brace graph closes what it opens" $? "$T/live.out"
run_in "$T/live" "$BRACE" graph -l main -- "$FIXTURES/ends" exit 7
[ "$(cat "$T/live.status")" -eq 7 ]
result "brace graph ends with the program's status" $? "$T/live.err"

# --- without privilege
chmod 755 "$T"
mkdir -p "$T/bin" "$T/nobody"
cp "$BRACE" "$T/bin/brace"
cp "${AGENT:-$(dirname "$BRACE")/libbrace-agent.so}" "$T/bin/"
cp "$SHAPES" "$T/bin/shapes-plain"
chmod -R a+rX "$T/bin"
chmod 777 "$T/nobody"
if [ "$(id -u)" -eq 0 ]; then
	as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
else
	as_nobody=()
fi
(cd "$T/nobody" && HOME=$T/nobody timeout 60 "${as_nobody[@]}" "$T/bin/brace" record --mode block -o trace \
	-- "$T/bin/shapes-plain") >"$T/out" 2>"$T/err"
cmp -s "$T/out" "$T/shapes.out"
result "runs without privilege" $? "$T/err"
cp "$T/nobody/trace" "$T/trace" 2>/dev/null
rm -f "$T/json"
only leaf=3300 recursive=21891
finish

#!/bin/bash
# A thread for whose stack of live calls the process has no memory runs on: it does not ask the
# kernel at each of its calls, which strace counts, and each call is counted as lost.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need strace
CALLS=20000

timeout -k 5 "$LIMIT" strace -f -q -e trace=mmap -o "$T/strace" \
	"$BRACE" record --max-graph-depth 10 -l step -l worker -o "$T/trace" -- "$FIXTURES/no_room" $CALLS >"$T/out" 2>"$T/summary" </dev/null
result "the program does what it does untraced" $? "$T/summary"
check_that "and says what it says" [ "$(cat "$T/out")" = $CALLS ]
# strace cuts a call in two lines when another thread's comes between.
asked=$(grep -cE 'mmap(\(NULL, 16777216, | resumed>).*ENOMEM' "$T/strace")
echo "# asked $asked times"
check_that "the thread asked, and got none" [ "$asked" -gt 0 ]
check_that "not at every tenth of its calls" [ "$asked" -lt $((CALLS / 10)) ]
check_that "the calls of the thread that has a stack are there" \
	bash -c "'$BRACE' report --json '$T/trace' | grep -q '\"name\":\"step\",.*\"calls\":1,'"

# lost_is NAME LOST RECORDS: the last file's LOST records are those of the thread that has no stack,
# and RECORDS were kept.
lost_is() {
	"$BRACE" report --json "$T/trace" >"$T/json"
	result "$1: the file is read" $? "$T/json"
	"$BRACE" report --json --by thread "$T/trace" >>"$T/json"
	check_that "$1: $2 records are lost, $3 are kept" grep -q "\"records\":$3,\"lost\":$2," "$T/json"
	check_that "$1: all by that thread" grep -Eq "\"lost_by\":\[\{[^]}]*\"lost\":$2\}\]" "$T/json"
}

check_that "the summary says why" grep -q 'no_room had no memory for the live calls of 1 thread,' "$T/summary"
check_that "and brace info" bash -c "'$BRACE' info '$T/trace' | grep -q 'no memory for the live calls of 1 thread,'"
# An entry and an exit for each call of step(), and for worker().
lost_is "a limit of depth" $((2 * CALLS + 2)) 2

"$BRACE" record --threshold 1ns -l step -l worker -o "$T/trace" -- "$FIXTURES/no_room" $CALLS >"$T/out" 2>"$T/summary" </dev/null
result "a threshold: the program does what it does untraced" $? "$T/summary"
lost_is "a threshold, one record for each call" $((CALLS + 1)) 1
# Outside of step() nothing would be recorded.
"$BRACE" record -g step -l step -l worker -o "$T/trace" -- "$FIXTURES/no_room" $CALLS >"$T/out" 2>"$T/summary" </dev/null
result "-g: the program does what it does untraced" $? "$T/summary"
lost_is "-g" $((2 * CALLS)) 2

# A stack holds 524,287 calls.
DEPTH=600000
"$BRACE" record --mode block --max-graph-depth 1000000 -l down -o "$T/trace" -- "$FIXTURES/no_room" 0 $DEPTH >"$T/out" 2>"$T/summary" </dev/null
result "too deep: the program does what it does untraced" $? "$T/summary"
lost_is "too deep" $((2 * (DEPTH - 524287))) $((2 * 524287))
finish

#!/bin/bash
# A thread for whose stack of live calls the process has no memory runs on: it does not ask the kernel at each of its calls. strace
# counts how often it asks.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need strace
CALLS=20000

timeout -k 5 "$LIMIT" strace -f -q -e trace=mmap -o "$T/strace" \
	"$BRACE" record --max-graph-depth 10 -l step -l worker -o "$T/trace" -- "$FIXTURES/no_room" $CALLS >"$T/out" 2>"$T/summary" </dev/null
result "the program does what it does untraced" $? "$T/summary"
check_that "and says what it says" [ "$(cat "$T/out")" = $CALLS ]
asked=$(grep -c 'mmap(NULL, 16777216, .*ENOMEM' "$T/strace")
echo "# asked $asked times"
check_that "the thread asked, and got none" [ "$asked" -gt 0 ]
check_that "not at every tenth of its calls" [ "$asked" -lt $((CALLS / 10)) ]
check_that "the calls of the thread that has a stack are there" \
	bash -c "'$BRACE' report --json '$T/trace' | grep -q '\"name\":\"step\",.*\"calls\":1,'"
finish

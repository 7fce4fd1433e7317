#!/bin/bash
# brace beneath brace: each traces the program it runs, and the outer one says what the inner one
# took.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
said() { grep -q "$1" "$T/err"; }

timeout "$LIMIT" "$BRACE" record -o "$T/outer" -- "$BRACE" record -q -l step -o "$T/inner" -- "$FIXTURES/storm" 1000 >"$T/out" 2>"$T/err" </dev/null
result "both end as the program does" $? "$T/err"
[ "$("$BRACE" info --json "$T/inner" | sed -nE 's/.*"type":"trace".*"calls":([0-9]+).*/\1/p')" -eq 8000 ]
result "the inner one recorded the program's calls" $? "$T/err"
[ "$("$BRACE" info --json "$T/outer" | sed -nE 's/.*"type":"trace".*"calls":([0-9]+).*/\1/p')" -gt 1000 ]
result "the outer one recorded the inner one's" $? "$T/err"
check_that "the outer one says whose the program was" said '1 program ran untraced: 1 traced by another brace (storm)'

BRACE_AGENT=elsewhere timeout "$LIMIT" "$BRACE" record -q -l step -o "$T/trace" -- "$FIXTURES/storm" 1000 >"$T/out" 2>"$T/err" </dev/null
[ $? -eq 0 ] && [ "$("$BRACE" info --json "$T/trace" | sed -nE 's/.*"type":"trace".*"calls":([0-9]+).*/\1/p')" -eq 8000 ]
result "an address that is left over in the environment is replaced" $? "$T/err"
finish

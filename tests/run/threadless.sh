#!/bin/bash
# Losses of threads that have no slot are known when a session is over: what is kept and what is
# lost is then what was produced, in a session in the background, in its files, and in what is
# extracted from it. tests/targets/threadless.c says how many it lost.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
LIMIT=60
KEPT=20 LOST=1234 # 10 calls, entry and exit
brace() { timeout -k 5 "$LIMIT" "$BRACE" "$@" 2>"$T/err" </dev/null; }
shown() { brace show >"$T/show" && grep -q "LOST $LOST EVENTS" "$T/show"; }

ON_EXIT+=("$BRACE reset")
brace start -l step -- "$FIXTURES/threadless" $LOST
result "start" $? "$T/err"
until_is shown
check_that "the trace ends with it" grep -qE "^CPU:[0-9]+ \[LOST $LOST EVENTS\]$" <(tail -n 1 "$T/show")
check_that "behind every call" test "$(grep -c 'step();' "$T/show")" = $((KEPT / 2))
for ((cpu = 0; cpu < $(getconf _NPROCESSORS_CONF); cpu++)); do brace show per_cpu/cpu$cpu/stats; done >"$T/stats"
check_that "the CPUs' statistics count it once" test "$(awk '$1 == "dropped" { n += $3 } END { print n }' "$T/stats")" = $LOST
brace extract -o "$T/trace"
"$BRACE" info "$T/trace" >"$T/info" 2>&1
check "what is extracted has what was kept" grep -qx "records    $KEPT" "$T/info"
check "and what was lost" grep -qx "lost       $LOST" "$T/info"
check "of a thread without a number" grep -qE "^thread +[0-9]+/0 .*, 0 records, $LOST lost$" "$T/info"
finish

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

# --- a list of threads leaves out what others did, but not what nobody knows the thread of ------
mkdir "$T/tree"
mkfifo "$T/in"
"$FIXTURES/threadless" $LOST wait <"$T/in" >"$T/ready" &
pid=$!
ON_EXIT+=("kill $pid")
exec 9>"$T/in"
until_is grep -q ready "$T/ready"
if ! "$BRACE" mount "$T/tree" -p $pid 2>"$T/err"; then
	skip "set_ftrace_pid: the loss is told" "$(cut -d' ' -f2- "$T/err")"
	finish
fi
ON_EXIT+=("$BRACE umount --lazy $T/tree")
echo 'step' >"$T/tree/set_ftrace_filter"
echo 1 | tee "$T/tree/set_ftrace_pid" >"$T/tree/set_event_pid"
echo function >"$T/tree/current_tracer"
echo >&9
until_is grep -q "LOST $LOST EVENTS" "$T/tree/trace"
result "set_ftrace_pid: the loss is told" $? "$T/tree/trace"
check_that "and no call of the thread" test "$(grep -c ': step <-' "$T/tree/trace")" = 0
exec 9>&-
finish

#!/bin/bash
# funcgraph-retval needs stubs of another kind: turned on and off while several threads return
# through those there are, and met by them anew each time, the program lives (tests/targets/kern.c:
# a thread on each processor, children). A block that is made twice would be no code for a moment.
. "$(dirname "$0")/lib.sh"
D=$T/tree
mkdir "$D"
"$FIXTURES/kern" >"$T/out" 2>"$T/err" </dev/null &
PID=$!
ON_EXIT+=("kill $PID")
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
echo function_graph >"$D/current_tracer"
changed=0
for round in {1..40}; do
	kill -0 "$PID" 2>/dev/null || break
	echo $((round % 2)) >"$D/options/funcgraph-retval" && changed=$((changed + 1))
done 2>"$T/err"
[ "$changed" -gt 30 ]
result "the option is turned ($changed times)" $? "$T/err"
state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$PID/status")
[ "${state:-Z}" != Z ]
result "the program lives" $? "$T/out"
echo 1 >"$D/options/funcgraph-retval"
exec {PIPE}< <(exec timeout "$LIMIT" cat "$D/trace_pipe")
READER=$!
grep -q ' = ' <&"$PIPE"
result "and tells what it returns" $?
exec {PIPE}<&-
wait "$READER" # the tree is in use until it has ended
check "umount" "$BRACE" umount "$D"
finish

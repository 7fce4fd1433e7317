#!/bin/bash
# A process that cannot be stopped when brace leaves it (it waits in vfork): brace ends, says what that means and what to do, and its
# status tells; the process runs on, unharmed, and what brace told to do takes the patches out.
. "$(dirname "$0")/lib.sh"
attached() { grep -q brace-code "/proc/$pid/maps" && grep -qE '^TracerPid:.0$' "/proc/$pid/status"; }
has_said() { grep -qx "$1" "$T/said"; }
mkfifo "$T/go"
"$FIXTURES/vfork_later" <"$T/go" >"$T/said" &
pid=$!
exec 7>"$T/go"
ON_EXIT+=("kill -KILL $pid")
until_is has_said ready
"$BRACE" record -p "$pid" -o "$T/trace" 7>&- 2>"$T/err" &
tracer=$!
if ! until_is attached; then
	kill $tracer
	printf '1..0 # SKIP %s\n' "$(head -n 1 "$T/err")"
	exit 0
fi
printf x >&7
until_is has_said 'in vfork'
kill -TERM $tracer
wait $tracer
[ $? -eq 125 ]
result "brace's status tells that something is left" $? "$T/err"
grep -q "^brace: 1 process could not be left as before: thread $pid of process $pid waits in vfork" "$T/err" &&
	grep -q "^brace: process $pid runs on, patches of brace still in it; brace record -p $pid --duration 1ms takes the patches out$" "$T/err"
result "it says why, and what takes the patches out" $? "$T/err"
"$BRACE" report --json "$T/trace" | grep -q '"wait_in_vfork"'
result "what was recorded is in the file" $? "$T/err"
grep -qE '^State:.[SD] ' "/proc/$pid/status" && grep -qE '^TracerPid:.0$' "/proc/$pid/status"
result "nobody holds the process" $?

printf x >&7
until_is has_said 'out of vfork'
check "what brace told to do" "$BRACE" record -p "$pid" -o "$T/trace" --duration 1ms
grep -q brace-code "/proc/$pid/maps"
[ $? -eq 1 ]
result "takes the patches out" $?
printf x >&7
exec 7>&-
wait "$pid"
[ $? -eq 7 ] && has_said well
result "and the program ends as it would have" $?
finish

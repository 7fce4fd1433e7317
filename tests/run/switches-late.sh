#!/bin/bash
# sched_switch enabled, and sleep-time turned off, while a process and its child run already: both
# are followed, and the child's child that comes after it, each record once.
. "$(dirname "$0")/lib.sh"
D=$T/tree
mkdir "$D"
cat >"$T/program.py" <<'PY'
import os, sys, time
def tick():
    while True:
        time.sleep(0.01)
child = os.fork()
if child == 0:
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    grandchild = os.fork()
    if grandchild:
        print("grandchild", grandchild, flush=True)
    tick()
print("child", child, flush=True)
tick()
PY
coproc PROGRAM { exec /usr/bin/python3 "$T/program.py" "$T/go"; }
PARENT=$PROGRAM_PID
exec {FROM}<&"${PROGRAM[0]}"
read -rt "$LIMIT" -u "$FROM" _ CHILD
"$BRACE" mount "$D" -p "$PARENT,$CHILD" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D" "kill $PARENT $CHILD")
follows() { # PID
	local tries
	for ((tries = 0; tries < 600; tries++)); do
		! grep -q "prev_pid=$1 " "$D/trace" || return 0
		read -rt 0.05 _ <> <(:)
	done
	return 1
}
echo 1 >"$D/events/sched/sched_switch/enable"
follows "$PARENT"
result "a process that runs already" $? "$D/trace"
follows "$CHILD"
result "its child, too" $? "$D/trace"
touch "$T/go"
read -rt "$LIMIT" -u "$FROM" _ GRANDCHILD
ON_EXIT+=("kill $GRANDCHILD")
follows "$GRANDCHILD"
result "what that one makes from then on" $? "$D/trace"
echo 0 >"$D/tracing_on"
[ "$(grep -o '\[0.*' "$D/trace" | sort | uniq -d | wc -l)" -eq 0 ]
result "each record is there once" $? "$D/trace"
check "umount" "$BRACE" umount "$D"
finish

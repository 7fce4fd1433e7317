#!/bin/bash
# SPDX-License-Identifier: MIT
# A synthetic event with a field of type stack, as in golden/synthetic.stack-field: a line for each frame,
# FUNCTION+OFFSET/SIZE, and an empty one behind them. Here the frames are a user program's.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
need readelf nm
D=$T/tree
mkdir "$D"
start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
{
	echo "p:request $A:$(offset request 0x%x) n=%di:u64" >"$D/uprobe_events" &&
		echo 's:lat pid_t pid; unsigned long stack[]' >>"$D/dynamic_events" &&
		echo 'hist:keys=common_pid:st=common_stacktrace' >"$D/events/uprobes/request/trigger" &&
		echo 'hist:keys=common_pid:s2=$st:onmatch(uprobes.request).trace(lat,common_pid,$s2)' >"$D/events/syscalls/sys_enter_write/trigger" &&
		echo 1 >"$D/events/synthetic/lat/enable"
} 2>"$T/err"
result "the event is defined" $? "$D/error_log"
tell 1
awk '/ lat: pid=[0-9]+ stack=STACK:$/ { n++; inside = 1; next }
	inside && /^=> / { frames++; named += /^=> main\+0x[0-9a-f]+\/0x[0-9a-f]+$/; request += /^=> request(\+0x[0-9a-f]+\/0x[0-9a-f]+)?$/; next }
	inside { bad += $0 != ""; inside = 0 }
	END { exit !(n == 1 && frames >= 2 && named == 1 && request == 1 && !bad && !inside) }' "$D/trace"
result "its stack is printed in the kernel's form" $? "$D/trace"

# As a key of a histogram, from the event's own field, and handed on to another synthetic event: histogram.rst's block_lat.
{
	echo 's:longer pid_t n; unsigned long[] deeper' >>"$D/dynamic_events" &&
		echo 'hist:keys=pid,stack.stacktrace' >"$D/events/synthetic/lat/trigger" &&
		echo 'hist:keys=pid:p=pid:onchange($p).trace(longer,pid,stack)' >>"$D/events/synthetic/lat/trigger" &&
		echo 'hist:keys=deeper' >"$D/events/synthetic/longer/trigger"
} 2>"$T/err" && ! grep -q 'error:' "$D/error_log"
result "a stack that an event holds is a key" $? "$D/error_log"
grep -q '^hist:keys=pid,stack.stacktrace:vals=hitcount:sort=hitcount:size=2048 \[active\]$' "$D/events/synthetic/lat/trigger"
result "the line is as it was written" $? "$D/events/synthetic/lat/trigger"
tell 2
tell 3
awk '/^{ pid: +[0-9]+, stack.stacktrace         request(\+0x|$)/ { keys++; request++ } /^ +main\+0x/ { main++ } /^} hitcount: +2$/ { rows++ }
	/Hits: 2$/ { hits = 1 } END { exit !(keys == 1 && request == 1 && main == 1 && rows == 1 && hits) }' "$D/events/synthetic/lat/hist"
result "its frames are those of the stack that was kept" $? "$D/events/synthetic/lat/hist"
awk '/^{ deeper.stacktrace         request(\+0x|$)/ { keys++; request++ } /Hits: 1$/ { hits = 1 } END { exit !(keys == 1 && request == 1 && hits) }' \
	"$D/events/synthetic/longer/hist"
result "another event has it from there" $? "$D/events/synthetic/longer/hist" "$D/error_log"
! echo 'hist:keys=pid.stacktrace' >"$D/events/synthetic/lat/trigger" 2>"$T/err" && grep -q 'Invalid field modifier' "$D/error_log"
result "a number is none" $? "$D/error_log"
finish

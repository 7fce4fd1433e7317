#!/bin/bash
# The session of the talk (Rostedt, "What's new in Ftrace"): the slides' lines typed in `brace shell` over a program that has what they
# look at (tests/targets/talk.c), without the kernel's ftrace. What differs from a slide is what differs between machines: the offset of
# malloc, which is found as the slide finds it. Where the kernel itself refuses a slide's line, so does brace.
. "$(dirname "$0")/lib.sh"
need nm trace-cmd
mkfifo "$T/to" "$T/from"
"$FIXTURES/talk" <"$T/to" >"$T/from" 2>"$T/talk.err" &
PID=$!
ON_EXIT+=("kill $PID")
exec {TO}<>"$T/to" {FROM}<>"$T/from"
read -rt "$LIMIT" -u "$FROM" _ WORKER
[ -n "$WORKER" ] || not_ok "the program runs"
LIBC=$(sed -n 's|.* \(/.*libc\.so\.6\)$|\1|p' "/proc/$PID/maps" | head -n 1)
MALLOC=0x$(nm -D "$LIBC" | sed -n 's/^0*\([0-9a-f]*\) [TW] malloc\(@@.*\)*$/\1/p' | head -n 1)
[ "$MALLOC" != 0x ] || not_ok "the slide 'Finding malloc'"
round() { local i; for ((i = 0; i < ${1:-1}; i++)); do echo >"$T/to"; read -rt "$LIMIT" _ <"$T/from" || return 1; done; }
# shown PATTERN N: so many lines of `trace-cmd show`
shown() { trace-cmd show >"$T/shown" 2>&1; [ "$(grep -cE -- "$1" "$T/shown")" -eq "$2" ]; }
# again: as `trace-cmd reset`, which looks at each event's files, and takes seconds here; typed once.
again() {
	local f line
	trace-cmd stop
	for f in events/syscalls/sys_{exit,enter}_openat/trigger events/{synthetic,uprobes,sched,raw_syscalls}/*/trigger; do
		grep -v '^#' "$f" | sort -r | while read -r line; do echo "!${line% \[*}" >"$f"; done
	done
	for f in events/{kprobes,uprobes,synthetic,eprobes}/enable; do [ ! -e "$f" ] || echo 0 >"$f"; done
	echo 0 >events/enable
	: >dynamic_events
	: >trace
	trace-cmd restart
}
sqlhist() { "$BRACE" sql "$@"; }
export T FIXTURES BRACE LIMIT PID WORKER LIBC MALLOC TAP_N TAP_FAILED=0
export -f ok not_ok result diag skip check_that round shown sqlhist again

cat >"$T/typed" <<'END'
cd /sys/kernel/tracing || exit 9
# --- functions
trace-cmd reset 2>"$T/err"
trace-cmd list -f ip_rcv >"$T/got" 2>"$T/err"
grep -qx 'ip_rcv_core' "$T/got"
result "trace-cmd list -f ip_rcv" $? "$T/got" "$T/err"
trace-cmd start -p function -l 'ip_rcv*' >"$T/got" 2>&1
round
shown ': ip_rcv_core <-' 3 && grep -qx '# tracer: function' "$T/shown"
result "trace-cmd start -p function -l 'ip_rcv*'" $? "$T/got" "$T/shown"
# --- kprobes
trace-cmd reset 2>"$T/err"
echo 'p:ip_rcv ip_rcv_core skb=$arg1 net=$arg2' > /sys/kernel/tracing/kprobe_events
trace-cmd list -e kprobes -F --full >"$T/got" 2>&1
grep -qF 'field:u64 skb;' "$T/got" && grep -qE 'print fmt: .* skb=0x%Lx net=0x%Lx", REC->__probe_ip, REC->skb, REC->net' "$T/got"
result "kprobe: skb and net" $? "$T/got" "$T/err"
trace-cmd start -e ip_rcv >"$T/got" 2>&1
round
shown ': ip_rcv: \(ip_rcv_core\+0x0.*\) skb=0x[0-9a-f]+ net=0x[0-9a-f]+$' 3
result "trace-cmd start, show" $? "$T/got" "$T/shown"
again 2>"$T/err"
echo 'p:ip_rcv ip_rcv_core skb=$arg1 dev=+0(+0x10($arg1))' > /sys/kernel/tracing/kprobe_events
trace-cmd start -e ip_rcv >"$T/got" 2>&1
round
shown ' dev=0x307331706e65$' 2
result "the device's name as a number, as on the slide" $? "$T/got" "$T/shown"
again 2>"$T/err"
echo 'p:ip_rcv ip_rcv_core skb=$arg1 dev=+0(+0x10($arg1)):string' > /sys/kernel/tracing/kprobe_events
trace-cmd start -e ip_rcv >"$T/got" 2>&1
round
shown ' dev="enp1s0"$' 2 && grep -qE ' dev="lo"$' "$T/shown"
result "and as a string" $? "$T/got" "$T/shown"
# --- uprobes
again 2>"$T/err"
echo "p:malloc $LIBC:$MALLOC size=%di:u64" > /sys/kernel/tracing/uprobe_events
trace-cmd list -e uprobes:malloc -F --full >"$T/got" 2>&1
grep -qE 'field:u64 size;.*offset:16;.*size:8;.*signed:0;' "$T/got"
result "uprobe at malloc" $? "$T/got" "$T/err"
trace-cmd start -e malloc >"$T/got" 2>&1
round
shown ': malloc: \(0x[0-9a-f]+\) size=(10|20|30)$' 3
result "sizes" $? "$T/got" "$T/shown"
! echo "r:malloc $LIBC:$MALLOC ret=%ax" 2>"$T/err" >> /sys/kernel/tracing/uprobe_events
result "its return by the same name, which the kernel refuses" $? "$T/err"
echo "r:malloc_ret $LIBC:$MALLOC ret=%ax" 2>"$T/err" >> /sys/kernel/tracing/uprobe_events
if [ $? -eq 0 ]; then
	trace-cmd start -e uprobes >"$T/got" 2>&1
	round
	shown ': malloc_ret: \(0x[0-9a-f]+ <- 0x[0-9a-f]+\) ret=0x[0-9a-f]+$' 3
	result "its return" $? "$T/got" "$T/shown"
else
	skip "its return" "this libc's malloc has a return where no probe fits"
fi
! echo "r::malloc $LIBC:$MALLOC ret=%ax" 2>"$T/err" >> /sys/kernel/tracing/uprobe_events && tail -n 3 error_log >"$T/got" &&
	sed -n '2,3p' "$T/got" | grep -q '^  Command: r::malloc ' && sed -n 3p "$T/got" | grep -q '^ *^$'
result "r::malloc, in whose place an empty name stands, has an error with a caret" $? "$T/got"
# --- histograms
again 2>"$T/err"
trace-cmd list -e raw_syscalls:sys_enter -F --full >"$T/got" 2>"$T/err"
grep -qE 'field:long id;.*offset:8;.*size:8;.*signed:1;' "$T/got" && grep -qE 'field:unsigned long args\[6\];.*offset:16;.*size:48;.*signed:0;' "$T/got"
result "the fields of sys_enter" $? "$T/got" "$T/err"
echo 'hist:keys=id' > events/raw_syscalls/sys_enter/trigger
round
cat events/raw_syscalls/sys_enter/hist >"$T/got"
grep -qE '^# trigger info: hist:keys=id:vals=hitcount:sort=hitcount:size=2048 \[active\]$' "$T/got" && grep -qE '^\{ id: +257 \} hitcount: +2$' "$T/got"
result "hist:keys=id" $? "$T/got"
echo '!hist:keys=id' > events/raw_syscalls/sys_enter/trigger
echo 'hist:keys=id.syscall' > events/raw_syscalls/sys_enter/trigger
round
cat events/raw_syscalls/sys_enter/hist >"$T/got"
grep -qE '^\{ id: sys_openat +\[257\] \} hitcount: +2$' "$T/got"
result "hist:keys=id.syscall" $? "$T/got"
again 2>"$T/err"
echo "p:malloc $LIBC:$MALLOC size=%di:u64" > /sys/kernel/tracing/uprobe_events
echo 'hist:keys=common_pid:vals=size:sort=size' > events/uprobes/malloc/trigger
round
cat events/uprobes/malloc/hist >"$T/got"
grep -qE "^\{ common_pid: +$PID \} hitcount: +3  size: +60\$" "$T/got" && grep -q '# trigger info: hist:keys=common_pid:vals=hitcount,size:sort=size:size=2048 \[active\]' "$T/got"
result "how much each process asks malloc for" $? "$T/got"
echo '!hist:keys=common_pid:vals=size:sort=size' > events/uprobes/malloc/trigger
echo 'hist:keys=common_pid.execname:vals=size:sort=size' > events/uprobes/malloc/trigger
round
cat events/uprobes/malloc/hist >"$T/got"
grep -qE "^\{ common_pid: talk +\[ +$PID\] \} hitcount: +3  size: +60\$" "$T/got"
result "by name" $? "$T/got"
# --- synthetic events
again 2>"$T/err"
echo 'wakeup_lat char name[]; pid_t pid; u64 latency' > synthetic_events
grep -qE 'field:__data_loc char\[\] name;' events/synthetic/wakeup_lat/format
result "wakeup_lat" $? events/synthetic/wakeup_lat/format
trace-cmd list -e synthetic:wakeup_lat -F --full >"$T/got" 2>"$T/err"
grep -qE 'field:pid_t pid;.*size:4;.*signed:1;' "$T/got" && grep -qE 'field:u64 latency;.*size:8;.*signed:0;' "$T/got"
result "its fields" $? "$T/got" "$T/err"
echo 'hist:keys=pid:ts1=common_timestamp.usecs' > events/sched/sched_waking/trigger
result "the first histogram" $? error_log
if echo 1 2>/dev/null >events/sched/sched_switch/enable; then
	echo 0 >events/sched/sched_switch/enable
	echo 'hist:keys=next_pid:delta=common_timestamp.usecs-$ts1:onmatch(sched/sched_waking)'\
'.trace(wakeup_lat,next_comm,next_pid,$delta)' 2>"$T/err" > events/sched/sched_switch/trigger
	taken=$?
	# The slide's slash is no dot, which the kernel wants: if it is refused, what to write is said.
	[ $taken -eq 0 ] || ! grep -q 'onmatch(sched/' error_log || echo 'hist:keys=next_pid:delta=common_timestamp.usecs-$ts1:onmatch(sched.sched_waking)'\
'.trace(wakeup_lat,next_comm,next_pid,$delta)' 2>"$T/err" > events/sched/sched_switch/trigger
	grep -q 'onmatch(sched.sched_waking).trace(wakeup_lat,next_comm,next_pid,$delta)' events/sched/sched_switch/trigger
	result "the second" $? error_log "$T/err"
	trace-cmd start -e wakeup_lat >"$T/got" 2>&1
	echo 'hist:keys=name,latency.buckets=10:sort=name,latency' > events/synthetic/wakeup_lat/trigger
	round 4
	trace-cmd show >"$T/shown" 2>&1
	grep -qE ": wakeup_lat: name=worker pid=$WORKER latency=[0-9]+\$" "$T/shown"
	result "wakeup latencies" $? "$T/got" "$T/shown"
	cat events/synthetic/wakeup_lat/hist >"$T/got"
	grep -qE '^\{ name: worker +, latency: ~ [0-9]+-[0-9]+ +\} hitcount: +[0-9]+$' "$T/got"
	result "and their histogram" $? "$T/got"
else
	skip "wakeup_lat" "the kernel tells this user no switches"
fi
# --- event probes
again 2>"$T/err"
echo 'e:netdev net/netif_receive_skb dev=+0(+0x10($skbaddr)):string' > dynamic_events
trace-cmd list -e eprobes -F --full >"$T/got" 2>"$T/err"
grep -qE '^name: netdev$' "$T/got" && grep -qE 'field:__data_loc char\[\] dev;' "$T/got"
result "trace-cmd list -e eprobes" $? "$T/got" "$T/err"
trace-cmd start -e netdev >"$T/got" 2>&1
round
shown ': netdev: \(net.netif_receive_skb\) dev="(enp1s0|lo)"$' 3
result "eprobe on a network event" $? "$T/got" "$T/shown" error_log
again 2>"$T/err"
echo 'e:open syscalls/sys_enter_openat file=+0($filename):ustring' > dynamic_events
trace-cmd start -e open >"$T/got" 2>&1
round
shown ': open: \(syscalls.sys_enter_openat\) file="(/etc/passwd|/nonexistent/talk)"$' 2
result "eprobe on openat with the name" $? "$T/got" "$T/shown" error_log
again 2>"$T/err"
# --- sqlhist
sqlhist -n wakeup_lat 'SELECT end.next_comm AS name, start.pid, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS latency
	FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid' >"$T/got" 2>"$T/err"
grep -qE "^echo 's?:?wakeup_lat char name\[16\]; pid_t pid; u64 latency;?'|wakeup_lat .*name.*pid.*latency" "$T/got" && grep -q 'onmatch(sched.sched_waking)' "$T/got"
result "sqlhist prints the echos" $? "$T/got" "$T/err"
sqlhist -e -n sysname 'SELECT start.id, end.prev_pid FROM sys_enter AS start JOIN sched_switch AS end ON start.common_pid = end.prev_pid
	WHERE end.prev_state == 2' >"$T/got" 2>"$T/err" &&
	sqlhist -e -n offcpu 'SELECT start.id, end.next_comm AS comm, end.next_pid AS pid, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat
	FROM sysname AS start JOIN sched_switch AS end ON start.prev_pid = end.next_pid' >>"$T/got" 2>>"$T/err" &&
	echo 'hist:keys=id.syscall,comm,pid:vals=lat' > events/synthetic/offcpu/trigger &&
	round && grep -qF '# trigger info: hist:keys=id.syscall,comm,pid:vals=hitcount,lat:sort=hitcount:size=2048 [active]' events/synthetic/offcpu/hist
result "what system calls block the longest: two chained statements and a histogram" $? "$T/got" "$T/err" error_log
again 2>"$T/err"
# Whose files: sqlhist's event has the addresses of names, which an event on it reads when the call has returned.
OPENED='SELECT start.filename, end.ret FROM sys_enter_openat AS start JOIN sys_exit_openat AS end ON start.common_pid = end.common_pid'
of_myopen() {
	trace-cmd list -e myopen -F >"$T/got" 2>"$T/err"
	grep -qE 'field:u64 filename;.*offset:8;.*size:8;' "$T/got" && grep -qE 'field:s64 ret;.*offset:16;.*size:8;.*signed:1;' "$T/got" &&
		echo 'e:open synthetic/myopen file=+0($filename):ustring ret=$ret:s64' >> dynamic_events &&
		trace-cmd start -e open >"$T/got" 2>&1 && round && shown ': open: \(synthetic.myopen\) file=".*" ret=-?[0-9]+$' 2 &&
		grep -qE ' file="/etc/passwd" ret=[0-9]+$' "$T/shown" && grep -qE ' file="/nonexistent/talk" ret=-2$' "$T/shown"
}
sqlhist -e -n myopen "$OPENED" >"$T/got" 2>"$T/err" && of_myopen
result "sqlhist -e, and an eprobe on its event: names and results of openat" $? "$T/got" "$T/shown" error_log
again 2>"$T/err"
if [ -x "$FIXTURES/sqlhist" ]; then
	"$FIXTURES/sqlhist" myopen "$OPENED" >"$T/echos" 2>"$T/err" && sh "$T/echos" 2>>"$T/err" && of_myopen
	result "the same by libtracefs's own sqlhist, unmodified" $? "$T/got" "$T/shown" "$T/err"
else
	skip "libtracefs's own sqlhist" "libtracefs-dev is not installed"
fi
echo "$TAP_N $TAP_FAILED" >"$T/counts"
END
timeout -k 5 "$LIMIT" "$BRACE" shell -p "$PID" -- bash "$T/typed" 2>"$T/shell.err" </dev/null
if [ ! -s "$T/counts" ]; then
	grep -qE '/dev/fuse|no namespace of our own' "$T/shell.err" && { skip "the talk" "$(head -n 1 "$T/shell.err")"; finish; }
	not_ok "the slides were typed to their end" "$T/shell.err"
fi
read -r TAP_N TAP_FAILED <"$T/counts"
kill -0 "$PID"
result "the program goes on" $?
finish

# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2154,SC2086
# Sourced by the guest's scripts of the test `kernel`, which set $brace and $program: an ordinary user's events of the kernel, by perf.
# It leaves perf_event_paranoid at 2.
paranoid=/proc/sys/kernel/perf_event_paranoid
chmod 1777 .
# user STATUS ARGUMENT...: `run` as nobody
user() {
	local wanted=$1
	shift
	setuidgid_nobody "$@" >out 2>&1
	local status=$?
	as_wanted=1
	[ "$status" = "$wanted" ] || { echo "status $status" >>out; as_wanted=0; return 1; }
}
# counted: the records that the closing line says are kept or lost
counted() {
	sed -n 's/^brace: \([0-9,]*\) records of the kernel/\1 /p' out | grep -oE '[0-9][0-9,]* |: [0-9,]+ on|, [0-9,]+ on' | tr -dc '0-9\n' |
		awk '{ n += $1 } END { print n + 0 }'
}

echo 3 >$paranoid
user 125 record -k -e k:syscalls:sys_enter_read -o /tmp/o.brace -- $program 1
check "events by perf, perf_event_paranoid 3: the rule" has 'perf_event_paranoid is 3; .* take 2, others -1'
echo 2 >$paranoid
user 125 graph -K -e sched:sched_switch -- $program 1
check 'events by perf, a tracefs that is not readable: both rules at once' has 'mount -o remount,gid=GROUP,mode=750 .*perf_event_paranoid, which is 2, has to be -1'
mount -o remount,gid=65534,mode=750 $tracing
user 125 record -k -e k:sched:sched_switch -o /tmp/o.brace -- $program 1
check "events by perf, perf_event_paranoid 2: what it takes" has "-e: only root .*sched:sched_switch: kernel.perf_event_paranoid is 2, and it takes -1"
user 125 graph -K -e raw_syscalls:sys_enter -- $program 1
check 'events by perf, perf_event_paranoid 2: raw_syscalls' has 'is 2, and it takes 1'
user 0 record -k -v -l one_read -e k:syscalls:sys_enter_read -e k:syscalls:sys_exit_read -f 'ret == 1' -o /tmp/o.brace -- $program 2000
check 'events by perf, perf_event_paranoid 2: system calls' has 'read by perf'
user 0 replay --no-pager /tmp/o.brace
check 'events by perf: each of 2,000 calls holds its own' [ "$(holding 'one_read() {' 'sys_enter_read: fd: ')" = 2000 ]
check 'events by perf: and its return, which the filter lets through' [ "$(holding 'one_read() {' 'sys_exit_read: 0x1 ')" = 2000 ]
check 'events by perf: and no other return' sh -c '! grep "sys_exit_read: " out | grep -v "sys_exit_read: 0x1 "'
user 125 graph -K -e syscalls:sys_enter_read -f 'fd > 3 && bug == 0' -- $program 1
check "events by perf, -f: a sentence, at its place" sh -c 'grep -q -- "-f: the kernel refuses this filter of syscalls:sys_enter_read: Field not found" out && grep -q "^  *^" out'
user 125 graph -K -e syscalls:nothing -- $program 1
check 'events by perf: no such event' has 'the kernel has no such event'
user 125 graph -K -e syscalls:sys_enter_read -R stacktrace -- $program 1
check 'events by perf: no triggers' has "-R: triggers of the kernel's events take root"
user 125 graph -K -l vfs_read -e syscalls:sys_enter_read -- $program 1
check 'functions stay root'"'"'s' has 'run brace by sudo'
user 125 follow -k packet -- $program 1
check 'follow -k stays root'"'"'s, and says so' has 'only root may follow the kernel.s objects: .*run brace by sudo\|without BPF'

echo 1 >$paranoid
user 0 graph -K -b 4 -o /tmp/text -e raw_syscalls:sys_enter -- dd if=/dev/zero of=/dev/null bs=1 count=20000
all=$(counted)
check 'events by perf: a small buffer: each is seen or counted as lost' [ "$all" -ge 40000 ] && [ "$all" -le 40400 ]
check 'events by perf: losses are shown by CPU' has '; lost: .* on CPU [01]'
echo 0 >$paranoid
user 125 graph -K -e syscalls:sys_enter_read --duration 100ms
check 'events by perf, perf_event_paranoid 0: system calls of all tasks' has 'sys_enter_read of all tasks: kernel.perf_event_paranoid is 0, and it takes -1'

echo -1 >$paranoid
user 0 record -k -l one_sleep -e k:syscalls:sys_enter_read -o /tmp/o.brace -- $program 1
user 0 report --no-pager /tmp/o.brace
check 'events by perf: the sleep is BLOCKED' sh -c "awk '/ one_sleep / { found = \$(NF - 3) >= 20 && \$(NF - 2) == \"ms\" } END { exit !found }' out"
user 0 graph -K -e sched:sched_switch --duration 500ms
check 'events by perf: of all tasks' has 'sched_switch: prev_comm=swapper'
check 'events by perf: of all tasks but brace' sh -c '! grep -q "^ *brace-[0-9]* .*sched_switch:" out'
sh -c 'while :; do dd if=/dev/zero of=/dev/null bs=1 count=1; done 2>/dev/null' &
pid=$!
user 125 graph -K -p $pid -e sched:sched_process_fork --duration 1s
check "events by perf, -p: another user's process" has 'sched:sched_process_fork'
kill $pid
wait $pid 2>/dev/null
if [ -x /usr/bin/perf ]; then
	events='sched:sched_switch syscalls:sys_enter_read syscalls:sys_exit_read'
	start-stop-daemon -S -c 65534:65534 -x /usr/bin/perf -- record -q -o /tmp/perf.data $(printf -- ' -e %s' $events) -- \
		$brace graph -K -o /tmp/text $(printf -- ' -e %s' $events) -- $program 200 >out 2>&1
	/usr/bin/perf script -f --ns -i /tmp/perf.data >perf.text 2>>out
	pid=$(sed -n 's/^ *merged_program-\([0-9]*\) .*/\1/p' /tmp/text | head -n 1)
	# The other side of a switch back, which perf has no sample of, is brace's.
	sed -n "s/^ *.*-$pid *\[\([0-9]*\)\] [^:]*: /\1 /p" /tmp/text | grep -v 'prev_pid=-1 ' >ours
	sed -n "s/^ *.* $pid \[\([0-9]*\)\] *[0-9.]*: *[a-z_]*:\([a-z_]*: \)/\1 \2/p" perf.text | tail -n "$(wc -l <ours)" | sed 's/ *$//' >theirs
	check 'events by perf: record by record as perf script has them' sh -c '[ "$(grep -c sys_enter_read ours)" -ge 200 ] && cmp ours theirs >>out'
else
	ok 'events by perf: record by record as perf script has them # SKIP no perf'
fi
mount -o remount,gid=0,mode=700 $tracing
echo 2 >$paranoid

# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2154,SC2086,SC2012,SC2317
# The guest's part of the test `kernel` under Debian's 6.1; the arguments are kernel.sh's first four, and ordinary.sh.
brace=$1
program=$2
ring_ways=$3
# shellcheck disable=SC1090
. "$4"
echo words >file
none_left() { [ -z "$(ls $tracing/instances)" ] && ! grep -q brace $tracing/dynamic_events; }

# --- reading: there is nothing to map
"$ring_ways" test mmap 1 1408 >out 2>&1
check 'no mapped buffers: splice instead' has '^mmap: this kernel gives splice'
for way in splice read; do
	"$ring_ways" test $way 30000 1408 >out 2>&1
	check "$way: 30,000 markers of two CPUs, each once, in order" has "^$way: right, some seen"
	"$ring_ways" test $way 30000 8 >out 2>&1
	check "$way: a small buffer: each is seen once or counted as lost" has "^$way: right, some seen, some lost"
done

# --- functions: function_graph is the main instance's alone
run 125 graph -K -l vfs_read -- true
check 'function_graph: one sentence that says what it takes' has 'only in its main instance, .*takes Linux 6.11'
run 125 record -k -l one_read -l k:vfs_read -- "$program" 1
check 'function_graph beside a program: the same' has 'takes Linux 6.11'
run 0 record -K -v -t function -l vfs_read -e sched:sched_process_exec -o t.brace -- dd if=file of=copy bs=1 count=3
check 'record -K -t function' has 'none lost'
check 'record -K -v: how the buffers are read' has 'read by splice'
run 0 replay t.brace
check 'replay: calls with their callers, and events' sh -c '[ "$(grep -c "vfs_read <-ksys_read" out)" -ge 3 ] && grep -q "sched_process_exec: filename=" out'
run 0 graph -k -t k:function -o graph -l one_read -l k:vfs_read -- "$program" 2000
check 'graph -k -t k:function: 2,000 calls, each holds its own' [ "$(holding 'one_read() {' vfs_read graph)" = 2000 ]
run 0 record -K -b 4 -t function -l 'vfs_*' -l ksys_read -l ksys_write -o t.brace -- dd if=/dev/zero of=/dev/null bs=1 count=4000
check 'losses are shown by CPU' has '; lost: .* on CPU [01].* (a larger buffer'
run 125 graph -K -t function -l vfs_raed -- true
check 'an unknown function: the nearest' has 'did you mean vfs_read?'
check 'nothing is left' none_left

run 125 graph -K -e sched:sched_switch -R 'stacktrace if prev_pd > 0' -- true
check "-R: the kernel's sentence on its filter, which this kernel tells of filters alone" has '-R: the kernel refuses this trigger: Field not found'

# --- probes, histograms, statements
run 0 graph -K -e 'p:reading vfs_read size=%dx:u32' -f 'size == 3' -- dd if=file of=copy bs=3 count=1
check 'a probe and its filter' has 'reading: (vfs_read.* size=3'
run 125 graph -K -e 'f:reading vfs_read' -- true
check 'no fprobe events: one sentence with what they take' has 'takes Linux 6.5 with CONFIG_FPROBE_EVENTS'
run 0 hist -K -o text 'vfs_read arg3 if arg3 == 3' -- sh -c 'dd if=file of=copy bs=3 count=1; dd if=file of=copy bs=3 count=1'
check 'hist -K: an argument by its number, of all that the program starts' has '{ arg3: *3 } hitcount: *2$' text
run 0 sql -K -o text 'SELECT end.next_comm AS comm, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid' -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do usleep 2000; done'
check 'sql -K: a statement of two events' [ "$(grep -cE 'comm=usleep.* lat=[0-9]+' text)" -ge 2 ]
check 'nothing is left of these' none_left

# --- following an object: kprobe.multi answers EOPNOTSUPP
if ! "$brace" follow -k 'struct nothing' 2>&1 | grep -q 'without BPF'; then
	run 0 follow -k file:file --json -o session -l inode_permission -l security_inode_permission -- cat file
	check 'follow: single kprobes, though none was asked for' has ' watched by kprobe'
	check 'follow: as many returns as calls' sh -c '[ "$(grep -c "\"is_return\":false" session)" -ge 1 ] &&
[ "$(grep -c "\"is_return\":false" session)" = "$(grep -c "\"is_return\":true" session)" ]'
	run 0 follow -k fd:1 -l vfs_write -o text -- sh -c 'echo words >file; echo hello'
	check 'follow -k fd: of a program' [ "$(grep -c '| fd  .*  vfs_write(); /\* file ret=6 ' text)" = 2 ]
	ip link set lo up
	border=$(dirname "$program")/border_program
	run 0 follow -k buffer:0x7e5000000000+8192 -l vfs_write -l ksys_write -l generic_file_write_iter -l generic_perform_write -l shmem_write_end -l simple_write_end -l pipe_write -o text -- $border bytes buffer
	check 'follow -k buffer: by its address, and by an iterator' sh -c '[ "$(grep -c "  ksys_write() { /\* bytes" text)" = 4 ] &&
[ "$(grep -c "  generic_file_write_iter() { /\* iov_iter" text)" = 2 ]'
	check 'follow -k buffer: the pipe in which it loses sight of bytes' has 'went where they are not followed: by pipe_write (1 call)$'
	# Twice: the second time the page is followed already.
	check 'follow -k buffer: the page of the file that it is copied into' sh -c 'grep -qE "^# object 2: struct page at 0x[0-9a-f]*, made of object 1 by (shmem|simple)_write_end" text &&
[ "$(grep -cE "\| copy     \|.*(shmem|simple)_write_end.*/\* page" text)" = 2 ]'
	run 125 follow -k task:1
	check 'follow: too many functions for single kprobes' has 'attaches to one function after another, and .* would take .* s or more: .* --limit '
	run 125 follow -k task:1 --attach kprobe.multi
	check 'follow: kprobe.multi is asked for: one sentence' sh -c '[ "$(grep -c . out)" = 1 ] && grep -q "the kernel takes no program at its functions: Operation not supported" out'
else
	ok 'follow # SKIP brace without BPF'
fi

# --- what a brace that died leaves
"$brace" graph -K -e 'p:reading vfs_read size=%dx:u32' >/dev/null 2>&1 &
pid=$!
until ! kill -0 $pid || { grep -q "brace_$pid/reading" $tracing/dynamic_events && [ "$(cat $tracing/instances/brace-$pid/tracing_on)" = 1 ]; }; do
	usleep 20000
done 2>/dev/null
kill -9 $pid
wait $pid 2>/dev/null
run 0 reset -k
check 'kill -9: reset -k removes the instance and the event' sh -c "grep -q 'brace-$pid was left by process $pid' out && grep -q '1 event that brace had defined' out"
check 'kill -9: nothing is left' none_left
setuidgid_nobody graph -K -- true >out 2>&1
check 'an ordinary user: one sentence' has 'only root may trace the kernel'
# shellcheck disable=SC1090
. "$5"
exit $failed

# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2086,SC2012
# In the guest: events that are defined in the kernel, and histograms. Sourced by kernel.sh, in its boot and with its functions.
no_probes() { nothing_left && [ -z "$(cat $tracing/dynamic_events)" ]; }

# --- -e with a definition
run 0 graph -K -q -o text -e 'p:reading vfs_read size=%dx:u32' -f 'size == 3' -- dd if=file of=copy bs=3 count=1
check "-e 'p:': what dd reads, by a register" has ': reading: (vfs_read+0x[0-9a-f]*) size=3$' text
check "-e 'p:' -f: the filter is this event's" [ "$(grep -c ' reading: ' text)" = "$(grep -c 'size=3$' text)" ]
check "-e 'p:': nothing is left" no_probes
echo 'p:brace_theirs/reading vfs_read' >$tracing/dynamic_events
run 0 graph -K -q -o text -e 'r:reading vfs_read got=$retval:s64' -- dd if=file of=copy bs=1 count=4
check "-e 'r:': what it returned" [ "$(grep -c 'reading: (ksys_read.* <- vfs_read.*) got=1$' text)" = 4 ]
check "another's event of the same name stays" [ "$(cat $tracing/dynamic_events)" = 'p:brace_theirs/reading vfs_read' ]
echo '-:brace_theirs/reading' >>$tracing/dynamic_events
run 0 graph -K -q -o text -e 'f vfs_read count' -f 'count == 3' -- dd if=file of=copy bs=3 count=1
check "-e 'f': a function's argument by its name" sh -c 'grep -q "f_vfs_read: (vfs_read.*) count=3$\|f_vfs_read: (vfs_read.*) count=0x3$" text'
run 0 record -K -q -o t.brace -l ksys_read -e 'p:reading vfs_read size=%dx:u32' -- dd if=file of=copy bs=3 count=1
run 0 replay t.brace
check "record -e 'p:' -l: the event lies in the call" [ "$(holding 'ksys_read() {' ' size=3 */')" = 1 ]
run 0 record -k -q -o t.brace -l one_read -e 'k:p:reading vfs_read size=%dx:u32' -- $program 3
run 0 replay t.brace
check "-k -e 'k:p:': in the program's call" [ "$(holding 'one_read() {' '/* reading: (vfs_read+0x')" = 3 ]

# --- what the kernel refuses
run 125 graph -K -e 'p:reading vfs_raed size=%dx:u32' -- true
check "-e 'p:': no such function: the nearest" has 'did you mean vfs_read?'
run 125 graph -K -e 'p:reading vfs_read size=%dxx:u32' -- true
check "-e 'p:': the kernel's reason, and where" sh -c 'grep -q "the kernel refuses this: " out && grep -q "^ *p:reading vfs_read size=%dxx:u32" out && grep "\^" out | grep -q "^ \{21,\}"'
run 125 graph -K -e 'p:group/reading vfs_read' -- true
check "-e 'p:': a group" has 'a group of its own'
run 125 graph -K -e 'x:reading vfs_read' -- true
check "-e 'x:': no kind of event" has 'defined by p:NAME FUNCTION'
sed 's/f\[:/q[:/' $tracing/README >readme
mount --bind readme $tracing/README
run 125 graph -K -e 'f vfs_read' -- true
check 'a kernel without f: one sentence with its option' sh -c '[ "$(grep -c . out)" -le 3 ] && grep -q "takes Linux 6.5 with CONFIG_FPROBE_EVENTS" out'
umount $tracing/README
check 'errors leave nothing' no_probes

# --- kill -9
"$brace" graph -K -e 'p:reading vfs_read size=%dx:u32' >/dev/null 2>&1 &
pid=$!
until ! kill -0 $pid || { grep -q "brace_$pid/reading" $tracing/dynamic_events && [ "$(cat $tracing/instances/brace-$pid/tracing_on)" = 1 ]; }; do
	usleep 20000
done 2>/dev/null
kill -9 $pid
wait $pid 2>/dev/null
run 0 reset -k
check 'kill -9: reset -k removes the event, too' has '^brace: 1 event that brace had defined: removed$'
check 'kill -9: nothing is left' no_probes

# --- histograms that the kernel counts
run 0 hist -K -o text 'vfs_read count' -- dd if=file of=copy bs=3 count=1
check "hist -K 'vfs_read count': an argument by its name" has '{ count: *3 } hitcount: *1$' text
run 0 hist -K -o text 'vfs_read arg3.log2 if arg3 == 3' -- dd if=file of=copy bs=3 count=1
check 'hist -K: by its number, and a modifier' has '{ arg3: ~ 2^2 *} hitcount: *1 ' text
run 0 hist -K -o text 'vfs_read%return retval if retval == 1' 'sched:sched_process_exit comm' -- dd if=file of=copy bs=1 count=4
check 'hist -K: what is returned, and a filter of its own' has '{ retval: *1 } hitcount: *4$' text
check 'hist -K: an event of the kernel, and two questions' has '{ comm: dd  *} hitcount: *1$' text
run 3 hist -K -o text 'sched_process_exit comm' -- sh -c 'exit 3'
check "hist -K: the program's status" [ $? = 0 ]
# Others read and end all the time meanwhile.
sh -c 'while :; do cat file; done >/dev/null' &
other=$!
cat >family <<'END'
dd if=file of=copy bs=1 count=3
(dd if=file of=copy bs=1 count=4; dd if=file of=copy bs=1 count=1) & wait
END
run 0 hist -K -o text 'vfs_read count if count == 1' 'sched_process_exit comm' -- sh family
check 'hist -K: what the program starts counts, and nothing else' sh -c 'grep -q "{ count: *1 } hitcount: *8$" text &&
grep -q "{ comm: dd  *} hitcount: *3$" text && ! grep -q "comm: cat" text'
run 0 sql -K -o text 'SELECT comm FROM sched_process_exit' -- sh family
check 'sql -K: what the program starts counts, and nothing else' sh -c 'grep -q "{ comm: dd  *} hitcount: *3$" text && ! grep -q "comm: cat" text'
run 0 hist -K -o text 'vfs_read count if count == 3' -- "$program" threads
check 'hist -K: all threads count' has '{ count: *3 } hitcount: *8$' text
for time in 1s 20s 200s; do
	run 0 hist -K -o text -p $other 'sched_process_exit comm' --duration $time
	! has 'comm: cat' text || break
done
check 'hist -K -p: a process that runs, and its children' sh -c 'grep -q "{ comm: cat  *} hitcount:" text && ! grep -q "comm: dd" text'
kill $other
wait $other 2>/dev/null
run 0 hist -K -o text 'sched_switch next_comm' --duration 200ms
check 'hist -K: of all tasks, for a time' has '{ next_comm: ' text
run 0 hist -K -o text 'sched_switch common_timestamp.usecs' -- true
check "hist -K: a time stamp does not change the instance's clock" has 'clock=x86-tsc' text
run 125 hist -K 'vfs_raed count' -- true
check 'hist -K: no such function' has 'did you mean vfs_read?'
run 125 hist -K 'vfs_read cuont' -- true
check "hist -K: no such field: the kernel's reason" has 'the kernel refuses this histogram: '
run 125 hist -K -d 'vfs_*' -- true
check 'hist -K -d' has 'brace report of brace record -K'
check 'hist -K: nothing is left' no_probes

# --- statements that the kernel carries out
run 0 sql -K -o text 'SELECT next_comm FROM sched_switch' -- sh -c 'usleep 1000; usleep 1000'
check 'sql -K: one event is a histogram' has '{ next_comm: usleep  *} hitcount: *[1-9]' text
wakeup='SELECT end.next_comm AS comm, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid'
run 0 sql -K -o text -n wakeup_lat "$wakeup" -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do usleep 2000; done' # one that is late does not sleep
check "sql -K: the talk's wakeup_lat" [ "$(grep -cE ': brace_[0-9]+_wakeup_lat: .*comm=usleep.* lat=[0-9]+' text)" -ge 3 ]
check 'sql -K: times are microseconds' sh -c 'sed -nE "s/.*comm=usleep.* lat=([0-9]+).*/\1/p" text | { while read -r lat; do [ "$lat" -lt 2000000 ] || exit 1; done; }'
run 3 sql -K -o text "$wakeup" -- sh -c 'exit 3'
check "sql -K: the program's status" [ $? = 0 ]
while :; do usleep 5000; done & # a quiet machine may wake nobody in so short a time
sleeper=$!
run 0 sql -K -o text -m lat "$wakeup" --duration 200ms
kill $sleeper
check 'sql -K: for a time, of the largest alone' has '_Anonymous: ' text
run 0 sql -K --explain "$wakeup"
check 'sql -K --explain: the lines of a shell' has "^echo '.*brace_[0-9]*_Anonymous .*' >> $tracing/dynamic_events"
run 125 sql -K 'SELECT next_comm FROM sched_swich'
check 'sql -K: no such event' has 'sched_swich'
run 125 sql -K 'SELECT next_comm, count(*) FROM sched_switch GROUP BY next_comm' -- true
check 'sql -K: what is for programs' has "are for programs' events"
check 'sql -K: nothing is left' no_probes
"$brace" sql -K "$wakeup" >/dev/null 2>&1 &
pid=$!
until ! kill -0 $pid || { [ "$(cat $tracing/instances/brace-$pid/events/synthetic/enable)" = 1 ] &&
	[ "$(cat $tracing/instances/brace-$pid/tracing_on)" = 1 ]; }; do
	usleep 20000
done 2>/dev/null
kill -9 $pid
wait $pid 2>/dev/null
run 0 reset -k
check 'sql -K, kill -9: reset -k removes the synthetic event, too' has '^brace: 1 event that brace had defined: removed$'
check 'sql -K, kill -9: nothing is left' no_probes

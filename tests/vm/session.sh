# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2086,SC2012
# In the guest: the kernel's tracer `function`, and brace start -k, a session that goes on without brace. Sourced by kernel.sh,
# in its boot and with its functions.

# --- the tracer function, beside another instance of the same tasks: the same calls by the same callers
mkdir $tracing/instances/mine
its=$tracing/instances/mine
echo 0 >$its/tracing_on
printf 'vfs_read\nvfs_write\n' >$its/set_ftrace_filter
echo function-fork >$its/trace_options
echo function >$its/current_tracer
calls_of() { grep -o 'vfs_[a-z]* <-.*' "$1"; }
run 0 graph -K -q -t function -o text -l vfs_read -l vfs_write -- sh -c "echo \$\$ >$its/set_ftrace_pid; echo 1 >$its/tracing_on
dd if=file of=copy bs=1 count=5 2>/dev/null; echo 0 >$its/tracing_on"
calls_of $its/trace >theirs
calls_of text >ours
check '-t function: ten calls at least, with their callers' [ "$(grep -c 'vfs_[a-z]* <-ksys_' theirs)" -ge 10 ]
# brace's begin before and end after.
check "-t function: brace's lines include the kernel's own text" sh -c 'awk "NR == FNR { want[++n] = \$0; next } { have[++m] = \$0 }
END { for (i = 0; i + n <= m; i++) { for (k = 1; k <= n && want[k] == have[i + k]; k++); if (k > n) exit 0 } exit 1 }" theirs ours'
echo nop >$its/current_tracer
rmdir $its
run 0 record -K -q -t function -o t.brace -l vfs_read -l vfs_write -- dd if=file of=copy bs=1 count=5
run 0 replay t.brace
check '-t function: the file has the same' sh -c 'grep -q "^# tracer: function$" out && [ "$(grep -c "vfs_write <-ksys_write" out)" -ge 5 ]'
run 0 replay -O sym-offset t.brace
check '-t function: callers with offsets' has 'vfs_write+0x[0-9a-f/x]* <-ksys_write+0x'
run 0 report t.brace
check '-t function: report counts the calls' has 'vfs_write \[kernel\]'
run 0 graph -k -q -o text -t k:function -l one_read -l k:vfs_read -- $program 3
check '-k -t k:function: a call of the kernel lies in the one that made it' [ "$(grep -c '|    vfs_read();' text)" -ge 3 ]
run 0 graph -k -q -o text --kernel-only -t k:function -l one_read -l k:vfs_read -- $program 3
check '-k -t k:function --kernel-only: the calls' sh -c '[ "$(grep -c "|  vfs_read();" text)" -ge 3 ] && ! grep -q one_read text'
run 0 graph -k -q -o text -t function -t k:function -l one_read -l k:vfs_read -- $program 3
check '-k -t function -t k:function: both, with their callers' sh -c '[ "$(grep -c ": one_read <-" text)" = 3 ] && [ "$(grep -c ": vfs_read <-ksys_read" text)" -ge 3 ]'
run 0 graph -K -t function -l vfs_read -e sched:sched_process_exec -- dd if=file of=copy bs=1 count=1
check '-t function: events among the calls' sh -c 'grep -q "vfs_read <-" out && grep -q ": sched_process_exec: filename=" out'

# --- a session of the kernel's
run 125 show -k
check 'show -k: there is no session' has 'the kernel has no session of brace'
run 125 stop -k
check 'stop -k: there is none' has 'brace start -k begins one'
run 0 start -k -t function -l vfs_read -l vfs_write -e sched:sched_process_exec
check 'start -k: it goes on without brace' [ "$(cat $tracing/instances/brace-session/tracing_on)" = 1 ]
dd if=file of=copy bs=1 count=3 2>/dev/null
# The reader makes calls of what it reads: it has to end.
run 0 show -k
check 'show -k: what the kernel recorded, in its own words' sh -c 'grep -q "vfs_read <-ksys_read" out && grep -q "sched_process_exec: filename=" out'
run 0 stat -k
check 'stat -k' sh -c 'grep -q "^Tracer: function$" out && grep -q "^Recording: 1$" out && grep -q "^sched:sched_process_exec$\|^Events: sched:sched_process_exec$" out'
run 0 stop -k
check 'stop -k' [ "$(cat $tracing/instances/brace-session/tracing_on)" = 0 ]
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
/usr/bin/script -qec "$brace stop -k" /dev/null </dev/null >out 2>&1
check 'stop -k, on a terminal: the next command is one of the kernel'"'"'s session' has '^brace: what was recorded: brace show -k'
umount /dev/pts
run 0 clear -k
run 0 show -k
check 'clear -k: nothing is left of it' sh -c '! grep -q vfs_read out'
run 0 set -k -l vfs_write
check 'set -k: the filter' [ "$(cat $tracing/instances/brace-session/set_ftrace_filter)" = vfs_write ]
check 'set -k: the tracer stays' [ "$(cat $tracing/instances/brace-session/current_tracer)" = function ]
run 125 set -k -l vfs_raed
check 'set -k: an unknown function' has 'did you mean vfs_read?'
run 125 set -k --threshold 5us
check 'set -k: what holds for all of the kernel is asked for at the start' has 'taken by brace start -k alone'
run 0 restart -k
dd if=file of=copy bs=1 count=3 2>/dev/null
run 0 show -k trace
check 'restart -k: it records again, by the new filter' sh -c 'grep -q "vfs_write <-" out && ! grep -q "vfs_read <-" out'
run 0 show -k set_ftrace_filter
check 'show -k FILE' has '^vfs_write$'
run 125 show -k nothing
check 'show -k: no such file' has 'cannot read .*brace-session/nothing: No such file'
run 125 start -k true
check 'start -k: no program' has 'start -k begins no program'
run 0 reset -k
check 'reset -k ends it' sh -c "grep -q 'brace-session is the session of brace start -k (tracer function, 1 event): removed' out"
check 'reset -k: nothing is left' nothing_left
sh -c 'while :; do dd if=file of=copy bs=1 count=1 2>/dev/null; done' &
pid=$!
run 0 start -k -p $pid -g ksys_read --max-graph-depth 2 -l ksys_read -l vfs_read
until [ ! -d $tracing/instances/brace-session-graph ] || grep -q vfs_read $tracing/instances/brace-session-graph/trace; do usleep 20000; done
run 0 show -k
check 'start -k -p -g: the graph of a process' [ "$(holding 'ksys_read() {' '  vfs_read();')" -ge 1 ]
run 125 graph -K -g vfs_read -- true
check 'start -k -g: another that wants the same files is refused' has 'runs function_graph\|another tracer uses'
run 0 start -k -l ksys_read
check 'start -k again: the options are applied to the session' [ "$(cat $tracing/instances/brace-session-graph/set_ftrace_filter)" = ksys_read ]
kill $pid
wait $pid 2>/dev/null
run 0 reset -k
check 'reset -k: -g and --max-graph-depth are as they were' nothing_left
run 125 start -k -l vfs_raed
check 'start -k: an error leaves nothing' nothing_left
setuidgid_nobody start -k >out 2>&1
check 'start -k, an ordinary user: one sentence' has 'only root may trace the kernel'

# --- what a brace that was killed has left, the next one removes, and says so
"$brace" graph -K -g vfs_read -l vfs_read >/dev/null 2>&1 &
pid=$!
# A new instance has tracing_on 1, too, until brace writes 0.
until ! kill -0 $pid || { [ "$(cat $tracing/instances/brace-$pid-graph/current_tracer)" = function_graph ] &&
	[ "$(cat $tracing/instances/brace-$pid-graph/tracing_on)" = 1 ]; }; do usleep 20000; done 2>/dev/null
kill -9 $pid
wait $pid 2>/dev/null
run 0 graph -K -q -o text -g vfs_read -l vfs_read -- dd if=file of=copy bs=1 count=1
check 'kill -9: the next brace removes what is left' has "^brace: brace-$pid-graph was left by process $pid (tracer function_graph, 0 events): removed$"
check 'kill -9: and traces' has 'vfs_read();' text
check 'kill -9: nothing is left' nothing_left

# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2317,SC2086,SC2012
# The guest's part of the test `kernel`: TAP of brace on a real kernel, the executable of the first argument, and of the program of
# the second (tests/kernel/merged_program.c), and of the kernel's buffers by the third
# (tests/kernel/ring_ways.c); the fourth is tests/vm/lib.sh. It leaves merged.brace and lossy.brace in $OUT. No command has a
# limit of its own here, since the guest's clock may run fast: tests/vm/run has one around everything.
brace=$1
program=$2
ring_ways=$3
# shellcheck disable=SC1090
. "$4"
# begun PID: waits until this brace records, or has ended. A new instance has tracing_on 1 until brace writes 0.
begun() {
	local its=$tracing/instances/brace-$1
	while kill -0 "$1" && { [ "$(cat "$its/current_tracer")" != function_graph ] || [ "$(cat "$its/tracing_on")" != 1 ]; }; do
		usleep 50000
	done 2>/dev/null
}

echo words >file

# --- a program's side of the kernel
run 0 graph -K -l vfs_read -l vfs_write -l ksys_read -- dd if=file of=copy bs=1 count=3
check 'graph -K: the read calls of a program, 3 of them on the file' [ "$(grep -c 'ksys_read() {' out)" -ge 3 ]
check 'graph -K: nested as the kernel nests them' [ "$(holding 'ksys_read() {' '  vfs_read();')" -ge 3 ]
check 'the program has run' [ "$(cat copy)" = wor ]
check 'graph -K: nothing was lost, and it says so' has 'records of the kernel, none lost'
check 'graph -K: nothing is left in tracefs' nothing_left
run 3 graph -K -l vfs_read -- sh -c 'exit 3'
check "graph -K: the program's status" [ $? = 0 ]
run 0 graph -K -g ksys_read --max-graph-depth 2 -l ksys_read -l vfs_read -l rw_verify_area -- dd if=file of=copy bs=1 count=1
check '-g and --max-graph-depth' sh -c 'grep -q "ksys_read() {" out && ! grep -q rw_verify_area out'
check '-g: set_graph_function is as it was' nothing_left

run 125 graph -K --threshold 1500ns -l ksys_read -- true
check '--threshold: no whole microseconds' has 'in whole microseconds'
run 0 graph -K --threshold 1us -l ksys_read -l vfs_read -- dd if=file of=copy bs=1 count=3
check '--threshold: the ends of long calls only' sh -c 'grep -q "} /\* ksys_read \*/" out && ! grep -q "()" out'
check '--threshold: tracing_thresh is as it was' [ "$(cat $tracing/tracing_thresh)" = 0 ]

# --- a process that runs already
sh -c 'while :; do dd if=file of=copy bs=1; done 2>/dev/null' &
pid=$!
for time in 2s 20s 200s; do # on a busy machine the guest does little in a second
	run 0 graph -K -p $pid -e 'sched:sched_process_fork' --duration $time
	! has "sched_process_fork: comm=sh pid=$pid " || break
done
check '-p: a process that runs' has "sched_process_fork: comm=sh pid=$pid "
check '-p: it and its children only' sh -c "! grep 'sched_process_fork:' out | grep -v 'pid=$pid '"
kill $pid
wait $pid 2>/dev/null
run 125 graph -K -p $pid -l vfs_read
check '-p: no such process' has "there is no process $pid"

# --- the same calls as another instance has of the same tasks
mine=$tracing/instances/mine
mkdir $mine
echo 0 >$mine/tracing_on
echo ksys_read >$mine/set_ftrace_filter
echo function-fork >$mine/trace_options
echo function_graph >$mine/current_tracer
run 0 graph -K -q -l ksys_read -- sh -c "echo \$\$ >$mine/set_ftrace_pid; echo 1 >$mine/tracing_on
dd if=file of=copy bs=1 count=5; dd if=file of=copy bs=2 count=2; echo 0 >$mine/tracing_on"
cat $mine/trace >text
check "another instance's records of the same tasks: 7 reads at least" [ "$(grep -c ksys_read text)" -ge 7 ]
check "brace's calls include them" [ "$(grep -c ksys_read out)" -ge "$(grep -c ksys_read text)" ]
check "another's instance is left alone" [ "$(cat $mine/current_tracer)" = function_graph ]
run 125 graph -K -g vfs_read -l vfs_read -- true
check '-g beside another function_graph: refused' has 'mine of .* runs function_graph'
echo nop >$mine/current_tracer
rmdir $mine

# --- the ways of reading the kernel's buffers
for way in mmap splice read; do
	"$ring_ways" test $way 30000 1408 >out 2>&1
	check "$way: 30,000 markers of two CPUs, each once, in order" has "^$way: right, some seen"
	"$ring_ways" test $way 30000 8 >out 2>&1
	check "$way: a small buffer: each is seen once or counted as lost" has "^$way: right, some seen, some lost"
done
run 0 record -K -v -l vfs_read -o t.brace -- cat file
check 'record -K -v: how the buffers are read' has "the kernel's buffers are read by mmap"

# --- losses
run 0 record -K -b 4 -l 'vfs_*' -l ksys_read -l ksys_write -o t.brace -- dd if=/dev/zero of=/dev/null bs=1 count=4000
check 'losses are shown by CPU' has '; lost: .* on CPU [01].* (a larger buffer'
run 0 replay t.brace
check 'losses are in the file' has '^CPU:[01] \[LOST [0-9]* EVENTS\]'
check 'losses: what helps' has '(.* %) were lost: .*; a larger -b loses fewer'

# --- stacks
run 0 graph -K -e sched:sched_process_exec -R stacktrace -- cat file
check 'stacks have the names of functions' has ' => bprm_execve'

# --- events, the file
run 0 record -K -l ksys_read -e sched:sched_process_exec -o t.brace -- sh -c 'dd if=file of=copy; cat file'
check 'record -K' has 'none lost'
run 0 replay t.brace
check 'replay: calls' has 'ksys_read();'
check 'replay: events between them' has '  /\* sched_process_exec: filename=.* \*/'
run 0 replay -l ksys_read --min-duration 1ns t.brace
check 'replay: a part of the file' has 'ksys_read();'
run 0 report t.brace
check 'report: the functions' has 'ksys_read \[kernel\]'
run 0 info t.brace
check 'info: the kernel' has 'module *\[kernel\], [0-9]* functions'
run 0 graph -K -e sched:sched_process_exec -f 'filename ~ "*nothing*"' -- sh -c 'cat file'
check '-f: a filter of the kernel' [ "$(grep -c sched_process_exec: out)" = 0 ]
run 125 graph -K -e sched:sched_switch -f 'prev_pid > 0 && prev_pd > 0' -- true
check "-f: a field that is not there: the kernel's sentence, at its place" sh -c 'grep -q -- "-f: the kernel refuses this filter: Field not found" out && grep -q "^               *^" out'
run 125 graph -K -e sched:sched_switch -R 'stacktrace if prev_pid > 0 && prev_pd > 0' -- true
check "-R: the kernel's sentence, at its place" sh -c 'grep -q -- "-R: the kernel refuses this trigger: Field not found" out && grep -q "^                             *^" out'
run 125 graph -K -e sched:sched_switch -R stacktrac -- true
check '-R: no such trigger: those that the kernel has' has '-R: the kernel has no such trigger; it has traceon traceoff'
run 0 graph -K -e sched:sched_process_exec -- sh -c 'cat file; cat file'
check '-e alone: the lines of the tracer nop' [ "$(grep -c ': sched_process_exec: filename=' out)" -ge 2 ]
run 0 graph -K -e sched:sched_switch --duration 200ms
check 'without a program, for a time' has 'sched_switch: prev_comm='

# --- what the kernel has not
run 125 graph -K -l vfs_raed -- true
check 'an unknown function: the nearest' has 'did you mean vfs_read?'
run 125 graph -K -l default_idle -- true
check 'a function that cannot be traced: why' has 'cannot trace default_idle (cpuidle)'
run 125 graph -K -e sched:nothing -- true
check 'an unknown event' has 'the kernel has no such event'
run 125 graph -K -e sched:sched_swich -- true
check 'an unknown event: the nearest' has 'did you mean sched:sched_switch?'
run 125 graph -K -e user_events:none -- true
check 'events of a system that is not built: the option' has 'built without CONFIG_USER_EVENTS'
run 125 graph -K -L libc -- true
check '-L' has 'the kernel has no libraries'
run 125 graph -K --retval -l vfs_read -- true
check '--retval: which kernels have it, and what has it here' sh -c '[ "$(grep -c . out)" = 1 ] && grep -q -- "^brace: --retval: .*CONFIG_FUNCTION_GRAPH_RETVAL.* a probe has them: -e " out'
run 125 graph -K -O funcgraph-args -l vfs_read -- true
check '-O funcgraph-args: the same, with the word' sh -c 'grep -q -- "^brace: -O: .*Linux 6.15 .* a probe has them: -e " out && grep -q "^  funcgraph-args" out'
run 125 graph -K -t osnoise -- true
check '-t osnoise: the option that has it, and what there is' has 'CONFIG_OSNOISE_TRACER.* brace records the kernel with function_graph'
run 125 record -k -l one_read -t k:irqsoff -- $program 1
check '-t k:irqsoff: the same, with the word' sh -c 'grep -q CONFIG_IRQSOFF_TRACER out && grep -q "^  irqsoff" out'
run 125 graph -K --mode block -- true
check '--mode block' has 'does not wait for the reader'
run 127 graph -K -l vfs_read -- /nonexistent
check 'a program that is not there' has 'cannot run /nonexistent'
check 'nothing is left after errors' nothing_left
run 0 list -k 'vfs_rea*'
check 'list -k' has '^vfs_read$'
run 0 list -k --why default_idle vfs_read
check 'list -k --why' has '^default_idle (not traceable: cpuidle, '
run 125 list -k vfs_raed vfs_read default_idle
check 'list -k: each name that is missing gets its sentence' sh -c 'grep -q "^vfs_read$" out && grep -q "no function vfs_raed .*did you mean vfs_read?" out && grep -q "cannot trace default_idle (cpuidle)" out'
run 125 list -k vfs_read:mod:nothing ':mod:nothing' vfs_write
check 'list -k: functions of a module that is not there' [ "$(grep -c 'no such function in this module' out) $(grep -v '^brace\|^  ' out)" = '2 vfs_write' ]

# --- what a brace that died leaves
mkdir $tracing/instances/brace-x $tracing/instances/other
"$brace" graph -K -l vfs_read >/dev/null 2>&1 &
pid=$!
begun $pid
run 0 reset -k
check "reset -k: a living brace's instance stays" sh -c "grep -q 'brace-$pid belongs to process $pid, which runs' out && [ -d $tracing/instances/brace-$pid ]"
kill -9 $pid
wait $pid 2>/dev/null
run 0 reset -k
check "reset -k: a dead one's goes" sh -c "grep -q 'brace-$pid was left by process $pid (tracer function_graph, 0 events): removed' out && [ ! -e $tracing/instances/brace-$pid ]"
check "reset -k: others' instances stay" [ "$(ls $tracing/instances | tr '\n' ' ')" = 'brace-x other ' ]
run 0 reset -k
check 'reset -k: nothing to do' has "no instance of brace's"
rmdir $tracing/instances/brace-x $tracing/instances/other
"$brace" graph -K -l vfs_read >out 2>&1 &
pid=$!
begun $pid
kill -INT $pid 2>/dev/null
kill -TERM $pid
wait $pid
check 'a signal ends it, and undoes all' nothing_left

# --- a program and the kernel on one timeline
its='-l one_read -l one_sleep -l one_fault'
kernels='-l k:__x64_sys_read -l k:vfs_read -l k:__x64_sys_clock_nanosleep -l k:schedule -l k:handle_mm_fault'
run 0 graph -k -o graph $its $kernels -- $program 3
check 'graph -k: three calls, each with its system call in it' [ "$(holding '  one_read() {' '|    __x64_sys_read() {' graph)" = 3 ]
check 'graph -k: the kernel lost nothing, and it says so' has 'records of the kernel, none lost'
check 'graph -k: nothing is left in tracefs' nothing_left
run 0 graph -k -o graph $its $kernels --kernel-only -- $program 3
check 'graph --kernel-only' sh -c 'grep -q "__x64_sys_read() {" graph && ! grep -q one_read graph'
run 0 graph -k -o graph $its $kernels --user-only -- $program 3
check 'graph --user-only' sh -c 'grep -q one_read graph && ! grep -q __x64_sys_read graph'
run 0 graph -k -o graph --mode overwrite $its $kernels -- $program 3
check 'graph -k, mode overwrite: the same, at the end' [ "$(holding '  one_read() {' '|    __x64_sys_read() {' graph)" = 3 ]
run 0 record -k -b k:32M -o $OUT/merged.brace $its $kernels -- $program 100000
check 'record -k: 100,000 calls, none lost' sh -c 'grep -q "records of the kernel, none lost" out && grep -q "no records lost" out'
run 0 record -k -b k:4 -o $OUT/lossy.brace $its $kernels -- $program 5000
check 'record -k: losses are shown by CPU, with what helps' has '; lost: .* on CPU [01].* (a larger buffer, -b k:SIZE, loses less)'
run 0 record -k -o t.brace $its $kernels -- $program 20
run 0 replay t.brace
check 'replay: the sleep holds schedule, and that the switch' [ "$(holding 'one_sleep() {' '  schedule() {')" = 1 -a "$(holding '  schedule() {' '/* sched_switch: prev_comm=merged_program ')" -ge 1 ]
check 'replay: the page fault lies in the function that took it' [ "$(holding 'one_fault() {' '  handle_mm_fault()')" = 1 ]
run 0 replay --user-only t.brace
check 'replay --user-only' sh -c 'grep -q "one_read();" out && ! grep -q "vfs_read\|sched_switch" out'
run 0 replay --kernel-only t.brace
check 'replay --kernel-only' sh -c 'grep -q "  vfs_read();" out && ! grep -q one_read out'
run 0 report t.brace
check 'report: columns for the kernel, and the program alone' sh -c 'grep -q "KERNEL *BLOCKED  FUNCTION" out && ! grep -q "\[kernel\]" out'
run 0 report -s blocked t.brace
check 'report -s blocked: the sleeper first' sh -c 'grep -A 1 "KERNEL *BLOCKED" out | grep -q one_sleep'
run 0 report --json t.brace
check 'report: the sleep was blocked for its 20 ms' sh -c '[ "$(sed -n "s/.*one_sleep.*\"blocked_ns\":\([0-9]*\).*/\1/p" out)" -ge 15000000 ]'
check 'report: the reads were in the kernel, and not blocked' sh -c '[ "$(sed -n "s/.*one_read.*\"kernel_ns\":\([0-9]*\).*/\1/p" out)" -gt 0 ]'
run 0 report -k t.brace
check "report -k: the kernel's own functions" sh -c 'grep -q "vfs_read \[kernel\]" out && ! grep -q one_read out'
run 0 info t.brace
check 'info: both sources' has '^sources *program, kernel$'
run 0 export --to folded -o folded t.brace
check 'export: the reads are below the call that made them' sh -c "! grep -q 'does not show' out && grep -q 'one_read;.*vfs_read_.k. ' folded"
run 0 export --to ctf -o ctf t.brace
check 'export --to ctf: the program alone, and it says so' sh -c "grep -q \"ctf does not show the kernel's part\" out"
run 0 export --to chrome -o $OUT/chrome.json t.brace
check "export --to chrome: the kernel's part, as a process of its own" sh -c "! grep -q 'does not show' out && grep -q '\"pid\":0,.*\"name\":\"vfs_read\"' $OUT/chrome.json"
run 0 export --to perfetto -o perfetto t.brace
check "export --to perfetto: the kernel's part" sh -c 'grep -q vfs_read perfetto && grep -q "\[kernel\]" perfetto'
run 0 html -o page.html t.brace
check "html: the kernel's part is in the page" sh -c "! grep -q 'does not show' out && grep -q '\"pid\":0,\"tid\"' page.html"
run 0 export --to sqlite -o t.sqlite t.brace
check "export --to sqlite: the kernel's part, too" sh -c "! grep -q 'does not show' out && grep -q vfs_read t.sqlite && grep -q one_read t.sqlite"
run 0 query t.brace "SELECT count(*), max(name) FROM process WHERE pid = 0; SELECT count(*) > 1 FROM thread JOIN process USING (upid) WHERE pid = 0"
check 'query: the tasks of the kernel are one process' sh -c 'grep -q "^ *1 .*\[kernel\]" out && grep -q "^ *1 *$" out'
run 0 record -k -q -o t.brace -l one_read -l k:__sysvec_apic_timer_interrupt -l k:__common_interrupt -l k:vfs_read -- $program 15000
run 0 replay t.brace
check 'replay: interrupts have arrows' sh -c 'grep -A 1 " ==========> |" out | grep -qE "__(sysvec_apic_timer|common)_interrupt\(\)" && grep -q " <========== |" out'
run 0 replay -O nofuncgraph-irqs t.brace
check 'replay -O nofuncgraph-irqs: none' sh -c 'grep -q vfs_read out && ! grep -q "==========\|__sysvec" out'
run 0 record -k -q -o t.brace -l one_read -e k:sched:sched_process_exit -- $program 5
run 0 replay t.brace
check '-e k: alone: events, no functions' sh -c 'grep -q "sched_process_exit: comm=merged_program" out && ! grep -q sys_read out'
# A work item that the program queues, and the timer's interrupt that ends its sleep.
# A worker that comes late is not seen.
for _ in 1 2 3 4 5; do
	run 0 record -k --elsewhere -o t.brace -l one_sleep -e k:sched:sched_process_exit -- $program work
	"$brace" report -k --no-pager t.brace 2>&1 | grep -q fsnotify_connector_destroy_workfn && break
done
check 'record -k --elsewhere: nothing is left in tracefs' nothing_left
run 0 report -k t.brace
check 'report -k: the work item that the program queued' has ' fsnotify_connector_destroy_workfn \[kernel\]'
check 'report -k: the interrupt that woke the program' has 'apic_timer_interrupt \[kernel\]'
run 0 export --to chrome -o chrome.json t.brace
check 'export --to chrome: interrupts have tracks of their own' sh -c 'grep -q "interrupts/[01]" chrome.json && grep -q "\"name\":\"fsnotify_connector_destroy_workfn\"" chrome.json'
run 0 replay t.brace
check 'replay: who did it' sh -c 'grep -q "  fsnotify_connector_destroy_workfn()" out && grep -q "workqueue_queue_work: .*function=fsnotify_connector_destroy_workfn " out'
run 125 record --elsewhere -- true
check '--elsewhere without -k: one sentence' has 'elsewhere is for -k'
$program steps &
pid=$!
for time in 200ms 2s 20s; do
	run 0 graph -k -o graph -p $pid --duration $time $its $kernels
	! has '|    __x64_sys_read() {' graph || break
done
kill -9 $pid
wait $pid 2>/dev/null
check '-p: the calls of a process that runs already' [ "$(grep -c '|    __x64_sys_read() {' graph)" -ge 1 ]

# --- -k with what is not there, and with others
run 125 record -k -l 'k:vfs_raed' -- $program 1
check '-k, an unknown function of the kernel' has '-l: .*did you mean vfs_read?'
run 125 record -l 'k:vfs_read' -- $program 1
check 'k: without -k' has 'is for the kernel, and -k is not given'
run 125 record -k -K -- $program 1
check '-k and -K' has 'give one of them'
run 127 record -k -l k:vfs_read -- /nonexistent
check '-k: a program that is not there' nothing_left
mkdir $tracing/instances/mine
echo vfs_write >$tracing/instances/mine/set_ftrace_filter
echo function_graph >$tracing/instances/mine/current_tracer
for moment in 1 2 3; do
	"$brace" record -k -q $its $kernels -- $program 20000 >out 2>&1 &
	pid=$!
	case $moment in
	1) until [ -d $tracing/instances/brace-$pid ]; do kill -0 $pid || break; done ;;
	2) until ! kill -0 $pid || [ "$(cat $tracing/instances/brace-$pid/set_ftrace_pid)" -gt 0 ]; do usleep 1000; done 2>/dev/null ;;
	3) until ! kill -0 $pid || grep -hq '^\(entries\|read events\): [1-9]' $tracing/instances/brace-$pid/per_cpu/cpu*/stats; do usleep 20000; done 2>/dev/null ;;
	esac
	kill -9 $pid
	wait $pid 2>/dev/null
	killed=$?
	run 0 reset -k
	check "kill -9, moment $moment: reset -k leaves all as before" [ "$killed $(ls $tracing/instances) $(cat $tracing/instances/mine/current_tracer) \
$(cat $tracing/instances/mine/set_ftrace_filter)" = '137 mine function_graph vfs_write' ]
done
echo nop >$tracing/instances/mine/current_tracer
rmdir $tracing/instances/mine

# --- an ordinary user
echo 3 >/proc/sys/kernel/perf_event_paranoid
setuidgid_nobody graph -K -- true >out 2>&1
check 'an ordinary user: one sentence, with the rule in the way of switches' sh -c '[ "$(grep -c . out)" = 1 ] &&
grep -q "only root may trace the kernel.*kernel.perf_event_paranoid is 3: " out'
setuidgid_nobody record -e sched:sched_switch -o /tmp/user.brace -- "$program" 20 >out 2>&1
check 'perf_event_paranoid 3: no switches, and the rule' has 'kernel.perf_event_paranoid is 3: .* need 2 or less'
echo 2 >/proc/sys/kernel/perf_event_paranoid
setuidgid_nobody graph -K -- true >out 2>&1
check 'an ordinary user, perf_event_paranoid 2: what can be had' has "only root may trace the kernel.* -e sched:sched_switch .* are this user's"
setuidgid_nobody record -l one_sleep -e sched:sched_switch -o /tmp/user.brace -- "$program" 20 >out 2>&1
run 0 replay /tmp/user.brace
check 'perf_event_paranoid 2: the switch of the sleep is had' [ "$(holding 'one_sleep() {' 'sched_switch: prev_comm=merged_program')" = 1 ]
mount -o remount,mode=755 $tracing
setuidgid_nobody graph -K -- true >out 2>&1
check 'an ordinary user, a tracefs that all may read: one sentence' sh -c '[ "$(grep -c . out)" = 1 ] && grep -q "only root may" out'
mount -o remount,mode=700 $tracing
# The other scripts that share this boot.
# shellcheck disable=SC1090
shift 4
for more in "$@"; do . "$more"; done

setuidgid_nobody record -k -- "$program" 1 >out 2>&1
check 'an ordinary user, -k: one sentence' has 'only root may trace the kernel'
umount $tracing
run 125 record -k -- $program 1
check '-k without tracefs: a sentence, or it is mounted' [ "$(wc -l <out)" -le 4 ]
echo "$n" >$OUT/cases
exit $failed

# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2154,SC2086
# The guest's part of the test `kernel-trace-cmd`: brace and trace-cmd record one run of a program by the same settings. What they
# made, and the kernel's own text of brace's buffer, comes to $OUT; the host compares (tests/kernel/same_records.py). The
# arguments: brace, tests/vm/lib.sh.
PATH=$PATH:/usr/bin
brace=$1
# shellcheck disable=SC1090
. "$2"

# Puts the kernel's main instance back, which trace-cmd uses. trace-cmd's own end (without -k) empties the filter before it stops
# the tracer, so that the kernel patches all of its functions twice: 30 s here.
undo() {
	echo nop >$tracing/current_tracer
	for file in set_ftrace_filter set_graph_function set_event set_event_pid set_ftrace_pid; do echo >$tracing/$file; done
	echo 0 >$tracing/max_graph_depth
	echo '!stacktrace' >$tracing/events/sched/sched_process_exec/trigger
	rm -f go
	gzip $OUT/*.dat
}

# waiting PROGRAM...: a process $pid that sleeps, and executes it when somebody writes to `go`
waiting() {
	mkfifo go
	sh -c 'read -r go <go; exec "$@"' sh "$@" &
	pid=$!
	until grep -q wait_for_partner /proc/$pid/wchan; do usleep 10000; done
}

# recording: brace, the process $ours, records. A new instance has tracing_on 1 until brace writes 0.
recording() {
	local its=$tracing/instances/brace-$ours
	until [ -n "$(cat $its/set_event)" ] && [ "$(cat $its/tracing_on)" = 1 ]; do
		kill -0 $ours || return
		usleep 20000
	done 2>/dev/null
}

# both NAME TRACER OPTIONS PROGRAM...: two recordings of one run, NAME.brace and NAME.dat. `-p` of trace-cmd is brace's `-t`; no
# TRACER: events alone.
both() {
	local name=$1 tracer=$2 options=$3 theirs
	shift 3
	waiting "$@"
	"$brace" record -K -b 4M -p $pid ${tracer:+-t $tracer} $options -o "$OUT/$name.brace" >"$OUT/$name.said" 2>&1 &
	ours=$!
	recording
	echo 0 >$tracing/tracing_on
	trace-cmd record -k -b 4096 -C x86-tsc -c -P $pid ${tracer:+-p $tracer} $options -o "$OUT/$name.dat" >out 2>&1 &
	theirs=$!
	until ! kill -0 $theirs || { grep -q $pid $tracing/set_event_pid && [ "$(cat $tracing/tracing_on)" = 1 ]; }; do
		usleep 50000
	done 2>/dev/null
	echo >go
	wait $pid
	# trace-cmd ends with $pid by itself, or does not. It reads /proc/kallsyms twice and wants the same size: brace, whose tracer has
	# a line there, ends after it.
	kill -INT $theirs 2>/dev/null
	wait $theirs || { echo "trace-cmd of $name: status $?"; cat out; }
	kill -TERM $ours
	wait $ours
	undo
}

# The same program twice, first by trace-cmd: set_graph_function is one file for all of the kernel, and brace leaves it to another.
in_turn() {
	local name=$1 options=$2
	shift 2
	trace-cmd record -k -b 4096 -C x86-tsc -p function_graph $options -o "$OUT/$name.dat" -F "$@" >out 2>&1 || cat out
	undo
	"$brace" record -K -b 4M $options -o "$OUT/$name.brace" -- "$@" >"$OUT/$name.said" 2>&1
}

# text NAME OPTIONS PROGRAM...: brace's text, NAME.graph, and the kernel's, NAME.trace, of the same records: brace stands still
# until the kernel has printed its buffer, which takes nothing out of it.
text() {
	local name=$1 options=$2
	shift 2
	waiting "$@"
	"$brace" graph -K -b 4M -p $pid $options -o "$OUT/$name.graph" >"$OUT/$name.said" 2>&1 &
	ours=$!
	recording
	kill -STOP $ours
	echo >go
	wait $pid
	echo 0 >$tracing/instances/brace-$ours/tracing_on
	cat $tracing/instances/brace-$ours/trace >"$OUT/$name.trace"
	kill -CONT $ours
	kill -TERM $ours
	wait $ours
	rm -f go
}

calls='-l ksys_write -l vfs_write -l ksys_read -l vfs_read'
events='-e sched:sched_process_exec -e sched:sched_switch'
both graph function_graph "$calls $events" /bin/dd if=/dev/zero of=copy bs=1 count=50
both function function "-l vfs_* $events -e sched:sched_process_fork" sh -c 'cat /etc/passwd | cat >copy; cat copy'
both events '' '-e sched:sched_process_exec -R stacktrace -e sched:sched_switch -f prev_pid>0&&next_pid>0 -e sched:sched_process_fork -e sched:sched_process_exit' \
	sh -c '/bin/true; /bin/true; /bin/true; /bin/true; usleep 1000'
in_turn depth '-l ksys_write -l vfs_write -l rw_verify_area -l ksys_read -l vfs_read -g ksys_write --max-graph-depth 2 -e sched:sched_process_exec' \
	/bin/dd if=/dev/zero of=copy bs=1 count=50
text text "$calls -l schedule $events" /bin/dd if=/dev/zero of=copy bs=1 count=50
nothing_left || echo 'something is left in tracefs'

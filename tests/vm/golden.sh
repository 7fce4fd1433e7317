# SPDX-License-Identifier: MIT
# shellcheck shell=dash
# Makes the files of tests/kernel/golden, under tests/vm/run --out: pages of the kernel's ring buffer, the text that the
# kernel prints of them, and all that explains them. The symbols are those of functions in the text, each with the one
# that follows it.
set -u
cd /sys/kernel/tracing && mkdir instances/golden && cd instances/golden || exit 1
echo x86-tsc >trace_clock
echo 0 >tracing_on
for f in vfs_read vfs_write vfs_open ksys_read ksys_write do_sys_openat2 schedule irq_exit_rcu; do echo $f >>set_ftrace_filter; done
echo function_graph >current_tracer
echo 1 >events/sched/sched_switch/enable
echo 1 >events/sched/sched_process_exec/enable
echo 1 >tracing_on
sh -c 'cat /etc/passwd >/dev/null; sleep 0.2; echo "a marker" >trace_marker; cat /proc/self/stat >/dev/null'
echo 0 >tracing_on
cat trace >"$OUT/trace"
echo nofuncgraph-irqs >trace_options
cat trace >"$OUT/trace.noirqs"
for o in funcgraph-irqs funcgraph-proc funcgraph-tail funcgraph-abstime; do echo $o >trace_options; done
cat trace >"$OUT/trace.proc"
cat ../../saved_cmdlines >"$OUT/saved_cmdlines"
for e in ftrace/funcgraph_entry ftrace/funcgraph_exit ftrace/print sched/sched_switch sched/sched_process_exec; do
	mkdir -p "$OUT/${e%/*}"
	cat ../../events/$e/format >"$OUT/$e"
done
# Reading blocks at the end.
for c in 0 1; do timeout 3 cat per_cpu/cpu$c/trace_pipe_raw >"$OUT/raw$c"; done
sort /proc/kallsyms | grep ' [tTwW] ' | grep -v ' __pfx_' |
	grep -A 1 -E " ($(grep -oE '[A-Za-z_0-9]+\(\)|/\* [a-z_0-9]+ \*/' "$OUT/trace.proc" | tr -dc 'A-Za-z_0-9\n' | sort -u | tr '\n' '|')__irqentry_text_(start|end))$" |
	grep -v '^--' >"$OUT/kallsyms"
exit 0

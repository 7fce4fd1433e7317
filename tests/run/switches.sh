#!/bin/bash
# sched:sched_switch: for each thread as many switches, of its own accord and preempted, as the
# kernel itself counted between two moments. Launched and attached, threads and children, with
# filters; and where the kernel does not allow it.
. "$(dirname "$0")/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
need "$PYTHON"
switches=$FIXTURES/switches

cat >"$T/compare.py" <<'PY'
import collections, re, sys
truth, on, got, named, early, bad = {}, {}, {}, set(), 0, []
for line in open(sys.argv[1]):
    tid, *counts = line.split()
    if tid.isdigit():
        truth.setdefault(tid, []).append([int(c) for c in counts])
turn = collections.defaultdict(str)
for line in open(sys.argv[2]):
    m = re.match(r" *(.*)-(\d+) +\[(\d+)\] \S+ +[\d.]+: (\w+): (.*)$", line)
    if not m:
        continue
    _, tid, cpu, name, text = m.groups()
    if name == "task_rename" and " newcomm=begins " in text:
        on[tid] = [0, 0]
        named.discard(tid)
    elif name == "task_rename" and " newcomm=ends " in text:
        got.setdefault(tid, []).append(on.pop(tid))
    elif name == "sched_switch":
        out = f"prev_pid={tid} " in text
        if turn[tid] == out:
            bad.append("twice: " + text)
        turn[tid] = out
        if not out or tid not in on:
            continue
        # The thread tells of its new name before the kernel knows it, and may stop meanwhile; once
        # only the new one is right.
        if "prev_comm=begins " in text:
            named.add(tid)
            on[tid]["prev_state=R+" in text] += 1
        elif tid in named:
            bad.append("an old name: " + text)
        else:
            early += 1
for tid, runs in truth.items():
    for want, have in zip(runs, got.get(tid, [])):
        # It may be stopped between being named and counting.
        if not want[0] <= have[0] <= want[0] + 2 or not want[1] <= have[1] <= want[1] + 20:
            bad.append(f"{tid}: the kernel counted {want}, the trace has {have}")
    if len(runs) != len(got.get(tid, [])):
        bad.append(f"{tid}: not in the trace")
if len(truth) != 14:
    bad.append("14 threads were to be seen")
print(len(truth), "threads", sum(r[0] for t in truth.values() for r in t), "waits", early, "before the kernel knew the name")
print("\n".join(bad[:10]))
sys.exit(bool(bad))
PY

lines() { "$BRACE" replay --no-pager "$T/t.brace" 2>>"$T/err" | grep -v '^#' >"$T/lines"; }
record() { # ARGUMENTS...
	timeout -k 5 "$LIMIT" "$BRACE" record -o "$T/t.brace" "$@" >"$T/out" 2>"$T/err" </dev/null
	lines
}

if ! "$BRACE" list --events | grep -q '^sched:sched_switch$'; then
	"$BRACE" record -o "$T/t.brace" -e sched:sched_switch -- true 2>"$T/err"
	printf '1..0 # SKIP %s\n' "$(head -1 "$T/err")"
	exit 0
fi
# The kernel waits for nobody: where brace gets no turn for long, records are lost, which is told.
for round in {1..10}; do
	record -e sched:sched_switch -e task:task_rename -- "$switches"
	! grep -q 'no records lost' "$T/err" || break
done
[ "$round" -eq 1 ] || printf '# round %s\n' "$round"
check "as the kernel counts, in threads and a child" "$PYTHON" "$T/compare.py" "$T/out" "$T/lines"
grep -q 'no records lost' "$T/err"
result "none lost" $? "$T/err"
# The tracer stands while there are as many records as 256 KiB have room for, and more. An ordinary
# user's other rings may have taken what he may lock.
cat >"$T/stands.py" <<'PY'
import os, signal, time
os.kill(os.getppid(), signal.SIGSTOP)
for i in range(5000): time.sleep(0.000001)
os.kill(os.getppid(), signal.SIGCONT)
PY
if [ "$(id -u)" -eq 0 ]; then
	record -e sched:sched_switch -- "$PYTHON" -S "$T/stands.py"
	[ "$(wc -l <"$T/lines")" -ge 9000 ] && grep -q 'no records lost' "$T/err"
	result "none lost while the tracer gets no turn" $? "$T/err"
fi
record -e sched:sched_switch -f 'prev_comm == "begins" && prev_state == 0x100' -- "$switches"
check_that "a filter on fields" [ "$(grep -c 'prev_comm=begins .* prev_state=R+ ' "$T/lines")" -gt 100 -a \
	"$(grep -vc 'prev_comm=begins .* prev_state=R+ ' "$T/lines")" = 0 ]
record -e sched:sched_switch -t function_graph -l measured -- "$switches"
check_that "beside functions" [ "$(grep -c '/\* sched_switch: ' "$T/lines")" -gt 1000 ]
check_that "a thread is not switched to itself" [ "$(awk '$3 == "=>" && $2 == $4' "$T/lines" | wc -l)" = 0 ]
record -e sched:sched_switch -t function_graph -l outer -l both -l sleeps -- "$FIXTURES/sleeps"
check_that "within the calls that were open" [ "$(grep -c '|        /\* sched_switch: prev_comm=sleeps ' "$T/lines")" -ge 48 ]

# --- a process that runs, in the tree
mkfifo "$T/go"
: >"$T/out" # before the shell of the next line empties it
"$switches" later <"$T/go" >"$T/out" &
PID=$!
exec {GO}>"$T/go"
until grep -q ready "$T/out"; do :; done
D=$T/tree
mkdir "$D"
if "$BRACE" mount "$D" -p "$PID" 2>"$T/err"; then
	ON_EXIT+=("$BRACE umount --lazy $D")
	echo 1 >"$D/events/sched/sched_switch/enable"
	echo 1 >"$D/events/task/task_rename/enable"
	echo >&"$GO"
	wait "$PID"
	cat "$D/trace" >"$T/lines"
	check "a process that runs already, and what it makes" "$PYTHON" "$T/compare.py" "$T/out" "$T/lines"
	check "umount" "$BRACE" umount "$D"
else
	grep -qE '/dev/fuse|cannot mount on|ptrace' "$T/err" && skip "in the tree" "$(cut -d' ' -f2- "$T/err")" || { not_ok mount; diag "$T/err"; }
	echo >&"$GO"
	wait "$PID"
fi

# --- signals
cat >"$T/signals.py" <<'PY'
import os, signal, threading
handled = {signal.SIGUSR1: 0, signal.SIGRTMIN: 0}
def handler(number, frame):
    handled[number] += 1
for number in handled:
    signal.signal(number, handler)
def each():
    for i in range(100):
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGRTMIN)
each()
pid = os.fork()
if pid == 0:
    handled = dict.fromkeys(handled, 0)
    each()
    print(*handled.values(), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
pid = os.fork()
if pid == 0:
    signal.pause()
    os._exit(1)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
print(*handled.values())
PY
if [ "$(id -u)" -eq 0 ] && "$BRACE" list --events | grep -q '^signal:signal_deliver$'; then
	record -e signal:signal_deliver -- "$PYTHON" "$T/signals.py"
	check_that "every signal that was handled" [ "$(grep -c 'signal_deliver: sig=10 errno=0 code=-6 sa_handler=' "$T/lines") $(
		grep -c 'signal_deliver: sig=34 errno=0 code=0 sa_handler=' "$T/lines")" = "$(awk '{ a += $1; b += $2 } END { print a, b }' "$T/out")" ]
	check_that "in two processes, 100 each" [ "$(tr '\n' ' ' <"$T/out")" = '100 100 100 100 ' ]
	check_that "and the one that ended a process" [ "$(grep -c 'signal_deliver: sig=9 .* sa_handler=0 sa_flags=0$' "$T/lines")" = 1 ]
	record -e signal:signal_deliver -f 'sig == 10' -- "$PYTHON" "$T/signals.py"
	check_that "with a filter" [ "$(wc -l <"$T/lines")" = 200 ]
	record -e signal:signal_deliver -e sched:sched_switch -- "$PYTHON" "$T/signals.py"
	check_that "beside switches" [ "$(grep -c 'signal_deliver: sig=10' "$T/lines")" = 200 -a "$(grep -c sched_switch: "$T/lines")" -gt 4 ]
else
	skip "signals" "the kernel tells of them to root only"
fi

# --- not allowed
"$FIXTURES/filtered" no-perf "$BRACE" record -o "$T/t.brace" -e sched:sched_switch -- true >"$T/out" 2>"$T/err"
[ $? -ne 0 ] && grep -q 'perf_event_open.* forbidden here: by a seccomp filter' "$T/err"
result "where it is forbidden, the rule is named" $? "$T/err"
"$FIXTURES/filtered" no-perf "$BRACE" record -o "$T/t.brace" -e 'sched:*' -- true >"$T/out" 2>"$T/err"
result "and other events are had" $? "$T/err"
"$FIXTURES/filtered" no-perf "$BRACE" record -o "$T/t.brace" -e signal:signal_deliver -- "$PYTHON" "$T/signals.py" >"$T/out" 2>"$T/err"
lines
check_that "and signals, told by the handlers" [ "$(grep -c 'signal_deliver: sig=\(10\|34\) ' "$T/lines")" = 400 ]
finish

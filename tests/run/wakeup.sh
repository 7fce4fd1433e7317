#!/bin/bash
# brace wakeup: who wakes whom, against the program's own account: its threads know their partners, and getrusage() tells how often each
# has waited. Semaphores, condition variables, pipes, epoll, poll, signals, ends of threads and children; the same from a file; by
# functions; what is wrong is said.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || { printf '1..0 # SKIP perf tells no switches here\n'; exit 0; }
PROGRAM=("$FIXTURES/waking" 60)

cat >"$T/compare.py" <<'P'
import collections, json, sys
said = dict(line.split() for line in open(sys.argv[1]))
rows = [json.loads(line) for line in open(sys.argv[2])]
assert rows[0]["schema"] == "brace-wakeup" and rows[0]["lost"] == 0, rows[0]
ways = {"semaphore": "futex", "condition": "condition variable", "pipe": "pipe", "event": "epoll", "socket": "poll", "signal": "signal"}
woken = collections.Counter()
main = set()
for r in rows[1:]:
    if "count" not in r: continue
    waker, wakee = r["waker"]["comm"], r["wakee"]["comm"]
    assert r["p50_ns"] <= r["p99_ns"] <= r["max_ns"] and r["mean_ns"] <= r["max_ns"], r
    if wakee == "waking":
        main.add(r["way"])
        continue
    side, way = wakee.split(".")
    # A condition's mutex is a futex of the two, too; so is libc's lock of a thread that is signalled.
    assert waker == ("wk." if side == "wt" else "wt.") + way, r
    assert r["way"] in ("futex", ways[way]) and (way in ("condition", "signal") or side == "wk" or r["way"] == ways[way]), r
    woken[wakee] += r["count"]
assert main and main <= {"thread's end", "child's end"} and "child's end" in main, main
# A thread whose partner was always first has not waited, and no row.
assert len(said) == 12 and set(woken) <= set(said) and len(woken) >= 6, (woken, said)
unseen = rows[0]["timers"] + rows[0]["unseen"]
for name, waits in said.items():
    # A thread may wait outside of system calls, and at its end after it has said so.
    print(name, woken[name], waits)
    assert woken[name] <= int(waits) + 2 and woken[name] + unseen + 3 >= int(waits), name
assert sum(woken.values()) == rows[0]["count"] - sum(r["count"] for r in rows[1:] if r.get("wakee", {}).get("comm") == "waking" and "count" in r)
longest = rows[-1]
assert longest["longest_ns"] == max(r["max_ns"] for r in rows[1:-1]), longest
P
compare() { # NAME SAID ROWS
	/usr/bin/python3 "$T/compare.py" "$2" "$3" >"$T/compared" 2>&1
	result "$1" $? "$T/compared"
}

run_in "$T/live" "$BRACE" wakeup --by waker --json -b 4M -o "$T/rows" -- "${PROGRAM[@]}"
[ "$(cat "$T/live.status")" = 7 ] && [ ! -s "$T/live.err" ]
result "the program's status, and no word" $? "$T/live.err"
compare "wakers, ways and counts are the program's own" "$T/live.out" "$T/rows"

# --- from a file
record -e 'raw_syscalls:*' -e sched:sched_switch -e syscalls:sys_exit_socketpair -e syscalls:sys_enter_poll \
	-e 'syscalls:sys_exit_pipe*' --syscall-bytes 165 -e 'p:pthread_cond_wait libc.so.6:pthread_cond_wait arg1=$arg1' -b 4M -- "${PROGRAM[@]}"
"$BRACE" wakeup --by waker --json "$T/trace" >"$T/rows" 2>"$T/err"
result "a trace file" $? "$T/err"
compare "as the program says, from a file" "$T/traced.out" "$T/rows"
"$BRACE" wakeup --json "$T/trace" >"$T/threads" 2>"$T/err" && "$BRACE" wakeup --by way --json "$T/trace" >"$T/ways" 2>"$T/err"
/usr/bin/python3 -c 'import json, sys
by = [[json.loads(l) for l in open(f)] for f in sys.argv[1:]]
counts = [sum(r["count"] for r in rows[1:-1]) for rows in by]
assert counts == [rows[0]["count"] for rows in by] and len(set(counts)) == 1, counts
assert {r["way"] for r in by[2][1:-1]} >= {"futex", "condition variable", "pipe", "epoll", "poll", "signal"}, by[2]
assert len(by[0]) >= len(by[1]) > len(by[2])' "$T/rows" "$T/threads" "$T/ways" 2>"$T/err"
result "rows by thread and by way have the same waits" $? "$T/err"
"$BRACE" wakeup --by way -s name --limit 2 "$T/trace" >"$T/table" 2>"$T/err"
[ "$(sed -n 2,3p "$T/table" | awk '{ print $NF }' | sort -c && wc -l <"$T/table")" = 8 ] && grep -q '^The longest (' "$T/table"
result "sorted by name, two rows, the sum and the longest" $? "$T/table"

# --- functions
"$BRACE" wakeup --by function --json -l 'wa[ik]*_*' -b 4M -o "$T/rows" -- "${PROGRAM[@]}" >"$T/said" 2>"$T/err"
/usr/bin/python3 -c 'import json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
pairs = {(r["waker_function"], r["wakee_function"]): r["count"] for r in rows[1:-1]}
for way in "semaphore", "pipe", "event", "socket", "signal":
    assert pairs.get(("wake_" + way, "wait_" + way), 0) > 0, (way, pairs)
for wake, wait in pairs:
    assert wake is None or wait is None or wake[5:] == wait[5:], pairs
assert "waker_functions" in rows[-1] and "wakee_functions" in rows[-1]' "$T/rows" 2>"$T/err"
result "which function wakes which" $? "$T/err"

# --- a process that runs: the waits of its threads, though how they began is not seen
mkfifo "$T/go" "$T/ready"
/usr/bin/python3 -c 'import os, sys, threading
ready, go = threading.Semaphore(0), threading.Semaphore(0)
def wait():
    for i in range(50): go.acquire(); ready.release()
t = threading.Thread(target=wait); t.start()
open(sys.argv[1], "w").write("x")
open(sys.argv[2]).read()
for i in range(50): go.release(); ready.acquire()
t.join()' "$T/ready" "$T/go" &
pid=$!
ON_EXIT+=("kill $pid")
read -r _ <"$T/ready"
"$BRACE" wakeup --json -o "$T/rows" -p $pid 2>"$T/err" &
brace=$!
is_attached() { grep -q brace-code "/proc/$pid/maps" && grep -qE '^TracerPid:.0$' "/proc/$pid/status"; }
until_is is_attached || echo "never attached" >>"$T/err"
echo >"$T/go"
wait $brace
/usr/bin/python3 -c 'import json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
assert sum(r["count"] for r in rows[1:] if r.get("way") == "futex" and "count" in r) >= 50, rows' "$T/rows" 2>>"$T/err"
result "an attached process" $? "$T/err"

# --- what is wrong
says() { # NAME WORDS COMMAND...
	local name=$1 words=$2
	shift 2
	"$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 125 ] && grep -q "$words" "$T/err" && [ ! -s "$T/out" ]
	result "$name" $? "$T/err"
}
says "rows by what is none" 'there are thread, way, waker, function' "$BRACE" wakeup --by frob "$T/trace"
says "a column that is none" 'count, mean, p50, p99, max, name' "$BRACE" wakeup -s frob "$T/trace"
says "two files" 'one trace file, not 2' "$BRACE" wakeup a b
says "no program" 'no program stands behind' "$BRACE" wakeup --
record -l main -- "$FIXTURES/waking" 1
"$BRACE" wakeup "$T/trace" >"$T/out" 2>"$T/err"
[ $? -eq 0 ] && grep -q "raw_syscalls" "$T/err"
result "a trace without system calls says what to record" $? "$T/err"
finish

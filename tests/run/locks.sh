#!/bin/bash
# brace locks: acquisitions, waits and holds against the program's own account of its locks, orders against helgrind's, a deadlock against
# the owners that gdb reads; by place; from a file; what is wrong is said.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
PROGRAM=$FIXTURES/locking

cat >"$T/compare.py" <<'P'
import json, sys
said = [line.split() for line in open(sys.argv[1])]
rows = [json.loads(line) for line in open(sys.argv[2])]
assert rows[0]["schema"] == "brace-locks" and rows[0]["lost"] == 0, rows[0]
locks = {r["lock"]: r for r in rows[1:] if "lock" in r}
for address, kind, taken, wait, hold in said[:3]:
    r = locks[address]
    taken, wait, hold = int(taken), int(wait), int(hold)
    print(r, said)
    assert r["kind"] == kind and r["acquired"] == taken, r
    # The program's clock is read around the calls: it sees no less, but for what is in its own reading.
    assert r["wait_ns"] <= wait * 1.02 + 1000000 and r["hold_ns"] * 1.02 + 1000000 >= hold, r
    assert r["wait_mean_ns"] <= r["wait_max_ns"] <= r["wait_ns"] and r["hold_mean_ns"] <= r["hold_max_ns"] <= r["hold_ns"], r
    assert 0 <= r["contended"] <= taken and r["first_site"].startswith("take_" + {"mutex": "shared", "rwlock": "rw", "spinlock": "spin"}[kind]), r
assert locks[said[0][0]]["contended"] > 0 and locks[said[0][0]]["wait_ns"] * 2 + 1000000 > int(said[0][3]), locks[said[0][0]]
assert any(r["kind"] == "semaphore" and r["acquired"] == 1 and r["hold_ns"] is None for r in locks.values()), locks
circles = [r["could_deadlock"] for r in rows[1:] if "could_deadlock" in r]
assert len(circles) == 1 and len(circles[0]) == 2, circles
assert {(o["held"], o["taken"]) for o in circles[0]} == {tuple(said[3]), tuple(said[3][::-1])}, circles
assert {o["taken_site"].split("+")[0] for o in circles[0]} == {"ab", "ba"}, circles
assert rows[0]["acquired"] == sum(r["acquired"] for r in rows[1:] if "acquired" in r)
P
compare() { # NAME SAID ROWS
	/usr/bin/python3 "$T/compare.py" "$2" "$3" >"$T/compared" 2>&1
	result "$1" $? "$T/compared"
}

run_in "$T/live" "$BRACE" locks --json -b 4M -o "$T/rows" -- "$PROGRAM"
[ "$(cat "$T/live.status")" = 5 ] && [ ! -s "$T/live.err" ]
result "the program's status, and no word" $? "$T/live.err"
compare "acquisitions, waits, holds and orders are the program's own" "$T/live.out" "$T/rows"

# --- what is rare: recursion, cancellation, tries that fail, a fork, more locks than a thread's table has room for, handlers that take
# locks themselves, and a death in the middle
run_in "$T/odd" "$BRACE" locks --json -b 16M -o "$T/rows" -- "$PROGRAM" odd
grep -qx 'cleaned 1' "$T/odd.out" && [ "$(cat "$T/odd.status")" = 137 ]
result "the program cancels a waiting thread, and is killed" $? "$T/odd.out" "$T/odd.err"
/usr/bin/python3 -c 'import json, sys
said = [line.split() for line in open(sys.argv[1])]
rows = [json.loads(line) for line in open(sys.argv[2])]
locks, holds = {}, {}
for r in rows[1:]:
    if "lock" in r:
        locks[r["lock"]] = locks.get(r["lock"], 0) + r["acquired"]
        mean = r["hold_mean_ns"]
        holds[r["lock"]] = holds.get(r["lock"], 0) + (0 if mean is None else r["hold_ns"] / max(mean, 1))
for address, acquired, held in [s for s in said if len(s) == 3 and s[0] != "alarms"]:
    # The number of holds comes from a sum and a mean that was cut.
    assert locks[address] == int(acquired), (address, acquired, locks[address], said)
    assert not int(held) or int(held) * 0.9 < holds[address] < int(held) * 1.2 + 1, (address, held, holds[address])
word, address, alarms = said[-1]
lost = rows[0]["lost"]
assert locks.get(address, 0) <= int(alarms) <= locks.get(address, 0) + lost, (alarms, locks.get(address), rows[0])
assert lost <= int(alarms) and not any("could_deadlock" in r for r in rows), rows[0]' "$T/odd.out" "$T/rows" 2>"$T/err"
result "each of its locks, exactly; a handler's on top of the agent's work are lost, and counted" $? "$T/err" "$T/odd.out"

# --- waits as events: each thread's begin and end in turn, and together what the program has waited for its mutex
record -t nop -e 'lock:*' -b 4M -- "$PROGRAM"
"$BRACE" replay "$T/trace" 2>"$T/err" | /usr/bin/python3 -c 'import re, sys
address, kind, taken, wait, hold = open(sys.argv[1]).readline().split()
begun, waited, n = {}, 0, 0
for line in sys.stdin:
    m = re.match(r"\s*(\S+)\s+\[\d+\] \S+\s+(\d+)\.(\d{6}): contention_(begin|end): (0x\w+) \((\w+)=(\S*)\)$", line)
    if not m:
        assert line[0] == "#", line
        continue
    task, at, what, lock = m[1], int(m[2]) * 1000000 + int(m[3]), m[4], m[5]
    if what == "begin":
        assert task not in begun and m[6] == "flags", line
        begun[task] = lock, at
        assert lock != address or m[7] == "MUTEX", line
    else:
        assert begun[task][0] == lock and m[6] == "ret", line
        if lock == address:
            n += 1
            waited += at - begun[task][1]
        del begun[task]
assert not begun and n and waited <= int(wait) / 1000 * 1.02 + 1000 + n and waited * 2 + 1000 > int(wait) / 1000, (begun, n, waited, wait)' "$T/traced.out" 2>>"$T/err"
result "lock:contention_begin and _end pair up, and sum up to what the program waited" $? "$T/err"

# --- a process that is left while a thread waits in a lock's function
"$PROGRAM" until >"$T/until" &
pid=$!
ON_EXIT+=("kill $pid")
took_turns() { "$BRACE" locks --json --duration 100ms -o "$T/rows" -p $pid 2>"$T/err" && grep -q '"kind":"mutex".*"first_site":"long_turns+' "$T/rows"; }
until_is took_turns
until_is took_turns
took=$?
# --- and in a tree: the time between the two as a synthetic event
mkdir "$T/tree"
if "$BRACE" mount "$T/tree" -p $pid 2>"$T/mount.err"; then
	ON_EXIT+=("$BRACE umount --lazy $T/tree")
	(
		cd "$T/tree" || exit
		echo 'lock_wait u64 lat; u64 lock' >synthetic_events
		echo 'hist:keys=common_pid:ts0=common_timestamp.usecs,lock0=lock_addr if flags & 32' >events/lock/contention_begin/trigger
		echo 'hist:keys=common_pid:wait=common_timestamp.usecs-$ts0,l=$lock0:onmatch(lock.contention_begin).lock_wait($wait,$l)' \
			>events/lock/contention_end/trigger
		echo 'hist:keys=lock.hex:vals=lat' >events/synthetic/lock_wait/trigger
	) 2>"$T/err"
	until_is grep -qE '^\{ lock: [0-9a-f]+ \} hitcount: +[0-9]+  lat: +[0-9]{4,}$' "$T/tree/events/synthetic/lock_wait/hist"
	result "in the tree: waits by lock, as a histogram of a synthetic event" $? "$T/err" "$T/tree/error_log"
	"$BRACE" umount "$T/tree"
else
	skip "in the tree: waits by lock, as a histogram of a synthetic event" "no FUSE"
fi
kill -TERM $pid
wait $pid
[ $? -eq 0 ] && [ $took -eq 0 ] && [ "$(cat "$T/until")" = 1 ] && grep -q '"kind":"mutex".*"first_site":"long_turns+' "$T/rows"
result "attached twice, and left while its threads wait" $? "$T/err" "$T/rows"

# A wait that began while brace was there, and is cancelled after it has gone: unwinding goes through it.
if type -P g++ >/dev/null && g++ -O1 -g -pthread -o "$T/cancelled" "$HERE/../targets/cancelled.cc" 2>"$T/err"; then
	coproc CANCELLED { exec "$T/cancelled"; }
	exec {TO}>&"${CANCELLED[1]}" {FROM}<&"${CANCELLED[0]}"
	waiter=$CANCELLED_PID
	read -rt "$LIMIT" -u "$FROM"
	has_agent() { grep -q brace-agent "/proc/$waiter/maps"; }
	"$BRACE" locks --duration 1s -p "$waiter" >"$T/rows" 2>"$T/err" &
	until_is has_agent
	echo >&"$TO"
	wait $!
	echo >&"$TO"
	read -rt "$LIMIT" -u "$FROM" said
	exec {TO}>&- {FROM}<&-
	wait "$waiter" && [ "$said" = 'destructors 2, trylock 0' ]
	result "waits that are cancelled after the detach are unwound" $? "$T/err"
else
	skip "waits that are cancelled after the detach are unwound" "there is no g++"
fi

# --- from a file; by place
record -L libc.so.6 -l 'pthread_mutex_*lock' -l 'pthread_rwlock_*lock' -l 'pthread_spin_*' -l 'sem_*wait' --args='?*' --retval='?*' \
	-e syscalls:sys_enter_futex -e 'p:pthread_spin_lock libc.so.6:pthread_spin_lock arg1=$arg1' \
	-e 'p:pthread_spin_unlock libc.so.6:pthread_spin_init arg1=$arg1' -b 4M -- "$PROGRAM"
"$BRACE" locks --json "$T/trace" >"$T/rows" 2>"$T/err"
result "a trace file" $? "$T/err"
compare "as the program says, from a file" "$T/traced.out" "$T/rows"
"$BRACE" locks --by site --json "$T/trace" >"$T/sites" 2>"$T/err"
/usr/bin/python3 -c 'import json, sys
locks, sites = [[json.loads(l) for l in open(f)] for f in sys.argv[1:]]
for column in "acquired", "contended", "wait_ns":
    sums = [sum(r[column] for r in rows[1:] if column in r) for rows in (locks, sites)]
    # Each row is rounded to nanoseconds.
    assert abs(sums[0] - sums[1]) <= (100 if column == "wait_ns" else 0), (column, sums)
assert any(r.get("site", "").startswith("take_rw+") and r["acquired"] == 150 for r in sites), sites' "$T/rows" "$T/sites" 2>"$T/err"
result "rows by place have the same sums" $? "$T/err"
"$BRACE" locks -s acquired --limit 2 "$T/trace" >"$T/table" 2>"$T/err"
[ "$(sed -n 2,3p "$T/table" | awk '{ print $1 }' | sort -rn | head -n 1)" = "$(awk 'NR == 2 { print $1 }' "$T/table")" ] &&
	grep -q ' in all, ' "$T/table" && grep -q '^Could deadlock' "$T/table"
result "the table: two rows, the sum, the orders" $? "$T/table"

# --- orders, as helgrind finds them
if command -v valgrind >/dev/null; then
	valgrind --tool=helgrind "$PROGRAM" >"$T/said" 2>"$T/helgrind"
	[ "$(grep -c 'lock order ".*" violated' "$T/helgrind")" -ge 1 ] && grep -A 40 'lock order ".*" violated' "$T/helgrind" | grep -q ' ba '
	result "helgrind finds the same order" $? "$T/helgrind"
else
	skip "helgrind finds the same order" "valgrind is not installed"
fi

# --- a deadlock
"$PROGRAM" deadlock >"$T/stuck" &
pid=$!
ON_EXIT+=("kill $pid")
until_is grep -q stuck "$T/stuck"
is_stuck() { "$BRACE" locks --now --json -p $pid >"$T/now" 2>"$T/err"; [ $? -eq 1 ] && [ "$(grep -c waits_for "$T/now")" = 3 ]; }
until_is is_stuck
result "three threads wait, two of them for each other" $? "$T/now"
/usr/bin/python3 -c 'import json, sys
stuck = open(sys.argv[1]).read().split()
rows = [json.loads(l) for l in open(sys.argv[2])]
assert rows[0]["schema"] == "brace-locks-now" and rows[0]["deadlocks"] == 1 and rows[0]["threads"] == 3, rows
waits = {r["tid"]: r for r in rows[1:]}
circle = [r for r in rows[1:] if r["deadlock"] == 1]
assert len(circle) == 2 and all(waits[r["owner"]]["owner"] == r["tid"] for r in circle), rows
assert {r["waits_for"] for r in circle} == set(stuck[1:3]), rows
main = waits[int(sys.argv[3])]
assert main["deadlock"] is None and main["waits_for"] == stuck[1] and main["owner"] in [r["tid"] for r in circle], rows
print(*["%s %d" % (r["waits_for"], r["owner"]) for r in circle], sep="\n")' "$T/stuck" "$T/now" $pid >"$T/owners" 2>"$T/err"
result "which waits for which" $? "$T/err"
if command -v gdb >/dev/null; then
	while read -r lock owner; do
		gdb -q -batch -p $pid -ex "print *(int *)($lock + 8)" 2>/dev/null | grep -q "= $owner\$" || echo "$lock $owner"
	done <"$T/owners" >"$T/wrong"
	[ -s "$T/owners" ] && [ ! -s "$T/wrong" ]
	result "the owners are those that gdb reads" $? "$T/wrong"
else
	skip "the owners are those that gdb reads" "gdb is not installed"
fi
timeout "$LIMIT" "$BRACE" locks -p $pid >"$T/out" 2>"$T/err"
[ $? -eq 1 ] && grep -q '^deadlock: locking-[0-9]* -> locking-[0-9]* -> locking-[0-9]*$' "$T/out" && [ "$(grep -c ' waits for 0x' "$T/out")" = 3 ]
result "without --now: a process that hangs is not recorded" $? "$T/out"
! grep -q brace- "/proc/$pid/maps"
result "the process is as it was" $?
sleep 600 &
other=$!
ON_EXIT+=("kill $other")
"$BRACE" locks --now -p $other >"$T/out" 2>"$T/err"
[ $? -eq 0 ] && [ ! -s "$T/out" ]
result "a process without locks: nothing, and 0" $? "$T/err"

# --- what is wrong
says() { # NAME WORDS COMMAND...
	local name=$1 words=$2
	shift 2
	"$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 125 ] && grep -q "$words" "$T/err" && [ ! -s "$T/out" ]
	result "$name" $? "$T/err"
}
says "rows by what is none" 'there are lock, site' "$BRACE" locks --by frob "$T/trace"
says "a column that is none" 'acquired, contended, wait' "$BRACE" locks -s frob "$T/trace"
says "--now without a process" 'name it with -p' "$BRACE" locks --now
says "two files" 'one trace file, not 2' "$BRACE" locks a b
record -l main -- "$PROGRAM"
"$BRACE" locks "$T/trace" >"$T/out" 2>"$T/err"
[ $? -eq 0 ] && grep -q "pthread_mutex" "$T/err"
result "a trace without locks says what to record" $? "$T/err"
finish

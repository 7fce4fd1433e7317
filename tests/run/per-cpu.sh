#!/bin/bash
# per_cpu/cpuN: what ran on one processor, read, cleared and counted by itself. The program is moved
# from one to the other, and says how often it called what.
# shellcheck disable=SC2034 # descriptors that only keep pipes open
. "$(dirname "$0")/lib.sh"
need taskset
D=$T/tree
mkdir "$D"
mapfile -t CPUS < <(taskset -pc $$ | sed 's/.*: //' | tr , '\n' | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done)
if [ "${#CPUS[@]}" -lt 2 ]; then
	echo '1..0 # SKIP one processor'
	exit 0
fi
FIRST=$D/per_cpu/cpu${CPUS[0]}
SECOND=$D/per_cpu/cpu${CPUS[1]}

on() { taskset -pc "$1" "$PID" >"$T/taskset"; }  # the program runs there
has() { # N FILE NAME: so many calls of leaf in it
	timeout 1 cat "$2" >"$T/out" 2>"$T/err"
	[ "$(grep -c ': leaf <-request$' "$T/out")" -eq "$1" ]
	result "$3" $? "$T/out"
}
stat_of() { sed -n "s/^$2: //p" "$1/stats"; }
counts() { # N DIRECTORY NAME: what its stats have in all
	[ $(($(stat_of "$2" entries) + $(stat_of "$2" overrun) + $(stat_of "$2" "dropped events") + $(stat_of "$2" "read events"))) -eq "$1" ]
	result "$3" $? "$2/stats"
}

tell() {
	local line
	for line; do
		echo "$line" >"$T/to"
		read -rt 30 _ <"$T/from"
	done
}

mkfifo "$T/to" "$T/from"
exec {TO}<>"$T/to" {FROM}<>"$T/from"
"$BRACE" mount "$D" -- "$FIXTURES/answers" <"$T/to" >"$T/from" 2>"$T/err" &
MOUNT=$!
ON_EXIT+=("$BRACE umount --lazy $D")
if ! read -rt 30 _ <"$T/from" || ! [ -e "$D/trace" ]; then
	no_mount
fi
echo leaf >"$D/set_ftrace_filter"
echo function >"$D/current_tracer"
tell 1
PID=$(sed -n 's/ answers$//p' "$D/saved_cmdlines")
on "${CPUS[0]}"
echo >"$D/trace"
tell 100
on "${CPUS[1]}"
tell 50

has 100 "$FIRST/trace" "trace: one's"
has 50 "$SECOND/trace" "the other's"
counts 100 "$FIRST" "stats: one's"
counts 50 "$SECOND" "the other's"
has 50 "$SECOND/trace_pipe" "trace_pipe has its own"
has 0 "$SECOND/trace" "which are gone then"
has 0 "$SECOND/trace_pipe" "and do not come again"
has 100 "$D/trace" "and only they"
[ "$(stat_of "$SECOND" "read events")" -eq 50 ] && [ "$(stat_of "$FIRST" "read events")" -eq 0 ]
result "they count as read" $? "$SECOND/stats"
tell 7
has 7 "$SECOND/trace_pipe" "what comes later comes"
: >"$T/waited"
timeout 20 cat "$SECOND/trace_pipe" >>"$T/waited" &
WAITING=$!
tell 5
for ((tries = 0; tries < 300; tries++)); do
	[ "$(grep -c leaf "$T/waited")" != 5 ] || break
	read -rt 0.05 _ <> <(:)
done
kill "$WAITING"
wait "$WAITING" 2>/dev/null
[ "$(grep -c leaf "$T/waited")" -eq 5 ]
result "who waits gets it" $? "$T/waited"
tell 3
cat >"$T/poll.py" <<'PY'
import os, select, sys
for name in sys.argv[1:]:
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    p = select.poll()
    p.register(fd, select.POLLIN)
    print(len(p.poll(2000)), end=" ")
    try:
        print(os.read(fd, 65536).count(b"leaf"))
    except BlockingIOError:
        print("none")
    os.close(fd)
PY
on "${CPUS[0]}"
timeout 20 /usr/bin/python3 "$T/poll.py" "$SECOND/trace_pipe" "$SECOND/trace_pipe" >"$T/out" 2>&1
printf '1 3\n0 none\n' | cmp -s - "$T/out"
result "poll" $? "$T/out"

# --- clearing one
tell 20
on "${CPUS[1]}"
tell 30
echo >"$SECOND/trace"
has 0 "$SECOND/trace" "> trace of one"
has 120 "$D/trace" "leaves the others' alone"
tell 4
has 4 "$SECOND/trace" "and it fills again"
echo >"$FIRST/trace"
has 4 "$D/trace" "the other one"

# --- the snapshot
on "${CPUS[0]}"
tell 6
echo 1 >"$D/snapshot"
has 6 "$FIRST/snapshot" "snapshot: one's"
has 4 "$SECOND/snapshot" "the other's"
has 10 "$D/snapshot" "all"

# --- the snapshot as sub-buffers: what is read of one processor is gone there
cat >"$T/raw.py" <<'PY'
"""Records of the function event (1) in sub-buffers of the kernel's format."""
import struct, sys
def records(page):
    commit, = struct.unpack_from("<Q", page, 8)
    at, end = 16, 16 + (commit & 0xfffff)
    while at < end:
        head, = struct.unpack_from("<I", page, at)
        kind = head & 31
        if kind == 0:
            size, = struct.unpack_from("<I", page, at + 4)
            yield struct.unpack_from("<H", page, at + 8)[0]
        elif kind <= 28:
            size = 4 * kind
            yield struct.unpack_from("<H", page, at + 4)[0]
        elif kind == 29:
            size = struct.unpack_from("<I", page, at + 4)[0] if head >> 5 else end
        else:
            size = 4
        at += 4 + size
data = sys.stdin.buffer.read()
print(len(data) % 4096, sum(kind == 1 for i in range(0, len(data), 4096) for kind in records(data[i:i + 4096])))
PY
raw_has() { # N FILE NAME: so many of the function tracer's records
	dd if="$2" iflag=nonblock bs="${4:-4096}" 2>"$T/err" | python3 "$T/raw.py" >"$T/out"
	[ "$(cat "$T/out")" = "0 $1" ]
	result "$3" $? "$T/out"
}
tell 3
timeout 20 python3 -c 'import select, sys; print(len(select.select([open(sys.argv[1], "rb", 0)], [], [], 2)[0]))' \
	"$FIRST/snapshot_raw" >"$T/out" 2>&1
[ "$(cat "$T/out")" = 1 ]
result "snapshot_raw can be waited for" $? "$T/out"
raw_has 4 "$SECOND/snapshot_raw" "snapshot_raw: one's" 100
has 0 "$SECOND/snapshot" "which are gone then"
has 6 "$D/snapshot" "and only they"
raw_has 0 "$SECOND/snapshot_raw" "and do not come again"
raw_has 6 "$FIRST/snapshot_raw" "the other's"
grep -q '^# \* Snapshot is allocated \*$' "$D/snapshot"
result "then it is empty" $? "$D/snapshot"
has 3 "$D/trace" "the buffer is not touched"
cat "$FIRST/snapshot_raw" >"$T/waited" 2>"$T/err" &
WAITING=$!
echo 1 >"$D/snapshot"
for ((tries = 0; tries < 300; tries++)); do
	[ "$(wc -c <"$T/waited")" != 4096 ] || break
	read -rt 0.05 _ <> <(:)
done
kill "$WAITING"
wait "$WAITING" 2>/dev/null
[ "$(python3 "$T/raw.py" <"$T/waited")" = '0 3' ]
result "who waits gets the next one" $? "$T/waited"
tell 2
echo 1 >"$D/snapshot"
echo 2 >"$FIRST/snapshot"
raw_has 0 "$FIRST/snapshot_raw" "cleared, by processor"

# --- what had no room
echo >"$D/trace"
echo 64 >"$D/buffer_size_kb"
tell 100000
on "${CPUS[1]}"
tell 50000 50000
[ "$(stat_of "$FIRST" overrun)" -gt 0 ]
result "overrun" $? "$FIRST/stats"
counts 100000 "$FIRST" "is counted where it was"
counts 100000 "$SECOND" "by each"

# --- sizes of their own: the room is for all together
KEPT=$(wc -l <"$D/trace")
echo 4096 >"$SECOND/buffer_size_kb"
[ "$(cat "$D/buffer_size_kb")" = X ] && [ "$(cat "$FIRST/buffer_size_kb")" = 64 ] && [ "$(cat "$SECOND/buffer_size_kb")" = 4096 ]
result "a CPU's buffer has a size of its own" $?
tell 100000
[ "$(wc -l <"$D/trace")" -gt $((10 * KEPT)) ]
result "and so there is more room" $?

# --- a marker is of the processor on which it was written
echo >"$D/trace"
for n in 1 2 3 4 5 6 7 8 9 10; do
	for cpu in "${CPUS[@]:0:2}"; do
		taskset -c "$cpu" sh -c "echo of $cpu >$D/trace_marker"
	done
done
awk '/tracing_mark_write: of/ { all++; wrong += substr($2, 2, 3) + 0 != $NF } END { exit all != 20 || wrong }' "$D/trace"
result "a marker is of the processor on which it was written" $? "$D/trace"

# --- raw and text do not get the same
echo >"$D/trace"
echo 1408 >"$D/buffer_size_kb"
tell 1000
dd if="$SECOND/trace_pipe_raw" iflag=nonblock bs=4096 of="$T/raw" 2>"$T/err"
has 0 "$SECOND/trace" "what was read raw is gone"
[ "$(stat_of "$SECOND" "read events")" -eq 1000 ]
result "and counted" $? "$SECOND/stats"
echo q >"$T/to"
wait "$MOUNT"
result "the program ends as it should" $? "$T/err"
finish

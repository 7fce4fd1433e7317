#!/bin/bash
# record --ring: the records outlive brace and the program, whoever is killed first. What must be in
# the ring is known from the program's own ledger (tests/targets/ledger.h).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ledger.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
LIMIT=60
victim=$FIXTURES/victim
ledger=$T/ledger
# holds DIRECTORY: its file system can have a ring.
holds() { [ -w "$1" ] && case $(stat -f -c %T "$1") in tmpfs | ext2/ext3 | xfs | f2fs) ;; *) false ;; esac; }
# On the disk and in memory, where there are both.
RING=$T/ring IN_MEMORY=/dev/shm/brace-test-ring.$$
holds "$T" || RING=$IN_MEMORY.disk
holds /dev/shm || IN_MEMORY=$T/ring-too
if ! holds "${RING%/*}"; then
	echo '1..0 # SKIP neither the directory for temporary files nor /dev/shm can have a ring'
	exit 0
fi
ON_EXIT+=("rm -f '$IN_MEMORY' '$IN_MEMORY'.*")

# adds_up NAME FILE: kept and lost are what the ledger says.
adds_up() {
	local kept lost all=$((2 * $(made)))
	kept=$(figure records "$2")
	lost=$(figure lost "$2")
	[ $((kept + lost)) -eq $all ] && [ "$kept" -gt 0 ]
	result "$1: $kept kept and $lost lost are the $all that were made" $? "$T/check.log"
}

# begin RING OPTION...: a program that stands still half way, and its brace.
begin() {
	local ring=$1
	shift
	rm -f "$ledger" "$T/trace" "$T/whole" "$ring"
	"$BRACE" record -q --ring "$ring" -l step -o "$T/trace" "$@" -- "$victim" "$ledger" 4 200000 wait >"$T/out" 2>&1 &
	BRACE_PID=$!
	until_is stands_still
	PROGRAM=$(field 0)
}

# refuses NAME WORDS COMMAND...: status 125 and the words, and no output.
refuses() {
	local name=$1 words=$2
	shift 2
	rm -f "$T/none"
	"$@" >"$T/check.log" 2>&1
	[ $? -eq 125 ] && grep -q -- "$words" "$T/check.log" && [ ! -e "$T/none" ]
	result "$name" $? "$T/check.log"
}

# --- a process with many shared files, none of which is a ring: each look costs a fork
cat >"$T/maps.py" <<'EOF'
import mmap, sys, time
held = []
for i in range(200):
    f = open(f"{sys.argv[1]}/shared.{i}", "w+b")
    f.truncate(65536)
    held.append(mmap.mmap(f.fileno(), 65536))
open(f"{sys.argv[1]}/mapped", "w").close()
time.sleep(600)
EOF
mkdir "$T/many"
python3 "$T/maps.py" "$T/many" &
MAPS_PID=$!
ON_EXIT+=("kill -KILL $MAPS_PID")
is_mapped() { [ -e "$T/many/mapped" ]; }
until_is is_mapped
refuses "recover -p looks at 64 files of a process" 'has no session memory among the first 64 files.*--ring FILE' "$BRACE" recover -p "$MAPS_PID" -o "$T/none"
kill -KILL "$MAPS_PID"

# --- while the session runs
begin "$RING" -b 16M
[ "$(stat -c %a "$RING")" = 400 ] && [ "$(stat -c %b "$RING")" -ge $(($(stat -c %s "$RING") / 512)) ]
result "nobody opens it for writing, and it has all its blocks" $?
refuses "recover leaves a living session alone" 'of a session that runs' "$BRACE" recover --ring "$RING" -o "$T/none" "$T/trace"
refuses "two sessions on one ring" 'of a session that runs' "$BRACE" record --ring "$RING" -o "$T/none" -- true

# --- brace is killed, the program goes on and ends
kill -9 $BRACE_PID
wait $BRACE_PID 2>/dev/null
"$BRACE" recover -p "$PROGRAM" -o "$T/live" "$T/trace" >"$T/check.log" 2>&1
adds_up "recover -p while it lives" "$T/live"
let_go
until_is is_gone "$PROGRAM"
result "the program ends" $?
[ -s "$T/out" ]
result "with its result" $? "$T/out"
check "recover when both are dead" "$BRACE" recover --ring "$RING" -o "$T/whole" "$T/trace"
adds_up "what was recorded before and after brace's death" "$T/whole"
"$BRACE" report --json "$T/whole" >"$T/report" 2>&1
grep -q "\"name\":\"step\",\"module\":\"victim\",\"calls\":$(made)," "$T/report"
result "nothing is lost, and all calls have the function's name" $? "$T/report"
"$BRACE" info "$T/whole" >"$T/info" 2>&1
grep -q "ring $RING id [0-9a-f]\{32\}" "$T/info"
result "info names the ring" $? "$T/info"
"$BRACE" recover -o "$T/alone" "$T/trace" >"$T/check.log" 2>&1
grep -q "if $RING is there still, --ring has" "$T/check.log"
result "recover without it says that there is one" $? "$T/check.log"
refuses "a new session leaves the dead one's records" 'of a session that died: `brace recover' "$BRACE" record --ring "$RING" -o "$T/none" -- true
refuses "a ring without its trace" 'name the trace file' "$BRACE" recover --ring "$RING" -o "$T/none"
refuses "a ring as if it were a trace" 'is a ring.*brace recover --ring' "$BRACE" recover -o "$T/none" "$RING"
mkfifo "$T/pipe"
refuses "recover into a FIFO" 'not a regular file; name another' timeout "$LIMIT" "$BRACE" recover -o "$T/pipe" "$T/trace"
refuses "a ring and a process" 'give one of them' "$BRACE" recover --ring "$RING" -p $$ -o "$T/none" "$T/trace"

# --- another boot: the label names one that is over
chmod 600 "$RING"
end=$(($(stat -c %s "$RING") - $(getconf PAGESIZE)))
boot=$(cat /proc/sys/kernel/random/boot_id)
at=$(tail -c +$((end + 1)) "$RING" | grep -abo "$boot" | head -n 1)
check_that "the label has the boot's id" test "${at%%:*}" -gt 0
printf '00000000-0000-0000-0000-000000000000' | dd of="$RING" bs=1 seek=$((end + ${at%%:*})) conv=notrunc status=none
check "recover after a reboot" "$BRACE" recover --ring "$RING" -o "$T/later" "$T/trace"
grep -q 'before the machine was started anew' "$T/check.log"
result "it says so" $? "$T/check.log"
adds_up "after a reboot" "$T/later"

# --- hostile bytes: an end, a sentence or a whole trace
for part in 0 4096 65536 $((end / 2)) $((end - 65536)) $((end + 8)); do
	cp "$RING" "$T/spoiled"
	head -c 65536 /dev/urandom | dd of="$T/spoiled" bs=1024 seek=$((part / 1024)) conv=notrunc status=none
	rm -f "$T/made"
	timeout -k 5 "$LIMIT" "$BRACE" recover --ring "$T/spoiled" -o "$T/made" "$T/trace" >"$T/check.log" 2>&1
	status=$?
	[ $status -eq 125 ] || { [ $status -eq 0 ] && "$BRACE" report "$T/made" >/dev/null 2>>"$T/check.log"; }
	result "noise at $part: recover ends by status $status" $? "$T/check.log"
done
for size in 0 100 4096 $((end / 2)) $end; do
	cp "$RING" "$T/spoiled"
	truncate -s "$size" "$T/spoiled"
	refuses "a ring cut to $size bytes" 'is no ring\|ends early\|another version' "$BRACE" recover --ring "$T/spoiled" -o "$T/none" "$T/trace"
done
mkfifo "$T/fifo"
refuses "a FIFO" 'is no ring' timeout "$LIMIT" "$BRACE" recover --ring "$T/fifo" -o "$T/none" "$T/trace"
refuses "a ring that is not there" 'No such file' "$BRACE" recover --ring "$T/nowhere" -o "$T/none" "$T/trace"

# --- both are killed, in memory and on the disk, by modes
for mode in overwrite stream block; do
	begin "$IN_MEMORY" --mode $mode
	kill -9 $BRACE_PID "$PROGRAM"
	wait $BRACE_PID 2>/dev/null
	until_is is_gone "$PROGRAM"
	check "$mode mode, both killed: recover" "$BRACE" recover --ring "$IN_MEMORY" -o "$T/whole" "$T/trace"
	adds_up "$mode mode, both killed" "$T/whole"
done
refuses "the ring of another recording" 'of another recording' "$BRACE" recover --ring "$RING" -o "$T/none" "$T/trace"
# Less room than records: the newest stay.
begin "$RING" --ring-size 1M
kill -9 $BRACE_PID "$PROGRAM"
wait $BRACE_PID 2>/dev/null
until_is is_gone "$PROGRAM"
check "a small ring: recover" "$BRACE" recover --ring "$RING" -o "$T/whole" "$T/trace"
adds_up "a small ring" "$T/whole"
[ "$(figure lost "$T/whole")" -gt 0 ] && [ "$(stat -c %s "$RING")" -lt 4000000 ]
result "a small ring: it is small, and the oldest records are gone" $?

# --- a hole: what was there is lost, and it is said
# punch RING FROM BYTES: on both file systems of the tests.
punch() { chmod 600 "$1" && fallocate --punch-hole -o "$2" -l "$3" "$1"; }
# busiest RING: where a full sub-buffer begins, in the trace's own layout: the first page behind the
# bits of 4,194,304 thread numbers that has records in all its pages.
busiest() {
	python3 - "$1" <<'P'
import struct, sys
d = open(sys.argv[1], "rb").read()
buffers_at = struct.unpack_from("<Q", d, 16 + 24 + 24)[0]
for at in range(buffers_at, len(d) - 65536, 65536):
    if all(any(d[at + p:at + p + 4096]) for p in range(0, 65536, 4096)):
        print(at)
        break
P
}
for ring in "$RING" "$IN_MEMORY"; do
	begin "$ring" --mode overwrite -b 16M
	kill -9 $BRACE_PID "$PROGRAM"
	wait $BRACE_PID 2>/dev/null
	until_is is_gone "$PROGRAM"
	"$BRACE" recover --ring "$ring" -o "$T/entire" "$T/trace" >/dev/null 2>&1
	at=$(busiest "$ring")
	punch "$ring" $((at + 8192)) 16384
	check "a hole in records: recover" "$BRACE" recover --ring "$ring" -o "$T/whole" "$T/trace"
	grep -q 'somebody took 16,384 bytes out of' "$T/check.log"
	result "a hole in records: recover says so" $? "$T/check.log"
	"$BRACE" info "$T/whole" 2>&1 | grep -q '4 pages (4 KiB) were taken out of the session memory'
	result "a hole in records: so does a reader of the trace" $?
	"$BRACE" info --json "$T/whole" | grep -q '"kind":"holes"'
	result "a hole in records: in JSON" $?
	gone=$(($(figure records "$T/entire") - $(figure records "$T/whole")))
	told=$(($(figure lost "$T/whole") - $(figure lost "$T/entire")))
	# A record that tells a CPU takes words and is none that counts.
	[ $gone -gt 2000 ] && [ $gone -le 2048 ] && [ $told -ge $gone ] && [ $told -le 2048 ]
	result "a hole in records: $gone are gone, $told more are lost" $? "$T/check.log"
	# Of threads' slots, of descriptors: nothing can be counted, and it is said.
	punch "$ring" 4096 8192
	"$BRACE" recover --ring "$ring" -o "$T/whole" "$T/trace" >"$T/check.log" 2>&1
	[ $? -eq 0 ] && grep -q 'somebody took 24,576 bytes out of' "$T/check.log"
	result "holes in two places" $? "$T/check.log"
	# Of a ring in memory, brace's own reading fills the hole again: the zeros tell.
	begin "$ring" --mode overwrite -b 16M
	punch "$ring" $(($(busiest "$ring") + 8192)) 16384
	let_go
	until_is is_gone $BRACE_PID
	wait $BRACE_PID
	"$BRACE" info "$T/trace" >"$T/info" 2>&1
	grep -q '4 pages (4 KiB) were taken out of the session memory' "$T/info"
	result "a hole while it is in use: the trace tells" $? "$T/info"
done
begin "$RING" --ring-size 2M
punch "$RING" $(($(stat -c %s "$RING") - 65536 - 4096)) 65536
let_go
until_is is_gone $BRACE_PID
wait $BRACE_PID
grep -q "somebody cut $RING while it was in use, or took parts out of it" "$T/out"
result "a hole while it is in use: brace says it" $? "$T/out"

# --- a ring that is larger than the machine's memory, of holes: its sub-buffers are full, and have no blocks
begin "$RING" --ring-size 2M
kill -9 $BRACE_PID "$PROGRAM"
wait $BRACE_PID 2>/dev/null
until_is is_gone "$PROGRAM"
cat >"$T/hollow.py" <<'P'
# RING HOLLOW: its memory (shared/memory.h) with MANY sub-buffers of one thread, which are full and have no blocks.
import struct, sys
MANY, EACH, SUB, PAGE = 16384, 64, 65536, 4096
ring = open(sys.argv[1], "rb").read()
threads_at, descs_at, ends_at, buffers_at = struct.unpack_from("<4Q", ring, 40)
head = bytearray(ring[:descs_at])
ends = descs_at + MANY * EACH
begin = (ends + buffers_at - ends_at + PAGE) // PAGE * PAGE
struct.pack_into("<I", head, 32, MANY)
struct.pack_into("<4Q", head, 48, descs_at, ends, begin, begin + MANY * SUB)
struct.pack_into("<I", head, 128 + 8, MANY)
with open(sys.argv[2], "wb") as f:
    f.write(head)
    for i in range(MANY):
        f.write(struct.pack("<4I", 2, 0, i, SUB).ljust(EACH, b"\0"))
    f.truncate(begin + MANY * SUB)
    f.seek(begin + MANY * SUB)
    f.write(ring[-PAGE:])
P
cat >"$T/peak.py" <<'P'
# COMMAND...: runs it, and prints its status and the most memory that it had, in MiB.
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
P
python3 "$T/hollow.py" "$RING" "$T/hollow" 2>"$T/check.log"
python3 "$T/peak.py" "$BRACE" recover --ring "$T/hollow" -o "$T/whole" "$T/trace" >"$T/peak" 2>>"$T/check.log"
read -r status peak <"$T/peak"
[ "$status" = 0 ] && [ "$peak" -lt 400 ] && grep -q 'bytes out of' "$T/check.log"
result "a ring of holes takes no memory of its size ($peak of 1024 MiB)" $? "$T/check.log"
rm -f "$T/hollow"

# --- a running program
rm -f "$ledger" "$T/trace" "$RING"
"$victim" "$ledger" 2 100000000000 >"$T/out" 2>&1 &
PROGRAM=$!
ON_EXIT+=("kill -9 $PROGRAM 2>/dev/null")
until_is test -s "$ledger" && until_is test "$(field 12)" = 1
"$BRACE" record -q --ring "$RING" --ring-size 4M -l step -o "$T/trace" -p $PROGRAM >"$T/check.log" 2>&1 &
BRACE_PID=$!
maps_ring() { grep -q "$RING" "/proc/$PROGRAM/maps"; }
until_is maps_ring
result "an attached program maps it" $? "$T/check.log"
before=$(made)
until_is eval '[ "$(made)" -gt $((before + 100000)) ]'
kill -9 $BRACE_PID $PROGRAM
wait $BRACE_PID 2>/dev/null
check "attached: recover" "$BRACE" recover --ring "$RING" -o "$T/whole" "$T/trace"
[ "$(figure records "$T/whole")" -gt 1000 ]
result "attached: it has records" $? "$T/check.log"

# --- an ordinary end, and what is refused
rm -f "$RING" "$ledger"
check "an ordinary end" "$BRACE" record --ring "$RING" -l step -o "$T/trace" -- "$victim" "$ledger" 2 1000
[ ! -e "$RING" ] && [ "$(figure records "$T/trace")" -eq $((2 * $(made))) ]
result "the trace is whole, and the ring is gone" $? "$T/check.log"
echo mine >"$T/mine"
refuses "a file that is no ring" 'exists already, and is no ring' "$BRACE" record --ring "$T/mine" -o "$T/none" -- true
[ "$(cat "$T/mine")" = mine ]
result "stays as it was" $?
ln -s "$T/target" "$T/link"
refuses "a link" 'exists already' "$BRACE" record --ring "$T/link" -o "$T/none" -- true
refuses "a directory that is not there" 'No such file' "$BRACE" record --ring "$T/no/ring" -o "$T/none" -- true
refuses "a size without a ring" 'name its file' "$BRACE" record --ring-size 4M -o "$T/none" -- true
refuses "a size that is too small" 'a ring has 1M to 64G' "$BRACE" record --ring "$RING" --ring-size 3K -o "$T/none" -- true
refuses "triggers" 'not with -K, triggers' "$BRACE" record --ring "$RING" -R 'step:traceoff' -o "$T/none" -- true
refuses "a limit for files" 'ulimit -f' bash -c 'ulimit -f 1000 && exec "$@"' - "$BRACE" record --ring "$RING" -o "$T/none" -- true
[ ! -e "$RING" ]
result "a limit for files leaves nothing" $?

if [ "$(id -u)" -eq 0 ] && mkdir "$T/disk" && mount -t tmpfs -o size=2m none "$T/disk" 2>/dev/null; then
	ON_EXIT+=("umount -l '$T/disk'")
	refuses "a full disk" 'No space left.*--ring-size' "$BRACE" record --ring "$T/disk/ring" -o "$T/none" -- true
	[ -z "$(ls "$T/disk")" ]
	result "a full disk: nothing is left there" $?
else
	skip "a full disk" "no tmpfs can be mounted here"
fi

# --- cut while it is in use: root alone can, or who changes the mode
begin "$RING" --ring-size 2M
chmod 600 "$RING"
: >"$RING"
let_go
until_is is_gone $BRACE_PID
wait $BRACE_PID
status=$?
grep -q "somebody cut $RING" "$T/out" && [ $status -eq $((128 + $(kill -l BUS))) ]
result "cut while in use: brace lives, and says it ($status)" $? "$T/out"

# --- programs of two users: each has a ring of its own
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$T"
	rm -f "$T/trace" "$RING"
	: >"$T/stopped"
	chmod 666 "$T/stopped"
	"$BRACE" record -q --ring "$RING" --ring-size 2M -l step -l 'as_*' -o "$T/trace" -- "$FIXTURES/users" then \
		setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'echo $$ >"$0"; kill -STOP $$' "$T/stopped" >"$T/out" 2>&1 &
	BRACE_PID=$!
	until_is test -s "$T/stopped"
	stopped=$(cat "$T/stopped")
	[ -e "$RING.65534" ] && grep -q "$RING.65534" "/proc/$stopped/maps"
	result "another user's programs have a ring of their own" $? "$T/out"
	kill -9 $BRACE_PID
	wait $BRACE_PID 2>/dev/null
	check "two users: recover the first" "$BRACE" recover --ring "$RING" -o "$T/first" "$T/trace"
	check "two users: and the second" "$BRACE" recover --ring "$RING.65534" -o "$T/second" "$T/first"
	kill -9 $stopped
else
	skip "programs of two users" "only root has them"
fi
finish

#!/bin/bash
# Constants and descriptors of system calls by name, against strace's account of the same program, which knows them from tables of its
# own: a program makes some 90 calls with small numbers for all arguments, most of which fail; whatever strace has a word for, brace has
# it, too. And descriptors that a program was started with, those of pipes, and those of a process that is attached to have their paths.
. "$(dirname "$0")/lib.sh"
need strace gcc /usr/bin/python3

cat >"$T/calls.c" <<'P'
#include <linux/keyctl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#define C(name) syscall(SYS_##name, a, a, a, a, a, a);
int main(int n, char **words)
{
	long a = atol(words[1]), queue;

	syscall(SYS_alarm, 0); /* the begin */
	C(getpriority) C(ioprio_get) C(sched_get_priority_max) C(sched_get_priority_min)
	C(msgget) C(semget) C(shmget) C(shmat) C(msgctl) C(shmctl) C(msgsnd) C(msgrcv)
	syscall(SYS_semctl, -1, a, a, a); queue = syscall(SYS_msgget, 77, 03640); syscall(SYS_shmget, 0, 0, 0600);
	if (queue >= 0)
		syscall(SYS_msgctl, queue, 0, 0); /* nothing stays */
	C(mq_open) C(mbind) C(get_mempolicy) C(move_pages) C(mlock2) C(pkey_alloc) C(membarrier)
	C(inotify_add_watch) C(fanotify_init) C(fanotify_mark)
	C(setxattr) C(lsetxattr) C(fsetxattr) C(pwritev2) C(preadv2) C(splice) C(tee) C(vmsplice)
	C(sync_file_range) C(open_by_handle_at) C(fsconfig) C(fsopen) C(fsmount) C(fspick) C(open_tree)
	C(move_mount) C(finit_module) C(kcmp) C(landlock_add_rule) C(landlock_create_ruleset) C(bpf)
	C(perf_event_open) C(futex_waitv) C(timer_settime) C(keyctl) C(setns) C(swapon)
	syscall(SYS_ptrace, a, -1, 0, 0); syscall(SYS_reboot, 0, 0, 0x4321fedc, 0); syscall(SYS_seccomp, 2, 0, 0);
	syscall(SYS_close_range, 100, 90, 4); syscall(SYS_userfaultfd, 04000); syscall(SYS_inotify_init1, 04000);
	syscall(SYS_signalfd4, -1, 0, 0, 02004000); syscall(SYS_pidfd_open, -1, 04000);
	syscall(SYS_mknodat, -100, 0, 0010644, 0); syscall(SYS_mknodat, -100, 0, 0020600, 0x103);
	syscall(SYS_ioprio_set, 1, 0x7fffffff, 16385); syscall(SYS_setpriority, 0, -1, 1);
	syscall(SYS_socket, 16, 3, 15); syscall(SYS_socket, 2, 77, 2); syscall(SYS_kill, 0x7ffffff, 0);
	syscall(SYS_ioctl, -1, 0x40049409, 0); syscall(SYS_ioctl, -1, 0x80086601, 0); syscall(SYS_ioctl, -1, 0x2400, 0);
	return 0;
}
P
gcc -O1 -w -o "$T/calls" "$T/calls.c" 2>"$T/err"
result "the program" $? "$T/err"

# A line for each call: its name, and its words, of numbers those with a word behind them. Words in comments are strace's for what has none;
# its sets of bits with no word print the rest in another way.
cat >"$T/words.py" <<'P'
import re, sys
for line in open(sys.argv[1], errors="surrogateescape"):
    m = re.match(r"(?:\d+ +)?(?:[\d.]+ +)?(\w+)\((.*?)\) += ", line)
    if not m or m[1] == "alarm":
        print("---") if m else None
        continue
    rest = re.sub(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|<[^>]*>', "", m[2])
    print(m[1], *sorted(set(re.findall(r"\b(?:[A-Z][A-Z]*_[A-Z0-9_]+|[A-Z]{5,})\b", rest)) - {"AT_FDCWD", "BTRFS_IOC_CLONE"}))
P
cat >"$T/lacking.py" <<'P'
import sys
def of(path):
    lines = open(path).read().split("---\n")[-1].splitlines()
    return [(w[0], set(w[1:])) for w in map(str.split, lines)]
theirs, ours = of(sys.argv[1]), of(sys.argv[2])
# Calls whose return is not seen, as those of syscall(), come in another order. Each line of strace's takes one of brace's away.
left, bad = list(ours), []
for call, words in theirs:
    fits = next((o for o in left if o[0] == call and words <= o[1]), None)
    if fits:
        left.remove(fits)
    else:
        bad.append(f"{call}: strace has {' '.join(sorted(words))}")
print("\n".join(bad))
print(len(theirs), "calls,", sum(len(t[1]) for t in theirs), "words")
sys.exit(bool(bad) or len(theirs) != len(ours) or len(theirs) < 70 or sum(len(t[1]) for t in theirs) < 40)
P
for a in 1 2 3; do
	run_in "$T/s$a" strace -o "$T/strace$a" "$T/calls" $a
	run_in "$T/b$a" "$BRACE" syscalls --lines -o "$T/brace$a" -- "$T/calls" $a
	/usr/bin/python3 "$T/words.py" "$T/strace$a" >"$T/theirs"
	/usr/bin/python3 "$T/words.py" "$T/brace$a" | sed '/^exit_group/d' >"$T/ours"
	sed -i '/^exit_group/d' "$T/theirs"
	/usr/bin/python3 "$T/lacking.py" "$T/theirs" "$T/ours" >"$T/lacking"
	status=$? # before the next command has its own
	result "each word of strace's, numbers are $a: $(tail -n 1 "$T/lacking")" $status "$T/lacking"
done
grep -q 'msgget(0x4d, IPC_CREAT|IPC_EXCL|0640) = ' "$T/brace1" && grep -q 'shmget(IPC_PRIVATE, 0, 0600) = ' "$T/brace1" &&
	grep -q 'mknodat(AT_FDCWD, NULL, S_IFIFO|0644) = ' "$T/brace1" &&
	grep -q 'mknodat(AT_FDCWD, NULL, S_IFCHR|0600, makedev(0x1, 0x3)) = ' "$T/brace1" && grep -q 'kill(134217727, 0) = ' "$T/brace1" &&
	grep -q 'ioprio_set(IOPRIO_WHO_PROCESS, 2147483647, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 1)) = ' "$T/brace1"
result "permissions, devices, priorities" $? "$T/brace1"

# The whole set of what a program has from its parent, of a pipe between two others, and of its own.
printf 'one\n' >"$T/input"
cat >"$T/piped.py" <<'P'
import os
os.read(0, 100)
r, w = os.pipe()
os.write(w, b"x")
os.read(r, 1)
os.dup(0)
os.write(1, b"done\n")
P
"$BRACE" syscalls --lines -o "$T/lines" -- /usr/bin/python3 -S -E "$T/piped.py" <"$T/input" >"$T/output" 2>"$T/err"
grep -q "read(0<$T/input>, \"one" "$T/lines" && grep -q "write(1<$T/output>, \"done" "$T/lines"
result "descriptors that a program is started with have their paths" $? "$T/lines" "$T/err"
grep -qE 'pipe2?\(\[[0-9]+<pipe>, [0-9]+<pipe>\], ' "$T/lines" && grep -qE 'write\([0-9]+<pipe>, "x", 1\) = 1' "$T/lines" &&
	grep -qE "fcntl\(0<$T/input>, F_DUPFD_CLOEXEC, 0\) = [0-9]+<$T/input>" "$T/lines"
result "the ends of a pipe, and a copy" $? "$T/lines"
"$BRACE" record -q -e 'syscalls:*' -o "$T/trace" -- sh -c "cat | cat" <"$T/input" >"$T/output" 2>"$T/err"
"$BRACE" syscalls --lines "$T/trace" >"$T/filed" 2>>"$T/err"
grep -q "read(0<$T/input>, \"one" "$T/filed" && grep -qE 'write\(1<pipe:\[[0-9]+\]>, "one' "$T/filed" &&
	grep -qE 'read\(0<pipe:\[[0-9]+\]>, "one' "$T/filed" && grep -q "write(1<$T/output>, \"one" "$T/filed"
result "programs that a pipe connects, from a file" $? "$T/filed" "$T/err"

mkfifo "$T/fifo"
cat >"$T/reader.py" <<'P'
import os, sys
f = os.open(sys.argv[1], os.O_RDONLY)
while os.read(f, 1):
    os.pread(3, 1, 0)
P
exec 9<>"$T/fifo"
/usr/bin/python3 -S -E "$T/reader.py" "$T/fifo" 3<"$T/input" 9<&- &
reader=$!
opened() { readlink /proc/$reader/fd/* 2>/dev/null | grep -qx "$T/fifo"; }
until_is opened
"$BRACE" syscalls --lines -o "$T/attached" -p $reader 2>"$T/err" 9<&- &
brace=$!
inside() {
	{ grep -q brace-code "/proc/$reader/maps" && grep -qE '^TracerPid:.0$' "/proc/$reader/status"; } || ! kill -0 $brace 2>/dev/null
}
until_is inside
printf xxxx >&9
exec 9>&-
wait "$brace" "$reader" 2>/dev/null
grep -qE "pread64\(3<$T/input>, \"o\", 1, 0\) = 1" "$T/attached" && grep -qE "read\([0-9]+<$T/fifo>, \"x\", 1\) = 1" "$T/attached"
result "descriptors of a process that is attached to" $? "$T/attached" "$T/err"
finish

#!/bin/bash
# The constants of system calls in their events, by name: against strace's account of the same
# program, which knows them from tables of its own. A value that has no name is a number.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3 strace

cat >"$T/program.py" <<'P'
import ctypes, os, signal, socket, struct, sys, tempfile
libc = ctypes.CDLL(None, use_errno=True)
P, L = ctypes.c_void_p, ctypes.c_long
libc.mmap.restype = libc.mremap.restype = P
print("begin", file=open("begin", "w"))
def mapped(prot, flags):
    at = libc.mmap(None, L(8192), prot, flags, -1, L(0))
    return P(at)
a = mapped(3, 0x22)                      # private, anonymous
mapped(0, 0x4022)                        # no access, no reserve
mapped(1, 0x20021)                       # shared, a stack
for prot in (0, 1, 5, 7):
    libc.mprotect(a, L(8192), prot)
libc.mprotect(a, L(8192), 0x40000001)    # of which a part has no name
for advice in (0, 3, 4, 8, 14, 16):
    libc.madvise(a, L(4096), advice)
libc.msync(a, L(4096), 4)
a = P(libc.mremap(a, L(8192), L(16384), 1))
for mode in (0, 4, 6, 7):
    libc.access(b"begin", mode)
libc.faccessat(-100, b"begin", 4, 0)
f = os.open("begin", os.O_RDWR)
for whence in (0, 1, 2, 3, 4):
    libc.lseek(f, L(0), whence)
for command in (1, 3, 1030, 1032, 9):
    libc.fcntl(f, command, 0)
libc.lseek(f, L(0), 99)
for lock in (1, 6, 8):
    libc.flock(f, lock)
libc.dup3(f, 100, os.O_CLOEXEC)
libc.dup3(f, 101, 0)
two = (ctypes.c_int * 2)()
libc.pipe2(two, os.O_CLOEXEC | os.O_NONBLOCK)
libc.pipe2(two, 0)
for family, kind in ((1, 1), (2, 2), (10, 1 | 0o2000000), (1, 5 | 0o2000000 | 0o4000), (16, 3)):
    try: socket.socket(family, kind).close()
    except OSError: pass
libc.socketpair(1, 2 | 0o2000000, 0, two)
libc.sendto(two[0], b"x", L(1), 0x4040, None, 0)
room = ctypes.create_string_buffer(8)
libc.recvfrom(two[1], room, L(1), 0x42, None, None)
libc.shutdown(two[0], 1)
libc.ioctl(f, 0x5401, room)              # no terminal
libc.ioctl(f, 0x5413, room)
libc.ioctl(two[1], 0x541b, room)
e = libc.epoll_create1(0o2000000)
event = ctypes.create_string_buffer(12)
for operation in (1, 3, 2):
    libc.epoll_ctl(e, operation, two[1], event)
libc.eventfd(1, 0o2004000)
libc.timerfd_create(1, 0o2000000)
libc.getrandom(room, L(4), 1)
libc.memfd_create(b"name", 3)
for s in (0, 10, 17):
    libc.kill(os.getpid(), s) if s != 10 else libc.kill(0x7ffffff, s)
signal.signal(signal.SIGUSR2, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [])
signal.pthread_sigmask(signal.SIG_SETMASK, [])
libc.wait4(-1, None, 1, None)
libc.wait4(-1, None, 3 | 8, None)
libc.renameat2(-100, b"begin", -100, b"new", 1)
os.unlink("new")
os.mkdir("directory", 0o750)
libc.unlinkat(-100, b"directory", 0x200)
limit = (ctypes.c_long * 2)()
for resource in (3, 7):
    libc.getrlimit(resource, limit)
P
# Words of letters in the arguments are the names; strings, structures and results are not.
CALLS=(mmap mprotect madvise msync mremap access faccessat lseek fcntl flock dup3 pipe2 socket socketpair sendto recvfrom
	shutdown ioctl epoll_create1 epoll_ctl eventfd2 timerfd_create getrandom memfd_create kill rt_sigaction
	rt_sigprocmask wait4 renameat2 mkdir unlinkat prlimit64)
cat >"$T/lines.py" <<'P'
import re, sys
calls, by_strace, on = sys.argv[2].split(), sys.argv[3] == "strace", False
# Not decoded: what lies behind these arguments, and protocols.
other = r"IPPROTO_\w+|NETLINK_\w+|NULL|RLIM_\w+|RLIM64_\w+|SIG_DFL|SIG_IGN|SA_\w+|EPOLL[A-Z]+\b(?!_)"
for line in open(sys.argv[1], errors="surrogateescape"):
    m = re.match(r"(?:\d+ +)?(\w+)\((.*)", line) if by_strace else re.search(r"sys_enter_(\w+): ?(.*)", line)
    if not m or m[1] not in calls:
        continue
    on = on or (m[1] == "mmap" and "MAP_NORESERVE" in m[2] and "PROT_NONE" in m[2])
    rest = re.sub(r'"(?:[^"\\]|\\.)*"(\.\.\.)?', "", m[2])
    if by_strace:
        rest = re.sub(r"\) += .*", "", rest)
        rest = re.sub(r"\{.*?\}|\[.*?\]|/\*.*?\*/", "", rest)
    if on:
        names = [n for n in re.findall(r"\b[A-Z][A-Z_0-9|]{3,}\b", rest) if not re.fullmatch(other, n)]
        names = [p for n in names for p in sorted(n.split("|")) if not re.fullmatch(other, p)]
        # Without a name in either: 0, or a number.
        print(m[1], *names)
P
names() { # FILE HOW
	/usr/bin/python3 "$T/lines.py" "$1" "${CALLS[*]}" "$2"
}

SET=()
for call in "${CALLS[@]}"; do SET+=(-e "syscalls:sys_enter_$call"); done
STRACE_SET=$(IFS=,; echo "${CALLS[*]}")
run_in "$T/strace" strace -f -e trace="$STRACE_SET" -e signal=none -o "$T/strace.txt" /usr/bin/python3 -S -E "$T/program.py"
record "${SET[@]}" -- /usr/bin/python3 -S -E "$T/program.py"
"$BRACE" replay --no-pager "$T/trace" >"$T/text"
names "$T/strace.txt" strace >"$T/wanted"
names "$T/text" brace >"$T/got"
diff "$T/wanted" "$T/got" >"$T/diff"
result "names of constants, as strace has them" $? "$T/diff"
[ "$(sort -u "$T/wanted" | wc -l)" -ge 60 ]
result "there were enough" $? "$T/wanted"
grep -q 'sys_enter_mprotect: .*, prot: PROT_READ|0x40000000$' "$T/text" && grep -q 'sys_enter_lseek: .*, whence: 0x63$' "$T/text"
result "values without a name" $? "$T/text"
grep -q 'sys_enter_mkdir: .* "directory", mode: 0750$' "$T/text"
result "permissions in octal" $? "$T/text"
finish

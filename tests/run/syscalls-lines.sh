#!/bin/bash
# brace syscalls --lines: calls, arguments, results and paths of descriptors against the lines that
# strace -y writes of the same program; JSON of single calls; from a file as from a program.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3 strace

cat >"$T/program.py" <<'P'
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir("begin", 0o750)
f = os.open("of its own", os.O_RDWR | os.O_CREAT, 0o640)
os.write(f, b"a \"line\"\n\x01\xff")
os.lseek(f, 2, os.SEEK_SET)
g = os.dup(f)
os.close(f)
os.write(g, b"more")
os.ftruncate(g, 3)
os.close(g)
for name in ("missing", "tab\there", "a\"quote"):
    try: os.rmdir(name)
    except OSError: pass
os.rename("of its own", "renamed")
os.unlink("renamed")
try: os.lseek(f, 0, 0)
except OSError: pass
libc.access(None, 4)
def attempt(make, *address):
    try: make(*address)
    except OSError: pass
for family, *addresses in ((socket.AF_INET, ("127.0.0.1", 9), ("0.0.0.0", 0)), (socket.AF_INET6, ("::1", 9), ("2001:db8::2", 1, 3, 0)),
                           (socket.AF_UNIX, "no such path", "\0abstract \"one\"")):
    for address in addresses:
        s = socket.socket(family, socket.SOCK_DGRAM)
        attempt(s.connect, address)
        attempt(s.bind, address)
        attempt(s.sendto, b"to it", 0, address)
        s.close()
# what calls give back, and arrays
f = os.open("of its own", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o640)
os.writev(f, [b"one", b"", b"two words", b"4", b"5\n"])
os.lseek(f, 0, 0)
os.read(f, 5); os.read(f, 100); os.read(f, 100)
os.fstat(f); os.stat("/dev/null"); os.lstat("/etc/passwd"); os.stat("/var/tmp")
os.readlink("/proc/self/exe")
libc.getcwd(ctypes.create_string_buffer(4096), 4096)
os.close(f)
os.unlink("of its own")
os.pipe()
socket.socketpair()
s = socket.socket(socket.AF_UNIX); s.bind("\0an abstract name"); s.listen(); s.getsockname()
v = socket.socket(socket.AF_UNIX); v.connect("\0an abstract name"); s.accept()[0].getsockname()
attempt(s.getpeername)
t = socket.socket(); t.bind(("127.0.0.1", 0)); t.getsockname()
for way in (lambda: os._exit(3), lambda: os.kill(os.getpid(), 9)):
    pid = os.fork()
    if not pid: way()
    os.waitpid(pid, 0)
attempt(os.execv, "/nonexistent", ["one", "two words", "-3"])
libc.nanosleep((ctypes.c_long * 2)(0, 1001), None)
libc.clock_nanosleep(1, 0, (ctypes.c_long * 2)(0, 1000002), None)
libc.rmdir(b"begin")
P
PROGRAM=(/usr/bin/python3 -S -E "$T/program.py")
CALLS=mkdir,openat,write,lseek,dup,close,ftruncate,rmdir,rename,unlink,access,connect,bind,sendto,nanosleep,clock_nanosleep,read,writev,newfstatat,readlink,getcwd,pipe2,socketpair,getsockname,getpeername,accept4,wait4
# Without threads, times, addresses and directories; from the program's first call to its last one.
cat >"$T/lines.py" <<'P'
import re, sys
on = False
begun = {}
for line in open(sys.argv[1], errors="surrogateescape"):
    # a call that other processes' lines interrupt
    m = re.match(r"(\d+ +)(.*) *<unfinished \.\.\.>$", line)
    if m:
        begun[m[1]] = m[2].rstrip()
    m = re.match(r"(\d+ +)<\.\.\. \w+ resumed>(.*)", line)
    if m:
        line = m[1] + begun[m[1]] + " " + m[2].lstrip()
    m = re.match(r"(?:\d+ +)?(?:\d+\.\d+ )?(\w+)\((.*)\) += (.*)", line)
    if not m or m[1] not in sys.argv[2].split(","):
        continue
    on = on or m[1] == "mkdir" and '"begin"' in m[2]
    if not on:
        continue
    arguments = re.sub(r"AT_FDCWD<.*?>", "AT_FDCWD", m[2])
    arguments = re.sub(r"<(socket|pipe)[^>]*>", "", arguments)
    # files of one run, and addresses
    if "/etc/passwd" not in arguments:
        arguments = re.sub(r"st_ino=\d+|, st_.time.*st_ctime_nsec=\d+|/\* .*? \*/|htons\([1-9]\d{3,}\)", "", arguments)
    arguments = re.sub(r" /\* .*? \*/", "", re.sub(r"0x7f\w{10}", "ADDRESS", arguments))
    if m[1] == "wait4":
        arguments, m = re.sub(r"^\d+", "PID", arguments), [0, m[1], m[2], "PID"]
    m = [0, m[1], m[2], re.sub(r"<(socket|pipe)[^>]*>", "", m[3])]
    arguments = re.sub(r"<[^>]*/", "<", arguments)
    arguments = re.sub(r"\\([0-7]{1,3})", lambda n: "\\%03o" % int(n[1], 8), arguments)
    print(m[1], arguments, re.sub(r"<[^>]*/", "<", re.sub(r" <[0-9.]+>$", "", m[3])))
    if m[1] == "rmdir" and '"begin"' in m[2]:
        break
P
lines() { # FILE
	/usr/bin/python3 "$T/lines.py" "$1" $CALLS
}

run_in "$T/strace" strace -f -y -v -s 165 -e trace=$CALLS -o "$T/strace.txt" "${PROGRAM[@]}"
run_in "$T/live" "$BRACE" syscalls --lines -o "$T/text" -- "${PROGRAM[@]}"
lines "$T/strace.txt" >"$T/wanted"
lines "$T/text" >"$T/got"
diff "$T/wanted" "$T/got" >"$T/diff"
result "lines as strace has them" $? "$T/diff"
grep -qF 'execve("/nonexistent", ["one", "two words", "-3"], ' "$T/text"
result "a program's arguments" $? "$T/text"
[ "$(wc -l <"$T/wanted")" -ge 75 ]
result "of so many calls" $? "$T/wanted"

record -e 'syscalls:*' --syscall-bytes 165 -- "${PROGRAM[@]}"
"$BRACE" syscalls --lines --no-pager "$T/trace" >"$T/text" 2>"$T/err"
lines "$T/text" >"$T/got"
diff "$T/wanted" "$T/got" >"$T/diff"
result "from a file" $? "$T/diff"
"$BRACE" syscalls --lines --json "$T/trace" >"$T/json" 2>"$T/err"
/usr/bin/python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert rows[0] == {"schema": "brace-syscalls-lines", "version": 1}, rows[0]
missing = [r for r in rows[1:] if r["name"] == "rmdir" and r["args"]["pathname"] == "\"missing\""]
assert len(missing) == 1 and missing[0]["error"] == "ENOENT" and missing[0]["result"] == -2, missing
assert len(rows) - 1 == sum(1 for line in open(sys.argv[2]))' "$T/json" "$T/text" 2>"$T/err"
result "JSON of single calls" $? "$T/err"

# --- calls that lead through the agent, in a program that is launched (agent/libc_calls.c): all returns, as strace has them
cat >"$T/led.c" <<'C'
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	struct rlimit l;
	char *none[] = { "x", NULL };

	syscall(SYS_rmdir, "begin");
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	prctl(12345, 1, 2, 3, 4);
	prlimit(0, RLIMIT_NOFILE, NULL, &l);
	prlimit(0, RLIMIT_NLIMITS, NULL, &l);
	getrlimit(RLIMIT_CORE, &l);
	syscall(SYS_close, 77);
	syscall(SYS_lseek, 78, 3, 9);
	execve("/nowhere", none, none + 1);
	execveat(-1, "nowhere", none, none + 1, 0);
	mlockall(0x40);
	setuid(geteuid());
	if (syscall(SYS_fork) == 0)
		syscall(SYS_exit_group, 3);
	wait(NULL);
	return 0;
}
C
gcc -o "$T/led" "$T/led.c"
LED=rmdir,prctl,prlimit64,close,lseek,execve,execveat,mlockall,setuid,fork,wait4
# without threads and times, from "begin" on; a child's number, flags' and requests' names, and what was done with an address differ
led() {
	sed -E 's/<\.\.\. (\w+) resumed>/\1(/' "$1" | sed -nE '/rmdir\("begin"\)/,$s/^([0-9]+ +)?([0-9]+\.[0-9]+ )?([a-z0-9]+)\((.*)\) += ([-?0-9]+( E[A-Z]+)?).*/\3 \5/p' |
		grep -E "^(${LED//,/|}) " | sed -E 's/^(fork|wait4) [0-9]+/\1 PID/'
}
strace -f -qq -e trace=$LED -o "$T/strace.txt" "$T/led" 2>"$T/err"
"$BRACE" syscalls --lines -o "$T/text" -- "$T/led" 2>"$T/err"
led "$T/strace.txt" >"$T/wanted"
led "$T/text" >"$T/got"
diff "$T/wanted" "$T/got" >"$T/diff" && [ "$(wc -l <"$T/got")" -eq 14 ]
result "returns of calls that lead through the agent" $? "$T/diff"

# --- executions: those that strace sees succeed are told as such, before the first line of what was executed; others fail as there
EXECUTIONS=(/bin/sh -c 'PATH=/nonexistent:/bin:/usr/bin exec env PATH=/none:/bin:/usr/bin true x')
strace -qq -e trace=execve -o "$T/strace.txt" "${EXECUTIONS[@]}" 2>"$T/err"
"$BRACE" syscalls --lines -o "$T/text" -- "${EXECUTIONS[@]}" 2>"$T/err"
/usr/bin/python3 -c 'import re, sys
def executions(path, good):
    lines = [re.search(r"execve\(\"(.*?)\", (\[.*?\]).*\) += (.*)", line) for line in open(path)]
    return [(m[1], m[2], bool(re.match(good, m[3])), re.sub(r" <[\d.]+>$", "", m[3]) * (m[3][0] == "-")) for m in lines if m]
theirs, ours = executions(sys.argv[1], "0$")[1:], executions(sys.argv[2], r"\? \(does not return: another program was executed\)$")
print(theirs, ours, sep="\n")
assert theirs == ours and sum(e[2] for e in ours) == 2 and any(not e[2] for e in ours)
assert sum(e[3] == "-1 ENOENT (No such file or directory)" for e in ours) == len(ours) - 2
lines = open(sys.argv[2]).read().split("\n")
at = [i for i, l in enumerate(lines) if "another program was executed" in l]
assert all("execve(" not in l for l in lines[at[0] + 1:at[0] + 4]) and at[1] < len(lines) - 5, at' "$T/strace.txt" "$T/text" >"$T/diff" 2>&1
result "executions that succeed are told, in their place" $? "$T/diff"
"$BRACE" syscalls --lines --json -- "${EXECUTIONS[@]}" 2>"$T/err" >"$T/json"
[ "$(grep -c '"name":"execve".*"result":null.*"note":"does not return: another program was executed"' "$T/json")" -eq 2 ]
result "and in JSON" $? "$T/json"
finish

#!/bin/bash
# Structures of system calls in `brace syscalls --lines`: those of a program that makes some 130
# calls with structures equal the lines of strace -f -y -v, one by one; and those of real programs
# are lines of strace. In events, filters and JSON they are there, too.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3 strace
P=$FIXTURES/calls_structs

normal() { # FILE [--from NAME]
	/usr/bin/python3 "$(dirname "$0")/syscalls_structs.py" "$@"
}

run_in "$T/strace" strace -f -y -v -s 165 -o "$T/strace.txt" "$P"
run_in "$T/live" "$BRACE" syscalls --lines -o "$T/text" -- "$P"
normal "$T/strace.txt" --from begin >"$T/wanted"
normal "$T/text" --from begin >"$T/got"
diff "$T/wanted" "$T/got" >"$T/diff"
result "each line as strace has it" $? "$T/diff"
[ "$(wc -l <"$T/wanted")" -ge 125 ]
result "of so many calls" $? "$T/wanted"

record -e 'syscalls:*' --syscall-bytes 165 -- "$P"
rm -rf begin file
"$BRACE" syscalls --lines --no-pager "$T/trace" >"$T/text" 2>"$T/err"
normal "$T/text" --from begin >"$T/got"
diff "$T/wanted" "$T/got" >"$T/diff"
result "from a file" $? "$T/diff"

"$BRACE" syscalls --lines --json "$T/trace" >"$T/json" 2>"$T/err"
/usr/bin/python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])][1:]
def of(name): return [r for r in rows if r["name"] == name]
assert any(r.get("note") == "[{fd=%s, revents=POLLOUT}]" % r["args"]["ufds"].split("fd=")[2].split(",")[0].split("<")[0]
           for r in of("poll") if r["result"] == 1), of("poll")
assert any("iov_base=\"abc\"" in r["args"]["vec"] for r in of("readv")), of("readv")
assert any("msg_namelen=110 => 21" in r["args"]["msg"] for r in of("recvmsg")), of("recvmsg")
assert of("openat") and all("mode" not in r["args"] or "O_CREAT" in r["args"]["flags"] for r in of("openat"))
' "$T/json" 2>"$T/err"
result "JSON has them" $? "$T/err"

record -e syscalls:sys_enter_writev -e syscalls:sys_enter_execve --syscall-bytes 165 -- "$P"
rm -rf begin file
"$BRACE" query "$T/trace" --csv "SELECT count(*) FROM ftrace_event WHERE name = 'sys_enter_execve'
	AND EXTRACT_ARG(arg_set_id, '__filename_val') = '/nonexistent'" >"$T/out" 2>&1
[ "$(tail -n 1 "$T/out")" = 2 ]
result "events in a query" $? "$T/out"
record -e syscalls:sys_enter_openat -f 'filename ~ "fil*"' -- "$P"
rm -rf begin file
"$BRACE" replay --no-pager "$T/trace" >"$T/trace.txt" 2>&1
[ "$(grep -c "sys_enter_openat" "$T/trace.txt")" = \
	"$(grep -c 'openat(AT_FDCWD[^"]*"file"' "$T/strace.txt")" ]
result "a filter on what an argument leads to" $? "$T/trace.txt"

# Every line that brace has of a real program is one of strace's, up to what two runs differ in.
same_lines() { # LEAST PROGRAM...
	local least=$1

	shift
	strace -f -y -v -s 165 -o "$T/strace.txt" "$@" >"$T/out.strace" 2>&1 </dev/null
	"$BRACE" syscalls --lines -o "$T/text" -- "$@" >"$T/out.brace" 2>&1 </dev/null
	normal "$T/strace.txt" | sort -u >"$T/wanted"
	normal "$T/text" | sort -u >"$T/got"
	comm -13 "$T/wanted" "$T/got" >"$T/diff"
	[ ! -s "$T/diff" ] && [ "$(wc -l <"$T/got")" -ge "$least" ]
	result "${*:1:2}: its lines are strace's" $? "$T/diff"
}
mkdir "$T/some"
for i in 1 2 3; do echo "$i" >"$T/some/$i"; done
same_lines 50 /usr/bin/ls -lR "$T/some"
same_lines 30 /usr/bin/sort --parallel=1 "$T/some/1" "$T/some/2"
same_lines 30 /usr/bin/find "$T/some" -name 2
same_lines 50 /bin/bash -c 'cat < /etc/passwd | wc -l; /bin/true'
same_lines 30 /usr/bin/tar cf /dev/null -C "$T" some
same_lines 100 /usr/bin/python3 -S -I -c 'import selectors, socket, subprocess
a, b = socket.socketpair()
s = selectors.DefaultSelector(); s.register(a, 1); b.sendmsg([b"x", b"yz"]); s.select(); a.recvmsg(9)
a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192); a.settimeout(0.01)
try: a.recv(1)
except OSError: pass'
# A control message whose length no message has: the line ends, and says what is there.
cat >"$T/hostile.py" <<'P'
import ctypes, socket, struct
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
control = ctypes.create_string_buffer(struct.pack("<QiiQ", 2**64 - 1, 1, 1, 7), 24)
header = struct.pack("<QQQQQQQ", 0, 0, 0, 0, ctypes.addressof(control), 24, 0)
assert ctypes.CDLL(None).sendmsg(s.fileno(), header, 0) < 0
P
timeout -k 5 60 "$BRACE" syscalls --lines -o "$T/text" -- /usr/bin/python3 -S -I "$T/hostile.py" >"$T/out" 2>"$T/err" </dev/null &&
	grep -q 'sendmsg(.*msg_control=\[{cmsg_len=18446744073709551615, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS' "$T/text"
result "a control message with an impossible length" $? "$T/err" "$T/out"
finish

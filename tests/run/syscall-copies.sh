#!/bin/bash
# Arguments and results of system calls, in their events: paths and flags against strace's
# account of the same program, buffers against what it wrote and read; cut strings, wrong pointers,
# the end of a page; in filters; another length, while it runs.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3 strace

cat >"$T/program.py" <<'P'
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
names = ["plain", "with blanks", "a\"quote", "tab\there", "esc\x1bape", "\u00e4\u00f6\u00fc", "n" * 62, "n" * 63, "n" * 64, "n" * 200]
for n in names:
    f = os.open("got " + n[4:] if len(n) > 60 else n, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
    os.write(f, b"%d bytes" % len(n))
    os.close(f)
for flags in (os.O_RDONLY, os.O_RDWR | os.O_APPEND, os.O_WRONLY | os.O_EXCL | os.O_CREAT | os.O_NONBLOCK):
    try: os.close(os.open("plain", flags))
    except OSError: pass
os.rename("plain", "renamed")
os.mkdir("directory", 0o700)
os.symlink("target of it", "link")
os.readlink("link")
os.unlink("link")
os.rmdir("directory")
try: os.stat("missing")
except OSError: pass
f = os.open("renamed", os.O_RDONLY)
os.read(f, 100)
# A path that ends where the readable memory ends, one that has no end, and addresses where nothing
# is.
two = mmap.mmap(-1, 8192)
at = ctypes.addressof(ctypes.c_char.from_buffer(two))
libc.mprotect(ctypes.c_void_p(at + 4096), 4096, 0)
ctypes.memmove(at + 4096 - 5, b"edge\0", 5)
libc.access(ctypes.c_void_p(at + 4096 - 5), 0)
ctypes.memmove(at + 4096 - 5, b"endes", 5)
libc.access(ctypes.c_void_p(at + 4096 - 5), 0)
for bad in (0, 16, at + 5000, 0x7fffffffffff):
    libc.access(ctypes.c_void_p(bad), 4)
libc.write(-1, ctypes.c_void_p(at + 5000), 10)
libc.write(-1, ctypes.c_void_p(at + 4091), ctypes.c_size_t(1 << 62))
libc.rename(ctypes.c_void_p(16), b"second")
P
CALLS=(openat newfstatat rename mkdir symlink readlink unlink rmdir access)

# Lines "CALL PATH... [FLAGS]", of strace and of brace. Strace does not cut paths; where it has an
# address the string is empty, or has no end.
cat >"$T/lines.py" <<'P'
import re, sys
calls, wanted = sys.argv[2].split(), []
def text(b): # as the events have it: control characters are dots
    return re.sub("[\x00-\x1f\x7f]", ".", b.decode("utf-8", "surrogateescape"))
for line in open(sys.argv[1], errors="surrogateescape"):
    m = re.match(r"(?:\d+ +)?(\w+)\((.*)", line) if sys.argv[3] == "strace" else re.search(r"sys_enter_(\w+): (.*)", line)
    if not m or m[1] not in calls:
        continue
    flags = re.findall(r"O_RDONLY[O_A-Z|]*|O_WRONLY[O_A-Z|]*|O_RDWR[O_A-Z|]*", m[2])
    if sys.argv[3] == "strace":
        rest = re.sub(r"\) += .*", "", m[2])
        strings = [text(s.encode("latin1").decode("unicode_escape").encode("latin1"))
                   for s in re.findall(r'"((?:[^"\\]|\\.)*)"', rest)]
        strings = [s[:63] + "..." if len(s) > 63 else s for s in strings]
        bare = re.findall(r"(?:^|, )(0x[0-9a-f]+|NULL)", rest) if m[1] in ("access", "rename") else []
        if m[1] == "readlink": strings = strings[:1]
        strings = [""] * len(bare) + strings
    else:
        strings = re.findall(r'0x[0-9a-f]+ "(.*?)"(?=, \w+: |$)', m[2])
        strings = ["" if s == "endes..." else s for s in strings]
    print(m[1], strings, flags)
P
paths() { # FILE HOW
	LC_ALL=C.UTF-8 /usr/bin/python3 "$T/lines.py" "$1" "${CALLS[*]}" "$2" | sed -n '/got\|plain/,$p'
}

SET=()
for call in "${CALLS[@]}"; do SET+=(-e "syscalls:sys_enter_$call"); done
STRACE_SET=$(IFS=,; echo "${CALLS[*]}")
run_in "$T/strace" strace -f -e trace="$STRACE_SET" -o "$T/strace.txt" /usr/bin/python3 -S -E "$T/program.py"
record "${SET[@]}" -- /usr/bin/python3 -S -E "$T/program.py"
"$BRACE" replay --no-pager "$T/trace" >"$T/text"
paths "$T/strace.txt" strace >"$T/wanted"
paths "$T/text" brace >"$T/got"
diff "$T/wanted" "$T/got" >"$T/diff"
result "paths and flags, as strace has them" $? "$T/diff"
[ "$(wc -l <"$T/wanted")" -ge 28 ]
result "there were enough" $? "$T/wanted"
[ "$(summary_number lost)" -eq 0 ] && [ "$(grep -c '"endes\.\.\."' "$T/text")" = 1 ]
result "and nothing is lost" $? "$T/summary"

# The written and the read bytes.
record -e syscalls:sys_enter_write -e syscalls:sys_exit_read -e syscalls:sys_exit_readlink -e syscalls:sys_exit_newfstatat \
	-- /usr/bin/python3 -S -E "$T/program.py"
"$BRACE" replay --no-pager "$T/trace" >"$T/text"
[ "$(grep -c 'sys_enter_write: fd: .* (35 20 62 79 74 65 73), count: 0x00000007' "$T/text")" = 1 ]
result "what write is given" $? "$T/text"
[ "$(grep -c 'sys_enter_write: fd: 0xffff[f]*, buf: 0x[0-9a-f]* (), count: 0x0000000a' "$T/text")" = 1 ] &&
	[ "$(grep -c 'sys_enter_write: .* (65 6e 64 65 73), count: 0x4000000000000000' "$T/text")" = 1 ]
result "as much of it as is there" $? "$T/text"
"$BRACE" replay --no-pager -O fields "$T/trace" >"$T/text"
grep -q 'sys_exit_read: .*ret=0x7 (7) __buf_val=5 bytes$' "$T/text"
result "what read gives back" $? "$T/text"
grep -q 'sys_exit_readlink: .*ret=0xc (12) __buf_val=target of it$' "$T/text"
result "what readlink gives back" $? "$T/text"
grep -q 'sys_exit_newfstatat: .*ret=0xfffffffffffffffe (-2) __statbuf_val=$' "$T/text"
result "what failed gives nothing back" $? "$T/text"

# --- filters ------------------------------------------------------------------------------
for field in filename __filename_val; do
	record -e syscalls:sys_enter_openat -f "$field ~ \"got*\" && flags & 1" -- /usr/bin/python3 -S -E "$T/program.py"
	[ "$("$BRACE" replay --no-pager "$T/trace" | grep -c 'sys_enter_openat: .* "got ')" = 4 ] &&
		[ "$("$BRACE" replay --no-pager "$T/trace" | grep -c 'sys_enter')" = 4 ]
	result "a filter on $field" $? "$T/traced.err"
done

# --- lengths ------------------------------------------------------------------------------
for bytes in 0 5 200; do
	record --syscall-bytes $bytes -e syscalls:sys_enter_openat -e syscalls:sys_enter_rename -- /usr/bin/python3 -S -E "$T/program.py"
	"$BRACE" replay --no-pager "$T/trace" >"$T/text"
	case $bytes in
	0) ! grep -q 'sys_enter.* "[^"]' "$T/text" && [ "$(grep -c 'sys_enter_rename: oldname: 0x[0-9a-f]* "", newname: 0x[0-9a-f]* ""$' "$T/text")" = 2 ] ;;
	5) grep -q 'sys_enter_rename: oldname: 0x[0-9a-f]* "plain", newname: 0x[0-9a-f]* "renam..."$' "$T/text" ;;
	*) grep -qE 'filename: 0x[0-9a-f]* "got n{161}\.\.\."' "$T/text" ;;
	esac
	result "copies of at most $bytes bytes" $? "$T/text"
done
"$BRACE" record --syscall-bytes many -o "$T/trace" -- /bin/true 2>"$T/err"
status=$?
[ $status -ne 0 ] && grep -q 'number of bytes' "$T/err"
result "a length that is none" $? "$T/err"

# --- while it runs ------------------------------------------------------------------------
coproc ASKED { exec bash -c 'while read -r name; do [ -e "$name" ]; echo done; done'; }
PID=$ASKED_PID
ON_EXIT+=("$BRACE reset --session copies" "kill $PID")
ask() {
	echo "$1" >&"${ASKED[1]}" && read -rt "$LIMIT" -u "${ASKED[0]}" _
}
shown() {
	"$BRACE" show --no-pager --session copies 2>/dev/null | grep -q "$1"
}
ask before
if timeout "$LIMIT" "$BRACE" start --session copies -p "$PID" -e syscalls:sys_enter_newfstatat >"$T/out" 2>"$T/err"; then
	ask /attached
	until_is shown '"/attached"'
	result "in a process that runs already" $? "$T/err"
	"$BRACE" set --session copies --syscall-bytes 4 2>"$T/err" && ask /changed && until_is shown '"/cha..."'
	result "another length, while it runs" $? "$T/err"
	"$BRACE" set --session copies --syscall-bytes 0 2>"$T/err" && ask /nothing && ask /at-all && until_is shown ' "", statbuf'
	result "and none" $? "$T/err"
	check "reset" "$BRACE" reset --session copies
else
	grep -q ptrace "$T/err"
	result "attaching, or the reason why not" $? "$T/err"
fi
# A sandbox that is attached to before it binds itself.
mkfifo "$T/question"
TRUTH=$T/truth "$FIXTURES/filtered" asked <"$T/question" >"$T/out.asked" &
PID=$!
exec {question}>"$T/question"
ON_EXIT+=("kill $PID")
if timeout "$LIMIT" "$BRACE" start --session copies -p "$PID" -e syscalls:sys_enter_access >"$T/out" 2>"$T/err"; then
	echo >&"$question"
	wait "$PID"
	status=$?
	[ $status = 0 ] && grep -qx 'asked 0' "$T/out.asked"
	result "a sandbox that forbids copies lives on" $? "$T/out.asked"
	"$BRACE" show --no-pager --session copies >"$T/text" 2>"$T/err"
	[ "$(grep -c 'sys_enter_access: filename: 0x[0-9a-f]* "", ' "$T/text")" = 100 ]
	result "and its calls are there" $? "$T/text"
	check "reset once more" "$BRACE" reset --session copies
else
	grep -q ptrace "$T/err"
	result "attaching to a sandbox, or the reason why not" $? "$T/err"
fi
exec {question}>&-
finish

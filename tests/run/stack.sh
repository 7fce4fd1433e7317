#!/bin/bash
# brace stack: the frames of every thread are those that gdb finds, in a program of threads, a static one, a stripped one, one that brace
# traces and translated code; the program goes on unharmed; what is wrong is said.
. "$(dirname "$0")/lib.sh"
need gdb /usr/bin/python3 strip cc nm addr2line
PROGRAM=$FIXTURES/standing

# gdb also shows calls that were left by a jump, and brace's stubs.
cat >"$T/frames.py" <<'P'
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame, pcs = gdb.newest_frame(), []
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME) and 'brace-agent' not in (gdb.solib_name(frame.pc()) or ''):
            pcs.append(frame.pc())
        frame = frame.older()
    print('FRAMES', thread.ptid[1] or thread.ptid[0], *map(hex, pcs))
P
cat >"$T/compare.py" <<'P'
import json, sys
threads = [json.loads(line) for line in open(sys.argv[1])]
head = threads.pop(0)
assert head['schema'] == 'brace-stack' and head['threads'] == len(threads) and head['stopped_ns'] > 0, head
gdb = {int(tid): list(pcs) for _, tid, *pcs in (line.split() for line in open(sys.argv[2]) if line.startswith('FRAMES'))}
assert gdb.keys() == {t['tid'] for t in threads} and len(gdb) == int(sys.argv[3]), (gdb.keys(), threads)
frames = 0
for t in threads:
    ours, theirs = [f['pc'] for f in t['frames']], gdb[t['tid']]
    if t['syscall'] is None:  # it runs: its innermost frame is elsewhere by now
        ours, theirs = ours[1:], theirs[1:]
    assert ours == theirs, (t, theirs)
    frames += len(ours)
print(frames)
P
# addr2line reads the same debug information by code that shares nothing with ours; a frame's place in its file is that of its function's
# symbol, and how far behind it is.
cat >"$T/lines.py" <<'P'
import collections, json, subprocess, sys
threads = [json.loads(line) for line in open(sys.argv[1])][1:]
asked, known = collections.defaultdict(dict), 0
for t in threads:
    for i, f in enumerate(t['frames']):
        if f['function'] and f['file'] and not f['signal']:
            call = bool(i) and not t['frames'][i - 1]['signal']
            asked[f['file']][f['function'], f['offset'] - call] = f
for file, frames in asked.items():
    symbols = {}
    for line in subprocess.run(['nm', '-D', file] if 'libc' in file else ['nm', file], stdout=subprocess.PIPE, text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in 'tTwWi':
            symbols[words[2].split('@')[0]] = int(words[0], 16)
    here = [(symbols[name] + behind, f) for (name, behind), f in frames.items() if name in symbols]
    said = subprocess.run(['addr2line', '-e', file] + [hex(at) for at, _ in here], stdout=subprocess.PIPE, text=True).stdout.splitlines()
    assert len(said) == len(here), (said, here)
    for line, (at, f) in zip(said, here):
        path, number = line.split(' (')[0].rsplit(':', 1)
        number = int(number) if number.isdigit() else 0
        assert (f['line'] or 0) == number and (not number or f['source'].split('/')[-1] == path.split('/')[-1]), (line, hex(at), f)
        known += bool(number)
print(known)
sys.exit(known < int(sys.argv[2]))
P
stand() { # COMMAND...: in the background, its process in $pid
	rm -f "$T/in"
	mkfifo "$T/in"
	"$@" <"$T/in" >"$T/said" 2>"$T/err" &
	shell=$!
	exec 7>"$T/in"
	ON_EXIT+=("kill $shell")
	until_is grep -q ready "$T/said"
}
same_as_gdb() { # NAME PID THREADS
	timeout -k 5 "$LIMIT" "$BRACE" stack --json -p "$2" >"$T/ours" 2>"$T/err" &&
		timeout -k 5 "$LIMIT" gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set auto-load off' -iex 'set backtrace past-main on' \
			-x "$T/frames.py" -p "$2" >"$T/gdb" 2>"$T/gdb.err" &&
		/usr/bin/python3 "$T/compare.py" "$T/ours" "$T/gdb" "$3" >"$T/compared" 2>&1
	result "$1" $? "$T/compared"
}
goes_on() { # NAME STATUS: told to, it ends as it would have
	echo go >&7
	exec 7>&-
	wait "$shell"
	[ $? -eq "$2" ]
	result "$1" $?
}

# pthread's waiting threads are in futex() once `stand` says so, or about to be: brace's look and gdb's have to find them there.
in_futex() { [ "$(cat /proc/"$1"/task/*/syscall 2>/dev/null | grep -c '^202 ')" -ge 3 ]; }

stand "$PROGRAM"
pid=$shell
until_is in_futex "$pid"
same_as_gdb "every frame of five threads is gdb's" "$pid" 5
/usr/bin/python3 "$T/lines.py" "$T/ours" 8 >"$T/compared" 2>&1
result "and its source line addr2line's" $? "$T/compared"
"$BRACE" stack -p "$pid" >"$T/out" 2>"$T/err"
grep -q '^thread [0-9]* (standing), in the system call futex$' "$T/out" && grep -q '^thread [0-9]* (standing), runs$' "$T/out" &&
	[ "$(grep -c 'recurse+0x' "$T/out")" = 301 ] && grep -qE '#[0-9]+ +0x[0-9a-f]{16} take_lock\+0x[0-9a-f]+ \[standing\] at standing.c:[0-9]+$' "$T/out" &&
	[ "$(grep -c '<a signal interrupted>' "$T/out")" = 1 ] && ! grep -q 'no unwind table' "$T/out"
result "as text: system calls, functions, a signal" $? "$T/out"
check_that "into a file" sh -c '"$1" stack -o "$2" -p "$3" && grep -q "take_lock" "$2"' - "$BRACE" "$T/file" "$pid"
goes_on "the program goes on" 7

cp "$PROGRAM" "$T/stripped" && strip "$T/stripped"
stand "$T/stripped"
pid=$shell
until_is in_futex "$pid"
same_as_gdb "of a stripped program" "$pid" 5
"$BRACE" stack -p "$pid" >"$T/out" 2>"$T/err"
grep -q ' ?? \[stripped+0x[0-9a-f]*\]$' "$T/out"
result "places without a name are told by the file" $? "$T/out"
goes_on "it goes on" 7

stand "$BRACE" record -q -o "$T/trace" -- "$PROGRAM"
pid=$(pgrep -P "$shell" standing)
until_is in_futex "$pid"
same_as_gdb "of a program that brace traces" "$pid" 5
goes_on "and it goes on traced" 7

# --- code that is in no file
if command -v node >/dev/null; then
	node --perf-basic-prof --interpreted-frames-native-stack -e 'function inner() { require("fs").readSync(0, Buffer.alloc(1)) } function outer() { inner() } console.log("ready"); outer()' \
		<"$T/in" >"$T/said" &
	pid=$!
	exec 7>"$T/in"
	ON_EXIT+=("kill $pid")
	until_is grep -q ready "$T/said"
	until_is grep -q '^0 ' "/proc/$pid/task/$pid/syscall"
	"$BRACE" stack -p "$pid" 2>"$T/err" | sed '/^$/q' >"$T/out"
	grep -q '(by the frame pointer)$' "$T/out" && grep -q ' _start+0x' "$T/out" && grep -q 'Builtins_JSEntry+0x' "$T/out"
	result "through translated code to the thread's first function" $? "$T/out"
	grep -qE ' JS:[~^*+]*inner .*\+0x[0-9a-f]+ \(by' "$T/out" && grep -qE ' JS:[~^*+]*outer ' "$T/out"
	result "whose functions have the names that node tells of them" $? "$T/out"
	exec 7>&-
	wait "$pid"
	result "which goes on" $?
else
	skip "through translated code" "node is not installed"
fi

# --- more files than a process may have open
cat >"$T/hold.c" <<'C'
#include <unistd.h>
long hold(void) { char c; return read(0, &c, 1) + 1; }
C
cat >"$T/many.py" <<'P'
import ctypes, os, shutil, sys
os.mkdir(sys.argv[1] + "/many")
for i in range(1100):
    path = "%s/many/%d.so" % (sys.argv[1], i)
    shutil.copyfile(sys.argv[1] + "/hold.so", path)
    library = ctypes.CDLL(path)
print("ready", flush=True)
library.hold()
P
cc -g -O1 -shared -fPIC -o "$T/hold.so" "$T/hold.c"
stand /usr/bin/python3 "$T/many.py" "$T"
pid=$shell
until_is grep -q '^0 ' "/proc/$pid/syscall"
(ulimit -n 1024 && "$BRACE" stack -p "$pid") >"$T/out" 2>"$T/err"
grep -qE ' hold\+0x[0-9a-f]+ \[1099.so\] at hold.c:2$' "$T/out" && grep -q ' _start+0x' "$T/out"
result "of a process with over a thousand files" $? "$T/out"
exec 7>&-
wait "$shell"
result "which ends as it would have" $?

# --- what is wrong
says() { # NAME WORDS ARGUMENT...
	local name=$1 words=$2
	shift 2
	timeout -k 5 "$LIMIT" "$BRACE" stack "$@" >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && [ "$(wc -l <"$T/err")" = 1 ] && grep -q -- "$words" "$T/err" && [ ! -s "$T/out" ]
	result "$name" $? "$T/err"
}
says "no process is named" 'name it with -p'
says "one that is not there" 'process' -p 2147483646
# It runs nothing, and has no tracer.
says "an operand behind -p" '^brace: stack: unexpected argument: extra$' -p $$ extra
refuses_name() { # NAME: as that of a process, with a caret below it
	timeout -k 5 "$LIMIT" "$BRACE" stack -p "$1" >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && diff - "$T/err" <<-END
	brace: -p: no process that you may see has this name
	  $1
	  ^
	END
}
refuses_name "no such process" && refuses_name function
result "a name that no process has, also a tracer's" $? "$T/err"
finish

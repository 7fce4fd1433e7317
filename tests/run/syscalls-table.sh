#!/bin/bash
# brace syscalls: counts and errors against strace -c of the same program, with threads, a fork and a program that it executes;
# by thread and by file against the program's own account; the same from files; what is wrong is said.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3 strace

cat >"$T/program.py" <<'P'
import os, select, threading
said = open("said", "w")
def work(n):
    for i in range(n): os.getppid()
    select.select([], [], [], 0.01)
    said.write("thread %d %d\n" % (threading.get_native_id(), n))
ts = [threading.Thread(target=work, args=(100 * (i + 1),)) for i in range(3)]
for t in ts: t.start()
for t in ts: t.join()
for i in range(50):
    try: os.rmdir("missing")
    except OSError: pass
for i in range(20):
    os.mkdir("d"); os.rmdir("d")
f = os.open("of its own", os.O_RDWR | os.O_CREAT)
for i in range(30): os.write(f, b"x" * i)
ends = os.pipe()
g = os.dup(f)
os.close(f)
for i in range(5): os.lseek(g, 0, 0)
if os.fork() == 0:
    for i in range(70): os.sched_yield()
    for i in range(4): os.fsync(g)
    os._exit(3)
os.wait()
os.close(g)
said.flush()
os.execv("/bin/sh", ["sh", "-c", "umask 022; umask 022; exit 5"])
P
prepare() { :; }
PROGRAM=(/usr/bin/python3 -S -E "$T/program.py")
NAMES='getppid|rmdir|mkdir|sched_yield|fsync|umask|pselect6|dup|lseek|wait4'

run_in "$T/strace" strace -f -c -o "$T/strace.txt" "${PROGRAM[@]}"
awk -v names="^($NAMES)\$" '$NF ~ names { print $NF, $4, NF == 6 ? $5 : 0 }' "$T/strace.txt" | sort >"$T/wanted"
of_table() { # FILE: name, calls, errors
	awk -v names="^($NAMES)\$" '$NF ~ names { print $NF, $1, $2 }' "$1" | sort
}
of_json() { # FILE KEY: key, calls, errors
	/usr/bin/python3 -c 'import json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    if sys.argv[2] in row: print(row[sys.argv[2]], row["calls"], row["errors"])' "$1" "$2"
}

run_in "$T/live" "$BRACE" syscalls -o "$T/table" -- "${PROGRAM[@]}"
[ "$(cat "$T/live.status")" = 5 ]
result "the program's status" $? "$T/live.err"
of_table "$T/table" >"$T/got"
diff "$T/wanted" "$T/got" >"$T/diff"
result "calls and errors, as strace -c -f counts them" $? "$T/diff"
[ "$(wc -l <"$T/wanted")" -ge 9 ]
result "of so many system calls" $? "$T/wanted"
awk 'NR > 1 && $NF == "pselect6" { print $3, $4 }' "$T/table" | grep -q ' [mu]*s$' &&
	/usr/bin/python3 - "$T/table" <<'P'
import sys
unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
for line in open(sys.argv[1]):
    w = line.split()
    if w[-1] == "pselect6":
        t = [float(w[i]) * unit[w[i + 1]] for i in range(2, 14, 2)]
        total, least, mean, p50, p99, most = t
        assert least >= 0.0099 and least <= p50 <= p99 <= most and least <= mean <= most, t
        assert abs(total - 3 * mean) < 0.001 * total, t
        break
else:
    sys.exit(1)
P
result "three waits last as long as they were asked to, at least" $? "$T/table"

# --- by thread, by file ---------------------------------------------------------------------
record -e 'syscalls:sys_*_getppid' -- "${PROGRAM[@]}"
sed -n 's/^thread //p' "$RUN_DIR/said" | sort >"$T/said"
"$BRACE" syscalls --by thread --json "$T/trace" >"$T/json" 2>"$T/err"
of_json "$T/json" tid | sed 's/ 0$//' | sort >"$T/threads"
[ "$(wc -l <"$T/said")" = 3 ] && [ -z "$(comm -23 "$T/said" "$T/threads")" ]
result "a row for each thread" $? "$T/json"
run_in "$T/live" "$BRACE" syscalls --by file --json -o "$T/json" -- "${PROGRAM[@]}"
of_json "$T/json" file >"$T/files"
# openat; what an open file is asked for once more; 30 writes, dup, 2 closes, 5 lseeks, 4 fsyncs of the child's
grep -qx 'of its own 43 0' "$T/files" && grep -qx 'missing 50 50' "$T/files" && grep -qx 'd 40 0' "$T/files"
result "files, also by descriptors, copies of them and those of a child" $? "$T/files"
! grep -qE '^fd -?[0-9]{4,} ' "$T/files"
result "a pipe's argument is no descriptor" $? "$T/files"

# The ends of two pipes have the numbers of files that were closed, one of them by the execution.
cat >"$T/executes.py" <<'P'
import os, sys
closed = os.open("closed", os.O_RDWR | os.O_CREAT)
kept = os.open("kept", os.O_RDWR | os.O_CREAT)
os.set_inheritable(kept, True)
ranged = os.open("ranged", os.O_RDWR | os.O_CREAT)
os.closerange(ranged, ranged + 1)
if os.dup2(kept, 100, inheritable=False) == 100:
    os.execv("/usr/bin/python3", ["python3", "-S", "-E", "-c", f'''
import os
for i in range(9): os.lseek({kept}, 0, 0)
for fd in os.pipe(), os.pipe():
    for i in range(9):
        os.write(fd[1], b"x")
        os.read(fd[0], 1)
for i in range(9):
    try: os.fsync(100)
    except OSError: pass
'''])
P
run_in "$T/live" "$BRACE" syscalls --by file --json -o "$T/json" -- /usr/bin/python3 -S -E "$T/executes.py"
of_json "$T/json" file >"$T/files"
grep -qE '^closed [1-5] ' "$T/files" && grep -qE '^ranged [1-5] ' "$T/files" && grep -qE '^kept 1[0-6] ' "$T/files"
result "an execution closes what it has to" $? "$T/files"

# --- of files -------------------------------------------------------------------------------
for events in 'raw_syscalls:*' 'syscalls:*' 'syscalls:* raw_syscalls:*'; do
	words=()
	for event in $events; do words+=(-e "$event"); done
	set -f
	record "${words[@]}" -- "${PROGRAM[@]}"
	set +f
	"$BRACE" syscalls "$T/trace" >"$T/table" 2>"$T/err"
	of_table "$T/table" >"$T/got"
	diff "$T/wanted" "$T/got" >"$T/diff"
	result "a trace of $events" $? "$T/diff"
done
"$BRACE" syscalls --by file --json "$T/trace" >"$T/json" 2>"$T/err"
of_json "$T/json" file >"$T/files"
grep -qx 'of its own 43 0' "$T/files"
result "files, of a trace that has both" $? "$T/files"
[ "$("$BRACE" syscalls -s calls --limit 2 "$T/trace" | awk 'NR == 2 { print $NF, $1 }')" = "$(awk '$1 == "getppid" { print $1, $2 }' "$T/wanted")" ]
result "sorted, and cut" $? "$T/table"
"$BRACE" syscalls --by error -s name "$T/trace" >"$T/table" 2>"$T/err"
grep -qE '^ +50 +50 .* rmdir ENOENT$' "$T/table" && [ "$(sed '1d;$d' "$T/table" | awk '$1 != $2' | wc -l)" = 0 ] &&
	[ "$(tail -n 1 "$T/table" | awk '{ print $2 }')" = "$("$BRACE" syscalls "$T/trace" | tail -n 1 | awk '{ print $2 }')" ]
result "failures, by the names of their errors" $? "$T/table"
[ "$("$BRACE" syscalls -s name -r --json "$T/trace" | sed -n 2p | grep -c '"name":"write"')" = 1 ]
result "the other way round" $? "$T/table"

# --- attached -------------------------------------------------------------------------------
coproc ASKED { exec bash -c 'while read -r mask; do umask "$mask"; echo; done'; }
PID=$ASKED_PID
ON_EXIT+=("kill $PID")
"$BRACE" syscalls -p "$PID" -o "$T/table" 2>"$T/err" &
brace=$!
inside() {
	{ grep -q brace-code "/proc/$PID/maps" && grep -qE '^TracerPid:.0$' "/proc/$PID/status"; } || ! kill -0 $brace 2>/dev/null
}
if until_is inside && kill -0 $brace 2>/dev/null; then
	for i in 1 2 3 4 5; do echo 022 >&"${ASKED[1]}"; read -rt "$LIMIT" -u "${ASKED[0]}" _; done
	kill -TERM $brace
	wait $brace
	grep -qE '^ +5 +0 .* umask$' "$T/table"
	result "a process that runs already" $? "$T/table"
else
	wait $brace
	skip "a process that runs already" "$(tail -n 1 "$T/err")"
fi

# --- what is wrong --------------------------------------------------------------------------
refused() { # NAME WORDS ARGUMENT...: one sentence, which may have the wrong word below it, with a caret
	local name=$1 words=$2 status
	shift 2
	"$BRACE" syscalls "$@" >"$T/out" 2>"$T/err"
	status=$?
	[ $status = 125 ] && [ "$(grep -c '^brace: ' "$T/err")" = 1 ] && grep -qF "$words" "$T/err" && [ ! -s "$T/out" ]
	result "$name" $? "$T/err"
}
refused "no such rows" "there are call, thread, file, error" --by day "$T/trace"
refused "no such column" "there are calls, errors" -s self "$T/trace"
check_that "the word is pointed at" test "$(tail -n 2 "$T/err")" = $'  self\n  ^'
refused "rows of single calls" "is about rows of the table" --lines --by file "$T/trace"
refused "a program without --" "a program to run stands behind --" /bin/ls /
refused "no program" "no program stands behind --" --
refused "no file" "$T/no-file" "$T/no-file"
record -l main -- "$FIXTURES/stepper" none
"$BRACE" syscalls "$T/trace" >"$T/out" 2>"$T/err"
status=$?
[ $status = 0 ] && grep -q "no system call is in the trace" "$T/err"
result "a trace without system calls" $? "$T/err"
finish

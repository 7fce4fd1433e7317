#!/bin/bash
# Events of threads and processes: every one that strace saw in the same run, and no other, with the
# same numbers, flags, names and paths. Then a process that runs already, in the mounted tree.
. "$(dirname "$0")/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
PRIO=$((120 + $(nice))) # of what is started here
need "$PYTHON" strace
STRACED=clone,clone3,fork,vfork,execve,execveat,exit,exit_group,prctl

trace_of() { # FILE: the events as text, without the tracer's words
	"$BRACE" replay --no-pager "$1" 2>"$T/replay.err" | grep -v '^#'
}

# compare NAME KINDS... -- PROGRAM...: brace and the program under strace, which is none of ours.
compare() {
	local name=$1 kinds=()
	shift
	while [ "$1" != -- ]; do
		kinds+=("$1")
		shift
	done
	shift
	timeout -k 5 "$LIMIT" strace -f -q -e trace=$STRACED -s 256 -o "$T/strace" \
		"$BRACE" record -b 16M -o "$T/t.brace" -e 'task:*' -e 'sched:*process*' -- "$@" >"$T/out" 2>"$T/err" </dev/null
	trace_of "$T/t.brace" >"$T/lines"
	check "$name" "$PYTHON" "$HERE/task_truth.py" "$T/strace" "$T/lines" "${kinds[@]}"
}

# Ends that nobody asks for are told by perf, where it is allowed.
END=exit
"$BRACE" list --events | grep -q '^sched:sched_switch$' && END=end

# --- launched -----------------------------------------------------------------------------
compare "python: threads, every kind of child, names, programs" new fork exec "$END" rename -- "$PYTHON" "$WORK/tasks.py"
grep -q 'sched_process_exec: filename=/bin/sh pid=\([0-9]*\) old_pid=\([0-9]*\)$' "$T/lines" &&
	sed -n 's/.*sched_process_exec: .* pid=\([0-9]*\) old_pid=\([0-9]*\)$/\1 \2/p' "$T/lines" | awk '$1 != $2 { n++ } END { exit n != 1 }'
result "a thread that executes a program was another before" $? "$T/lines"
grep -q 'task_rename: pid=[0-9]* oldcomm=a name longer t newcomm=sh ' "$T/lines"
result "and had a name of its own" $? "$T/lines"
[ "$(grep -c ' task_exec: ' "$T/lines")" = "$(grep -c ' sched_process_exec: ' "$T/lines")" ] &&
	[ "$(grep -c ' task_exit: ' "$T/lines")" = "$(grep -c ' sched_process_exit: ' "$T/lines")" ]
result "task:task_exec and task:task_exit are the same events" $?
awk '/sched_process_exec: filename=/ { split($0, a, "pid="); executed[a[2] + 0] = 1 }
     /task_newtask: pid=/ && /clone_flags=4100/ { split($0, a, "pid="); if (executed[a[2] + 0]) late++; n++ }
     END { exit !n || late }' "$T/lines"
result "a child of vfork is told of before it executes" $? "$T/lines"

if [ $END = end ]; then
	compare "ends: by exit_group, by signals, by a program that another thread executes" end new -- "$PYTHON" "$WORK/ends.py"
	[ "$(grep -c ' task_exit: ' "$T/lines")" = "$(grep -c ' sched_process_exit: ' "$T/lines")" ]
	result "each as both events" $?
	awk '/ task_exit: /{ split($0, a, "pid="); if (index($0, "-" a[2] + 0 " ") == 0) bad++ } END { exit bad > 0 }' "$T/lines"
	result "as a record of the thread's own" $? "$T/lines"
else
	skip "ends: by exit_group, by signals, by a program that another thread executes" "perf is not allowed here"
fi

compare "children by libc's syscall(), which the agent leads" new fork -- "$PYTHON" "$WORK/clones.py"
[ "$(cat "$T/out")" = "made True" ] && [ "$(grep -c 'task_newtask: ' "$T/lines")" = 50 ]
result "and what that returned" $? "$T/lines"

cat >"$T/script.sh" <<'S'
for i in 1 2 3 4 5; do /bin/true; (exit "$i"); done
ls / | sort | sort -r >/dev/null
x=$(/bin/true; echo hi)
nice -n 7 /bin/true
renice -n 3 $BASHPID >/dev/null
exec /bin/true
S
compare "bash: forks, pipelines, programs" new fork exec "$END" -- bash "$T/script.sh"
[ "$(grep -c 'sched_process_exit: comm=true pid=[0-9]* prio='$((PRIO + 7))'$' "$T/lines")" = 1 ] &&
	[ "$(grep -c 'sched_process_exit: comm=true pid=[0-9]* prio=123$' "$T/lines")" = 1 ]
result "at their priorities" $? "$T/lines"

cat >"$T/redis.sh" <<S
redis-server --port 0 --unixsocket $T/redis.sock --dir $T --save '' --daemonize no >/dev/null &
until redis-cli -s $T/redis.sock ping 2>/dev/null | grep -q PONG; do :; done
redis-cli -s $T/redis.sock set a 1
redis-cli -s $T/redis.sock bgsave
until [ -s $T/dump.rdb ]; do :; done
until redis-cli -s $T/redis.sock shutdown nosave; [ ! -S $T/redis.sock ]; do :; done
wait
S
if command -v redis-server >/dev/null; then
	compare "redis: its threads and what saves" new fork exec "$END" rename -- bash "$T/redis.sh"
else
	skip "redis: its threads and what saves" "redis-server is not installed"
fi

[ "$("$BRACE" list --events | grep -c '^task:task_\|^sched:sched_process_')" = 7 ]
result "list --events has them" $?

# --- filters, in the program ----------------------------------------------------------------
record_only() { # ARGUMENTS...
	timeout -k 5 "$LIMIT" "$BRACE" record -b 16M -o "$T/t.brace" "$@" -- "$PYTHON" "$WORK/tasks.py" >"$T/out" 2>"$T/err" </dev/null
	trace_of "$T/t.brace" >"$T/lines"
}
record_only -e task:task_newtask -f 'clone_flags & 0x10000'
check_that "a filter on a number" [ "$(grep -c task_newtask "$T/lines")" = 21 ]
record_only -e task:task_rename -f 'newcomm ~ "thread-1*"'
check_that "on a name" [ "$(grep -c task_rename "$T/lines")" = 11 ]
record_only -e sched:sched_process_exec -f 'filename ~ "*/true"'
check_that "on a program's path, when it begins" [ "$(grep -c 'filename=/bin/true' "$T/lines")" = 3 -a "$(wc -l <"$T/lines")" = 3 ]
record_only -e sched:sched_process_exec -f 'pid > 1 && old_pid != 0'
check_that "on a number, when it begins" [ "$(grep -c 'sched_process_exec: filename=' "$T/lines")" = 6 ]
record_only -e sched:sched_process_exit -f "prio == $PRIO && pid > 1"
check_that "on a number, when it ends" [ "$(grep -c 'sched_process_exit: comm=' "$T/lines")" = $([ $END = end ] && echo 32 || echo 31) ]
record_only -e sched:sched_process_exit -f 'COMM == "of-a-pool"'
check_that "on who it is" [ "$(grep -c sched_process_exit "$T/lines")" = 1 ]
record_only -e task:task_newtask -t function_graph -l 'PyThread_start_new_thread'
grep -A1 '|  PyThread_start_new_thread() {$' "$T/lines" | grep -q '|  /\* task_newtask: pid=.* \*/$'
result "comments in the graph, inside of who asked for it" $? "$T/lines"

# --- a process that runs, in the tree --------------------------------------------------------
cat >"$T/program.py" <<'PY'
import ctypes, os, sys, threading
print("ready", flush=True)
for line in sys.stdin:
    what, n = line.split()
    for i in range(int(n)):
        if what == "threads":
            t = threading.Thread(target=int)
            t.start()
            t.join()
        elif what == "forks":
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
        elif what == "names":
            ctypes.CDLL(None).prctl(15, b"name-%d" % i, 0, 0, 0)
        elif what == "end":
            sys.exit(int(n))
    print("done", flush=True)
PY
coproc PROGRAM { exec "$PYTHON" "$T/program.py"; }
exec {TO}>&"${PROGRAM[1]}" {FROM}<&"${PROGRAM[0]}"
PID=$PROGRAM_PID
read -rt "$LIMIT" -u "$FROM" _
D=$T/tree
mkdir "$D"
ON_EXIT+=("kill $PID")
if ! "$BRACE" mount "$D" -p "$PID" 2>"$T/err"; then
	grep -qE '/dev/fuse|cannot mount on|ptrace' "$T/err" && skip "in the tree" "$(cut -d' ' -f2- "$T/err")" || { not_ok mount; diag "$T/err"; }
	finish
fi
ON_EXIT+=("$BRACE umount --lazy $D")
go() { # WHAT TIMES
	echo "$1 $2" >&"$TO"
	read -rt "$LIMIT" -u "$FROM" _
}
has() { [ "$(grep -c -- "$2" "$D/trace")" = "$1" ]; }
go threads 3
check_that "attached: nothing is recorded of what is not enabled" has 0 task_
echo 1 >"$D/events/task/task_newtask/enable"
go threads 5
check_that "threads of a process that ran already" has 5 'task_newtask: pid=[0-9]* comm='"${PYTHON##*/}"' clone_flags=3d0f00 '
go forks 4
check_that "and its children" has 4 'clone_flags=1200000 '
check_that "and no other event" has 0 'task_exit'
echo 'task:task_rename' >>"$D/set_event"
go names 12
check_that "set_event" has 12 'task_rename: pid='"$PID"' .* newcomm=name-[0-9]* '
check_that "the last name is the one in /proc" [ "$(sed -n 's/.*newcomm=\([^ ]*\) .*/\1/p' "$D/trace" | tail -1)" = "$(cat "/proc/$PID/comm")" ]
echo 'newcomm ~ "*-1?"' >"$D/events/task/task_rename/filter"
echo >"$D/trace"
go names 12
check_that "events/SYSTEM/EVENT/filter" has 2 task_rename
echo 1 >"$D/events/sched/sched_process_exit/enable"
go threads 6
go forks 2
check_that "ends" has 8 'sched_process_exit: '
echo >"$D/set_event"
echo >"$D/trace"
go threads 3
go names 3
check_that "off again" has 0 'task_\|sched_'
check "umount" "$BRACE" umount "$D"
echo "end 7" >&"$TO"
wait "$PID"
check_that "the program ends as it would have" [ $? = 7 ]
finish

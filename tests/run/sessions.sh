#!/bin/bash
# Sessions in the background: start, stop, restart, show, stream, set, extract, stat, reset, as
# trace-cmd's user has them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
TOLD=26
brace() { timeout -k 5 "$LIMIT" "$BRACE" "$@" 2>"$T/err" </dev/null; }
leaves() { [ "$(brace show | grep -c 'leaf()')" = "$1" ]; }
# says NAME STATUS WORDS COMMAND...
says() {
	local name=$1 status=$2 words=$3
	shift 3
	brace "$@" >"$T/out"
	[ $? -eq "$status" ] && grep -q -- "$words" "$T/err"
	result "$name" $? "$T/err"
}

says "no session" 125 'no session named default runs' show
start_program
if ! brace start -p "$PID" -l leaf; then
	grep -q ptrace "$T/err" || { not_ok start; diag "$T/err"; finish; }
	printf '1..0 # SKIP %s\n' "$(cut -d' ' -f2- "$T/err")"
	exit 0
fi
ON_EXIT+=("$BRACE reset" "$BRACE reset --session two" "kill $PID")
[ "$(brace sessions)" = default ]
result "sessions lists it" $?
[ "$(stat -c %a "$XDG_RUNTIME_DIR/brace")" = 700 ]
result "in a directory of mode 0700" $?
says "a second of its name is refused" 125 'runs already' start -p "$PID"
tell 5
check_that "show: what was recorded" leaves 5
check_that "and again" leaves 5
check brace-stop "$BRACE" stop
tell 7
check_that "stop: nothing more" leaves 5
check brace-restart "$BRACE" restart
tell 3
check_that "restart: again" leaves 8
says "set: a function that is not there" 125 'no function that can be traced matches nonesuch' set -l nonesuch
tell 1
check_that "changes nothing" leaves 9
check "set" "$BRACE" set -l request
tell 4
check_that "other functions" leaves 9
[ "$(brace show | grep -c 'request()')" = 1 ]
result "are recorded" $?
check "start without a program sets options and goes on" "$BRACE" start -l leaf -l request
brace stat >"$T/stat"
grep -qx 'Tracer: function_graph' "$T/stat" && grep -qx 'Recording: 1' "$T/stat" && grep -qx 'leaf' "$T/stat"
result "stat" $? "$T/stat"
grep -qx "Programs: $PID [a-z]*" "$T/stat" && grep -q '^Records: [1-9]' "$T/stat"
result "it names the processes, and counts records" $? "$T/stat"
[ "$(brace sessions -l)" = "default: records, function_graph, programs: $(sed -n 's/^Programs: //p' "$T/stat")" ]
result "sessions --long does, too" $? "$T/err"
[ "$(brace show current_tracer)" = function_graph ]
result "show FILE" $?
says "a file that is not there" 125 'nonesuch' show nonesuch

# --- list: as trace-cmd's, of the session
lists() { # NAME WANT ARGUMENT...
	local name=$1 want=$2
	shift 2
	[ "$(brace list "$@" | tr '\n' ' ')" = "$want" ]
	result "list $name" $? "$T/err"
}
lists "functions" "leaf request " leaf request
lists "of a module" "leaf request " 'leaf:mod:answers' 'request:mod:answers'
lists "-t" "$TRACERS " -t
lists "-e" "task:task_exec task:task_exit " -e 'task:*e[x]*'
lists "-s" "task sched " -s sched task
lists "-o" "nofuncgraph-overrun funcgraph-cpu " -o funcgraph-overrun funcgraph-cpu
brace set -e task:task_rename -f 'pid == 7' -R traceoff:3
lists "-l -R" "task:task_rename   pid == 7 task:task_rename   traceoff:count=3 " -e -l -R task
[ "$(brace list -e -F task_rename | grep -c 'field:')" = 8 ] && ! brace list -e -F task_rename | grep -q '^print fmt' &&
	brace list -e --full task_rename | grep -q '^print fmt: "pid=%d'
result "list -F, --full" $? "$T/err"
brace set -e task:task_rename -f 0 -R '!traceoff' && brace set -e '!task:task_rename'
lists "-l -R: nothing any more" "" -e -l -R
says "list of what matches nothing" 125 'no function matches nonesuch' list nonesuch
says "a system that is not there" 125 'no system matches nonesuch' list -s nonesuch
says "--why of a session" 125 'goes with -f' list --why
brace list -C | grep -q '\[local\]'
result "list -C" $?
[ "$(brace list --json leaf)" = '{"schema":"brace-list-session","version":1}
{"name":"leaf","module":null}' ]
result "list --json" $?

# --- a shell on the session: its tree, whose changes stay
if timeout "$LIMIT" "$BRACE" shell -- true 2>"$T/err" </dev/null; then
	W=/sys/kernel/tracing
	in_shell() { timeout "$LIMIT" "$BRACE" shell -- sh -c "cd $W && $1" 2>"$T/err" </dev/null; }
	[ "$(in_shell 'grep -c "leaf()" trace')" = 9 ]
	result "a shell on the session has what was recorded" $? "$T/err"
	in_shell 'mkdir instances/i && echo function >instances/i/current_tracer && echo 1 >instances/i/events/task/enable'
	lists "-B: an instance that was made in a shell" "i " -B
	timeout "$LIMIT" "$BRACE" shell --session default -l request -- sh -c "cat $W/set_ftrace_filter; exit 7" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 7 ] && [ "$(cat "$T/out")" = request ]
	result "options are set in the session first, and the status is the command's" $? "$T/err"
	brace set -l leaf
	# Two at once, one of which reads what the other waits for.
	timeout "$LIMIT" "$BRACE" shell -- sh -c "exec <$W/instances/i/trace_pipe; echo open; exec cat" >"$T/pipe" 2>/dev/null </dev/null &
	PIPE=$!
	for ((i = 0; i < 600; i++)); do
		grep -q open "$T/pipe" && break
		read -rt 0.05 _ <> <(:)
	done
	[ "$(in_shell 'cat set_ftrace_filter')" = leaf ]
	result "two shells at once" $? "$T/err"
	tell t2
	TOLD=$((TOLD + 11))
	for ((i = 0; i < 600; i++)); do
		grep -q ': leaf <-' "$T/pipe" && grep -q task_exit "$T/pipe" && break
		read -rt 0.05 _ <> <(:)
	done
	[ "$(grep -c ': leaf <-request$' "$T/pipe")" = 2 ]
	result "a reader that waits in one is served while the other works" $? "$T/pipe"
	kill "$PIPE"
	wait "$PIPE" 2>/dev/null
	# The programs record task_exit, for i: no part of the session's own trace.
	[ "$(brace show | grep -c 'task_exit\|task_newtask')" = 0 ] && brace extract -q -o "$T/part.brace" &&
		[ "$(brace replay "$T/part.brace" | grep -c 'leaf()')" = 11 ] && ! brace replay "$T/part.brace" | grep -q 'task_'
	result "extract: without what is another instance's" $? "$T/err"
	in_shell 'rmdir instances/i'
	result "rmdir of the instance" $? "$T/err"
	says "a shell on a session that is not there" 125 'no session named nonesuch' shell --session nonesuch -- true
	says "a shell of two things" 125 'not several' shell --session default -p "$PID" -- true
	brace clear
	tell 9
else
	grep -qE '/dev/fuse|no namespace of our own|there is no directory' "$T/err"
	result "a shell on the session" $? "$T/err"
fi

# --- extract
(cd "$T" && brace extract -q -o rel.brace)
[ "$(stat -c %a "$T/rel.brace")" = 600 ] && [ "$(brace report "$T/rel.brace" | awk '$NF == "[answers]" && $(NF-1) == "leaf" { print $1 }')" = 9 ]
result "extract: a trace file, 0600, that report reads" $? "$T/err"
[ "$(brace replay "$T/rel.brace" | grep -c 'leaf()')" = 9 ]
result "and replay" $?
check_that "and nothing was taken away" leaves 9
says "extract into no directory" 125 'none' extract -o "$T/none/x"

# --- snapshot
check "snapshot --take" "$BRACE" snapshot --take
check_that "the buffer begins anew" leaves 0
[ "$(brace snapshot | grep -c 'leaf()')" = 9 ]
result "snapshot: what was in it" $?
check "snapshot --clear" "$BRACE" snapshot --clear
[ "$(brace snapshot | grep -c 'leaf()')" = 0 ]
result "it is empty then" $?
check "snapshot --free" "$BRACE" snapshot -f
says "several at once" 125 'not several' snapshot -s -f

# --- clear and stream
check "clear" "$BRACE" clear
check_that "clear" leaves 0
timeout "$LIMIT" "$BRACE" stream >"$T/stream" 2>"$T/err" </dev/null &
STREAM=$!
tell 6
for ((i = 0; i < 600; i++)); do
	[ "$(grep -c 'leaf()' "$T/stream")" = 6 ] && break
	read -rt 0.05 _ <> <(:)
done
[ "$(grep -c 'leaf()' "$T/stream")" = 6 ]
result "stream" $? "$T/stream"
says "a second stream" 125 'open already' stream
check_that "what was streamed is gone" leaves 0
end_program
[ "$STATUS" -eq 0 ]
result "the program ends as it would have" $?
[ "$SAID" = "done $TOLD" ]
result "and computed the same" $?
wait "$STREAM"
result "the stream ends with it" $? "$T/err"
check "reset" "$BRACE" reset
[ -z "$(brace sessions)" ]
result "no session is left" $?

# --- launched, by another name
printf '4\nq\n' >"$T/in"
timeout "$LIMIT" "$BRACE" start --session two -t function -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
result "start PROGRAM" $? "$T/err"
for ((i = 0; i < 600; i++)); do
	[ "$(brace show --session two | grep -c ': leaf <-request$')" = 4 ] && break
	read -rt 0.05 _ <> <(:)
done
[ "$(brace show --session two | grep -c ': leaf <-request$')" = 4 ]
result "is traced from the beginning" $?
printf 'ready\ndone 4\n' | cmp -s - "$T/out"
result "its output is its own" $? "$T/out"
check "reset by name" "$BRACE" reset --session two
# The kernel keeps no status of children then; programs inherit it.
cat >"$T/ignoring.py" <<'P'
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
P
ignoring() { timeout -k 5 "$LIMIT" python3 "$T/ignoring.py" "$BRACE" record -q -o "$T/ignored" -- "$@" 2>"$T/err" </dev/null; }
ignoring bash -c 'exit 7'
[ $? -eq 7 ]
result "SIGCHLD is ignored where brace starts: the status comes" $? "$T/err"
ignored=$(ignoring grep SigIgn /proc/self/status) && (((16#${ignored#*:?} >> 16) & 1))
result "the program finds it ignored" $? "$T/err"
says "a program that is not there" 127 'none' start -- "$T/none"
[ -z "$(brace sessions)" ]
result "leaves no session" $?

# --- reset while a program runs that was started: it goes on untraced
until_true() { # NAME COMMAND...
	local name=$1 i
	shift
	for ((i = 0; i < 600; i++)); do
		if "$@"; then
			ok "$name"
			return
		fi
		read -rt 0.05 _ <> <(:)
	done
	not_ok "$name"
}
started_calls() { [ "$(brace show --session three | grep -c ': leaf <-request$')" = "$1" ]; }
mkfifo "$T/in3"
exec 6<>"$T/in3"
timeout "$LIMIT" "$BRACE" start --session three -t function -e 'raw_syscalls:*' -- "$A" <"$T/in3" >"$T/out3" 2>"$T/err"
result "start a program that waits" $? "$T/err"
echo 4 >&6
until_true "it is traced" started_calls 4
STARTED=$(brace show --session three saved_cmdlines | awk '{ print $1; exit }')
check "reset while a started program waits in a system call" "$BRACE" reset --session three
[ -n "$STARTED" ] && [ -d "/proc/$STARTED" ] && ! grep -qE 'brace-(session|code|image)' "/proc/$STARTED/maps"
result "it is as if it had never been traced, but for the agent's library" $?
printf '3\nq\n' >&6
printf 'ready\ndone 4\ndone 7\n' >"$T/want"
until_true "it goes on, and computes the same" cmp -s "$T/out3" "$T/want"
ended() { [ ! -d "/proc/$STARTED" ]; }
until_true "and ends" ended
exec 6>&-

# --- reset while it runs; a daemon that is killed
start_program
brace start -p "$PID"
tell 2
check "reset while the program runs" "$BRACE" reset
! grep -qE 'brace-(session|code|image)' "/proc/$PID/maps"
result "it is left as it was when reset returns" $?
brace start -p "$PID"
DAEMON=$(pgrep -f "^$BRACE start -p $PID\$")
kill -KILL "$DAEMON"
for ((i = 0; i < 600; i++)); do
	[ -d "/proc/$DAEMON" ] || break
	read -rt 0.05 _ <> <(:)
done
tell 3
[ "$SAID" = "done 5" ]
result "a killed daemon: the program goes on" $?
[ -z "$(brace sessions)" ]
result "and its session is not listed" $?
says "nor found" 125 'no session named default runs' show
check "a new one takes its place" "$BRACE" start -p "$PID" -l leaf
tell 2
check_that "and traces" leaves 2
check "reset" "$BRACE" reset
for ((i = 0; i < 4; i++)); do
	(timeout "$LIMIT" "$BRACE" start --session same -p "$PID" -l leaf 2>"$T/same.$i" </dev/null; echo $? >>"$T/same") &
	RACE[i]=$!
done
wait "${RACE[@]}"
[ "$(sort "$T/same" | uniq -c | xargs)" = "1 0 3 125" ] && [ "$(cat "$T"/same.* | grep -cE 'runs already|is traced by|ptrace')" = 3 ]
result "four of one name at once: one begins" $? <(cat "$T/same" "$T"/same.*)
[ "$(brace sessions)" = same ]
result "and is listed" $?
check "reset" "$BRACE" reset --session same
tell 1
[ "${SAID%% *}" = done ]
result "the program goes on" $?

# --- a program that has ended
brace start -t function -l main -- "$A" <<<q >/dev/null
for ((i = 0; i < 600; i++)); do
	[ "$(brace show | grep -c ': main <-')" = 1 ] && break
	read -rt 0.05 _ <> <(:)
done
[ "$(brace sessions)" = default ] && brace stat | grep -qx 'Tracer: function' && brace set -l request && [ "$(brace show | grep -c ': main <-')" = 1 ]
result "a session whose program has ended can be read and set" $? "$T/err"
check "and reset" "$BRACE" reset

# --- where sessions are
XDG_RUNTIME_DIR=$T/none says "a directory that is not there" 125 'cannot make' show
XDG_RUNTIME_DIR=relative timeout "$LIMIT" "$BRACE" help >/dev/null 2>"$T/err"
result "one that is no path does not matter where none is needed" $? "$T/err"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	mkdir -m 700 "$T/others" && chown 65534 "$T/others"
	XDG_RUNTIME_DIR=$T/others brace sessions >/dev/null
	[ $? -eq 0 ] && [ -z "$(ls "$T/others")" ]
	result "another user's is left alone" $? "$T/err"
fi
chmod 755 "$XDG_RUNTIME_DIR/brace"
says "a directory that others may enter is refused" 125 'yours alone' start -p "$PID"
says "a name that is none" 125 'letters, digits' show --session a/b
finish

#!/bin/bash
# A reader that lags, in mode block: the program waits for it, and no record is lost, whether the
# graph has the settings of the command line or those of a tree. The reader reads nothing until
# the program stands in the futex on which the agent lets it wait.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
# More than a pass of the pump, and then the memory of the program, have room for.
CALLS=12000000
# waits PID: it stands in futex(2).
waits() { [ "$(cut -d' ' -f1 "/proc/$1/syscall" 2>/dev/null)" = 202 ]; }
# child_waits PID: so does the program that this command has started.
child_waits() {
	local child
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		[ "$(readlink "/proc/$child/exe")" != "$A" ] || ! waits "$child" || return 0
	done
	return 1
}
mkfifo -m 600 "$T/lines" "$T/other"

# lags NAME OPTION...: brace graph, whose reader waits for the program to wait.
lags() {
	local name=$1 graph got
	shift
	printf '%s\n' "$CALLS" q >"$T/told"
	# The program's own lines would come between: it has another output.
	"$BRACE" graph -b 256 --mode block -l leaf -o "$T/lines" "$@" -- "$A" <"$T/told" >"$T/said" 2>"$T/err" &
	graph=$!
	exec {LINES_AT}<"$T/lines"
	check_that "$name: the program waits for the reader" until_is child_waits "$graph"
	# A call that the printer was asked for in the middle has two lines.
	got=$(grep -c 'leaf() *[;{]' <&"$LINES_AT")
	exec {LINES_AT}<&-
	wait "$graph"
	result "$name: brace ends well" $? "$T/err"
	[ "$got" = "$CALLS" ] || echo "# $got of $CALLS"
	[ "$got" = "$CALLS" ]
	result "$name: each call has come" $? "$T/err"
	grep -q 'no records lost' "$T/err"
	result "$name: and none is lost" $? "$T/err"
}
lags "a plain graph"
lags "a graph with a trigger" -e task:task_exit -R traceon

# --- a session in the background: its trace_pipe lags, its other files answer
brace() { timeout -k 5 "$LIMIT" "$BRACE" "$@" 2>"$T/err" </dev/null; }
start_program
check "a session in mode block" "$BRACE" start -p "$PID" -l leaf --mode block -b 256
ON_EXIT+=("$BRACE reset" "kill $PID")
"$BRACE" stream >"$T/other" 2>"$T/stream.err" </dev/null &
STREAM=$!
ON_EXIT+=("kill $STREAM")
exec {LINES_AT}<"$T/other"
tell 1
read -rt "$LIMIT" -u "$LINES_AT" line # the pipe is open
echo "$CALLS" >&"$TO"
check_that "its program waits for the stream" until_is waits "$PID"
check_that "the trace is shown meanwhile" brace stat
brace show >"$T/shown"
result "and read" $? "$T/err"
grep -q 'leaf();' "$T/shown"
result "with what has come" $? "$T/err"
builtin kill "$STREAM"
exec {LINES_AT}<&-
read -rt "$LIMIT" -u "$FROM" SAID
check_that "without the reader the program goes on" [ "$SAID" = "done $((CALLS + 1))" ]
# A change stops the program's threads: those that wait for room have to leave the agent for it.
"$BRACE" stream >"$T/other" 2>"$T/stream.err" </dev/null &
STREAM=$!
ON_EXIT+=("kill $STREAM")
exec {LINES_AT}<"$T/other"
tell 1
read -rt "$LIMIT" -u "$LINES_AT" line
echo "$CALLS" >&"$TO"
check_that "it waits for the next stream" until_is waits "$PID"
brace set -l request
result "another function is chosen meanwhile" $? "$T/err"
read -rt "$LIMIT" -u "$FROM" SAID
check_that "which the program does not have to wait for" [ "$SAID" = "done $((2 * CALLS + 2))" ]
brace set -l leaf
echo "$CALLS" >&"$TO"
check_that "it waits again" until_is waits "$PID"
brace stop
result "recording is stopped meanwhile" $? "$T/err"
read -rt "$LIMIT" -u "$FROM" SAID
check_that "which frees the program" [ "$SAID" = "done $((3 * CALLS + 2))" ]
builtin kill "$STREAM"
exec {LINES_AT}<&-
end_program
check_that "and ends" [ "$STATUS" = 0 ]
finish

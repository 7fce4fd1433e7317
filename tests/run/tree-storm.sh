#!/bin/bash
# The tree at its worst: several shells that write at once, readers meanwhile, one that never reads,
# the program's death and the tree's end under those who read. Nothing hangs, nothing is lost, and
# afterwards counts are exact again.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
ROUNDS=${ROUNDS:-10}
mkdir "$D"
count() { grep -c -- "$1" "$D/$2"; }
has() { [ "$(count "$2" "$3")" = "$1" ]; }
ends() { ! kill -0 "$1" 2>/dev/null || [ "$(ps -o stat= -p "$1")" = Z ]; }
: >"$T/piped"
piped() { [ "$(grep -c 'leaf <-request' "$T/piped")" = "$1" ]; }
# ended PID WHAT: a process in the background ends by itself.
ended() {
	until_is ends "$1"
	result "$2" $?
	kill -9 "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}
serve() {
	"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
}

start_program
serve
ON_EXIT+=("$BRACE umount --lazy $D")

# --- shells that write at once
# A shell's ROUNDS of changes to an instance of its own; refusals are in $T/refused.
tracer_storm() {
	local i d=$D/instances/$1
	mkdir "$d"
	for ((i = 0; i < ROUNDS; i++)); do
		echo "$2" >"$d/current_tracer"
		echo leaf >"$d/set_ftrace_filter"
		echo request >>"$d/set_ftrace_filter"
		echo $((i % 2)) >"$d/tracing_on"
		echo nop >"$d/current_tracer"
		echo >"$d/set_ftrace_filter"
		echo >"$d/trace"
		[ $((i % 2)) = 0 ] || echo "$1 $i" >"$d/trace_marker" # EBADF while tracing is off
	done 2>>"$T/refused"
	until_is rmdir "$d" 2>/dev/null # EBUSY while somebody reads in it
}
top_storm() {
	local i
	for ((i = 0; i < ROUNDS; i++)); do
		echo function_graph >"$D/current_tracer"
		echo $((i % 3)) >"$D/max_graph_depth"
		echo 1 >"$D/snapshot"
		echo 1 >"$D/events/enable"
		echo function >"$D/current_tracer"
		echo 0 >"$D/events/enable"
		echo "no_such_function" >"$D/set_ftrace_filter"
		echo nop >"$D/current_tracer"
	done 2>>"$T/refused.top"
}
reader_storm() {
	while [ ! -e "$T/calm" ]; do
		cat "$D/trace" "$D/snapshot" "$D/enabled_functions" "$D/per_cpu/cpu0/stats" "$D/saved_cmdlines" >/dev/null
		cat "$D"/instances/*/trace >/dev/null 2>&1
	done
}
: >"$T/refused"
tracer_storm one function & STORMS=($!)
tracer_storm two function_graph & STORMS+=($!)
top_storm & STORMS+=($!)
reader_storm & READERS=($!)
timeout "$LIMIT" cat "$D/trace_pipe" >/dev/null & READERS+=($!)
CALLED=0
until ends "${STORMS[0]}" && ends "${STORMS[1]}" && ends "${STORMS[2]}"; do
	tell 200 t50
	CALLED=$((CALLED + 250))
done
: >"$T/calm"
wait "${STORMS[@]}"
kill "${READERS[1]}" 2>/dev/null
wait "${READERS[@]}" 2>/dev/null
[ "$SAID" = "done $CALLED" ]
result "the program computes the same" $?
! grep -v 'No such process' "$T/refused" | grep -q .
result "nothing was refused that was right" $? "$T/refused"
[ "$(grep -c 'Invalid argument' "$T/refused.top")" = "$(wc -l <"$T/refused.top")" ] &&
	[ "$(wc -l <"$T/refused.top")" = "$ROUNDS" ]
result "what was wrong was, each time" $? "$T/refused.top"
check_that "the instances are gone" [ -z "$(ls "$D/instances")" ]
[ "$(cat "$D/enabled_functions")" = '' ]
result "nothing is hooked" $? "$D/enabled_functions"
echo 0 >"$D/max_graph_depth"
echo >"$D/set_ftrace_filter"
echo >"$D/trace"
echo function >"$D/current_tracer"
tell 100
check_that "counts are exact again" has 100 ': leaf <-request$' trace

# --- a reader that never reads
exec 7<"$D/trace_pipe"
tell 100000
has 100100 ': leaf <-request$' trace
result "somebody who never reads is in nobody's way" $?
exec 8<"$D/trace"
read -rn 10 -u 8
echo nop >"$D/current_tracer"
result "nor who stops reading" $?
echo function >"$D/current_tracer"
exec 7<&- 8<&-

# --- the program dies under its readers
cat "$D/trace_pipe" >"$T/piped" & READER=$!
while :; do cat "$D/trace" >/dev/null 2>&1 || break; done & READING=$!
tell 5000
{ kill -9 "$PID" && wait "$PID"; } 2>/dev/null
check "files read after its death" grep -q 'tracer: function' "$D/trace"
until_is piped 5000
result "all it recorded came" $?
check "files are written after its death" bash -c "echo nop >$D/current_tracer"

# --- unmount while read
"$BRACE" umount "$D" 2>/dev/null || "$BRACE" umount --lazy "$D"
result "unmount while it is read" $?
ended "$READER" "a reader that waits ends"
ended "$READING" "a reader that goes on ends"
check_that "the directory is as it was" [ -z "$(ls "$D")" ]
exec {TO}>&- {FROM}<&-

# --- unmount while the program runs and others read
start_program
serve
echo function >"$D/current_tracer"
cat "$D/trace_pipe" >"$T/piped" & READER=$!
tell 3000
until_is piped 3000
result "trace_pipe as it comes" $?
"$BRACE" umount "$D" 2>/dev/null || "$BRACE" umount --lazy "$D"
ended "$READER" "its reader ends with the tree"
tell 10
[ "$SAID" = "done 3010" ]
result "the program goes on" $?
end_program
[ "$STATUS" = 0 ]
result "and ends as ever" $?
finish

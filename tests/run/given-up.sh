#!/bin/bash
# A second interrupt while brace attaches ends the wait for a thread that does not stop, and
# the program is unharmed. Who interrupts it before the launched program's own code runs ends both.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"

mkfifo "$T/go"
"$FIXTURES/vfork_waits" <"$T/go" >"$T/well" &
PROGRAM=$!
ON_EXIT+=("kill -KILL $PROGRAM")
exec 9>"$T/go"
in_vfork() { grep -q '^State:.*D' "/proc/$PROGRAM/status"; }
until_is in_vfork
result "a program waits in vfork" $?

ended() { ! kill -0 "$TRACER" 2>/dev/null; }
# TERM (0x4000): INT is ignored in the background of a script. Before its exec the process is this
# shell, which catches TERM, too.
catches_term() {
	local status
	status=$(<"/proc/$TRACER/status")
	[[ $status =~ ^Name:[[:space:]]*brace ]] && [[ $status =~ SigCgt:[[:space:]]*([0-9a-f]+) ]] &&
		((16#${BASH_REMATCH[1]} & 0x4000))
}
begins() { catches_term 2>/dev/null || ended; }
# Two of a kind count as one while the first is not taken yet, hence as often as it takes.
stop_it() { kill -TERM "$TRACER" 2>/dev/null; ended; }
gave_up() { grep -q "^brace: interrupted: process $PROGRAM was not stopped, and runs on$" "$T/summary"; }

# brace gives up by itself after two seconds: where that comes first, once more.
for try in 1 2 3 4 5; do
	"$BRACE" record -o "$T/trace" -p $PROGRAM >"$T/out" 2>"$T/summary" 9>&- </dev/null &
	TRACER=$!
	until_is begins
	until_is stop_it
	wait $TRACER
	status=$?
	! gave_up || break
done
echo "# try $try"
gave_up
result "brace that is interrupted twice says that it gave up" $? "$T/summary"
check_that "its status is its own" [ $status -eq 125 ]
check_that "it leaves no file" [ ! -e "$T/trace" ]
check_that "the program still waits" in_vfork
check_that "and is nobody's" grep -q '^TracerPid:\s*0$' "/proc/$PROGRAM/status"
check_that "with nothing of brace's" bash -c "! grep -q brace '/proc/$PROGRAM/maps'"
echo >&9
wait $PROGRAM
check_that "it ends as it would have" [ $? -eq 7 -a "$(cat "$T/well")" = well ]

# --- a launched program whose loader waits to open a library: nobody writes to the FIFO
mkdir "$T/launch"
cp "$FIXTURES/bound" "$T/launch"
mkfifo "$T/launch/libbound.so"
unset LD_LIBRARY_PATH
child() { pgrep -P "$TRACER" -x bound >"$T/child" && grep -q 'ld-linux' "/proc/$(cat "$T/child")/maps"; }
# interrupted SIGNAL COMMAND...: is sent the signal there, and says that it was.
interrupted() {
	local signal=$1
	shift
	env --default-signal=INT,HUP "$BRACE" "$@" -- "$T/launch/bound" >"$T/out" 2>"$T/summary" </dev/null &
	TRACER=$!
	ON_EXIT+=("kill -KILL $TRACER")
	until_is child || return
	kill "-$signal" "$TRACER"
	wait "$TRACER"
	[ $? -eq $((128 + $(kill -l "$signal"))) ] &&
		[ "$(cat "$T/summary")" = 'brace: interrupted before the program ran; nothing was recorded' ] &&
		! kill -0 "$(cat "$T/child")" 2>/dev/null
}
"$BRACE" record -q -o "$T/before" -- true
cp "$T/before" "$T/trace"
for signal in TERM INT HUP; do
	interrupted $signal record -o "$T/trace"
	result "SIG$signal while record launches a program ends both" $? "$T/summary"
done
check_that "the trace that was there is there again, and no other" \
	bash -c "cmp '$T/before' '$T/trace' && [ ! -e '$T/trace.old' ]"
interrupted TERM record -e sched:sched_process_exec -R traceoff -o "$T/trace"
result "so it does where triggers are set" $? "$T/summary"
echo before >"$T/graph"
interrupted TERM graph -o "$T/graph"
result "graph, too" $? "$T/summary"
interrupted TERM syscalls -o "$T/graph"
result "and syscalls" $? "$T/summary"
interrupted TERM graph -e sched:sched_process_exec -R traceoff -o "$T/graph"
result "and graph with triggers" $? "$T/summary"
check_that "the file of -o that was there is still there, and no other" \
	bash -c "[ \"\$(cat '$T/graph')\" = before ] && [ \"\$(echo '$T'/graph*)\" = '$T/graph' ]"

# --- commands that cannot begin, for the program or for the file
"$BRACE" record -q -o "$T/calls" -- true
for command in "graph@-- $T/none" "graph@-l none -- true" "graph@-p $((1 << 22))" "syscalls@-- $T/none" \
	"hist@-d none -- true" "probe@-a none -- true" "sql@SELECT none -- true" "syscalls@$T/none"; do
	# shellcheck disable=SC2086 # words
	"$BRACE" "${command%@*}" -o "$T/graph" ${command#*@} >"$T/out" 2>"$T/summary" </dev/null
	[ $? -ge 125 ] && [ "$(cat "$T/graph")" = before ] && [ "$(echo "$T"/graph*)" = "$T/graph" ]
	result "${command/@/ -o FILE } leaves the file as it is" $? "$T/summary"
done
for command in "graph@" "syscalls@" "hist@-d *" "graph@-e sched:sched_process_exec -R traceoff"; do
	(set -f; "$BRACE" "${command%@*}" -o "$T/none/file" ${command#*@} -- echo ran) >"$T/out" 2>"$T/summary" </dev/null
	[ $? -eq 125 ] && [ ! -s "$T/out" ] && grep -q 'cannot create file .*/none/file' "$T/summary"
	result "${command/@/ -o DIRECTORY/FILE } does not run a program for nothing" $? "$T/summary"
done

# --- a file that is a FIFO, which nobody reads
mkfifo "$T/unread"
for command in "record -- true" "graph -- true" "record -p $$" "graph -p $$" "syscalls -- true"; do
	# shellcheck disable=SC2086 # words
	"$BRACE" ${command/ / -o "$T/unread" } >"$T/out" 2>"$T/summary" </dev/null &
	TRACER=$!
	ON_EXIT+=("kill -KILL $TRACER")
	until_is begins
	until_is stop_it
	wait $TRACER
	[ $? -eq 143 ] && grep -q '^brace: interrupted.*; nothing was recorded$' "$T/summary"
	result "$command that waits to open a FIFO is interrupted" $? "$T/summary"
done

# --- a program ends, and a child of it that records runs on: brace waits for that, and the first interrupt is for brace
mkfifo "$T/ready" "$T/never"
# shellcheck disable=SC2016 # the program's own
"$BRACE" record -q -o "$T/outlived" -- bash -c 'echo $$ >"$3"; { echo >"$1"; read -r line <"$2"; } & echo $! >"$4"; read -r line <"$1"' \
	- "$T/ready" "$T/never" "$T/parent" "$T/child" >"$T/out" 2>"$T/summary" </dev/null &
TRACER=$!
ON_EXIT+=("kill -KILL $TRACER")
until_is test -s "$T/parent"
parent_gone() { [ ! -e "/proc/$(cat "$T/parent")" ]; }
until_is parent_gone
ON_EXIT+=("kill $(cat "$T/child")")
kill -TERM $TRACER
brace_gone() { ! kill -0 $TRACER 2>/dev/null; }
check_that "one interrupt ends brace when the program has ended" until_is brace_gone
brace_gone || kill -KILL $TRACER
wait $TRACER
check_that "with the program's status" [ $? -eq 0 ]
check_that "it says whom it leaves" grep -qx 'brace: stopping; processes that the program left go on untraced' "$T/summary"
diag "$T/summary"
check_that "they run on" kill -0 "$(cat "$T/child")"
check "the file is whole" "$BRACE" report "$T/outlived"
finish

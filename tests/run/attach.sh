#!/bin/bash
# Attaching to processes that run, and leaving them as they were: text compared with the files byte
# for byte, descriptors, signal dispositions, results. CYCLES (12) is how often under load.
. "$(dirname "$0")/attach-lib.sh"
CYCLES=${CYCLES:-12}

# attached PID: waits until $tracer has hooked it and let it go.
attached() {
	until grep -q brace-code "/proc/$1/maps" && grep -qE '^TracerPid:.0$' "/proc/$1/status" ||
		! kill -0 $tracer 2>/dev/null; do :; done
}

# --- one process under full load --------------------------------------------------------------
# It has all processors whenever brace and other tests leave them to it.
start load nice -n 10 "$FIXTURES/attachee" 6 spawn
LOAD=$PID
state "$LOAD" >"$T/state.before"
attach -b 256M --duration 200ms # the tracer may be held up: the machine has other work
check_that "attaches to a running program" [ "$(cat "$T/attach.status")" -eq 0 ]
nothing_lost "its calls are recorded, none lost" 1000
for f in att_step att_depth att_catch att_jumps round_of_all; do
	[ "$(json_calls $f)" -gt 0 ]
	result "$f was seen" $? "$T/summary"
done
grep -qE '^brace: attached for .*longest stop was [0-9.]+ ms going in and [0-9.]+ ms coming out, of [0-9]+ threads$' "$T/summary"
result "the longest stop is told" $? "$T/summary"
same_text "its text is the files' again" "$LOAD"
state "$LOAD" >"$T/state.after"
check_that "descriptors and signals are as before" diff "$T/state.before" "$T/state.after"
check_that "no memory of the session stays mapped" sh -c "! grep -E 'brace-(session|code|image)' /proc/$LOAD/maps"

# --- every way of tracing, with every library --------------------------------------------------
for options in "-L *" "-t function" "-t function -L *" "--max-graph-depth 3" "-g att_depth" "--threshold 10us" \
	"--mode block -L *" "--mode overwrite -L *"; do
	set -f
	# shellcheck disable=SC2086 # words
	attach --duration 100ms $options
	set +f
	check_that "attach with $options" [ "$(cat "$T/attach.status")" -eq 0 ]
	same_text "left clean after $options" "$LOAD"
done
check_that "it runs on after all that" kill -0 "$LOAD"

# --- again and again ---------------------------------------------------------------------------
failed=0
for ((i = 0; i < CYCLES && failed == 0; i++)); do
	kinds=("" "-L libc.so.6" "-t function" "--max-graph-depth 5")
	# shellcheck disable=SC2086 # words
	attach -q --duration 5ms ${kinds[i % 4]}
	failed=$(cat "$T/attach.status")
	kill -0 "$LOAD" 2>/dev/null || failed=1
done
check_that "$CYCLES attach and detach cycles under load" [ "$failed" -eq 0 ]
same_text "its text is the files' after them" "$LOAD"
state "$LOAD" >"$T/state.after"
check_that "descriptors and signals are as before them" diff "$T/state.before" "$T/state.after"

# --- Ctrl-C, and the live graph ------------------------------------------------------------------
"$BRACE" record -p "$LOAD" -o "$T/trace" 2>"$T/summary" &
tracer=$!
attached "$LOAD"
kill -TERM $tracer
wait $tracer
check_that "an interrupt ends the recording" [ $? -eq 0 ]
same_text "and leaves the text clean" "$LOAD"
timeout -k 5 "$LIMIT" "$BRACE" graph -p "$LOAD" --duration 100ms >"$T/graph" 2>"$T/graph.err"
grep -q 'att_catch() {' "$T/graph"
result "graph -p prints the calls as they happen" $? "$T/graph.err"
same_text "and leaves the text clean as well" "$LOAD"

# --- a remnant of a signal frame ------------------------------------------------------------------
start remnant "$FIXTURES/remnant"
"$BRACE" record -q -p "$PID" -o "$T/trace" 2>"$T/summary" &
tracer=$!
until grep -q planted "$T/remnant.out" || ! kill -0 $tracer 2>/dev/null; do :; done
kill -TERM $tracer
wait $tracer
result "a remnant of a signal frame below the stack pointer keeps nobody" $? "$T/summary"
ends_right "and its program ends right" remnant "$PID"
PID=$LOAD

# --- a tracer that dies ---------------------------------------------------------------------------
"$BRACE" record -p "$LOAD" -o "$T/trace" 2>"$T/summary" &
tracer=$!
attached "$LOAD"
{ kill -KILL $tracer; wait $tracer; } 2>/dev/null
attach --duration 200ms
check_that "the next tracer takes over what a killed one left" [ "$(cat "$T/attach.status")" -eq 0 ]
nothing_lost "and records" 100
same_text "and cleans up" "$LOAD"

# --- two at once, and one twice ----------------------------------------------------------------
start second "$FIXTURES/attachee" 2
timeout -k 5 "$LIMIT" "$BRACE" record -p "$LOAD,$PID" --duration 100ms -o "$T/trace" 2>"$T/summary"
result "attaches to two processes" $? "$T/summary"
"$BRACE" info "$T/trace" >"$T/info" 2>&1
same_text "leaves the first clean" "$LOAD"
same_text "leaves the second clean" "$PID"
"$BRACE" record -p "$PID" -o "$T/trace2" 2>/dev/null &
tracer=$!
attached "$PID"
attach --duration 50ms
grep -q "traced already, by brace" "$T/summary"
result "a process traced by another brace is refused" $? "$T/summary"
kill -TERM $tracer
wait $tracer
ends_right "the second ends right" second "$PID"

# --- another tracer, from the middle on -----------------------------------------------------------
start taken "$FIXTURES/attachee" 2
"$BRACE" record -q -p "$PID" -o "$T/trace" 2>"$T/summary" &
tracer=$!
attached "$PID"
if command -v strace >/dev/null; then
	strace -qq -o /dev/null -p "$PID" 2>/dev/null &
	strace=$!
	until ! kill -0 $strace 2>/dev/null || grep -qE "^TracerPid:.$strace\$" "/proc/$PID/status"; do :; done
	kill -TERM $tracer
	wait $tracer
	status=$?
	kill -INT $strace
	wait $strace
	[ $status -eq 125 ] && grep -q "brace record -p $PID --duration 1ms takes the patches out" "$T/summary"
	result "a process that cannot be left is an error (status $status), with its cure" $? "$T/summary"
	! "$FIXTURES/same_text" "$PID" >"$T/differences"
	result "which stands patched" $?
	attach -q --duration 1ms
	same_text "and is clean after the cure" "$PID"
else
	skip "a process that cannot be left" "strace is not installed"
	kill -TERM $tracer
	wait $tracer
fi
ends_right "and ends right" taken "$PID"

# --- children forked meanwhile -------------------------------------------------------------------
start parent "$FIXTURES/attachee" 2
"$BRACE" record -p "$PID" -o "$T/trace" 2>"$T/summary" &
tracer=$!
attached "$PID"
kill -USR1 "$PID"
timeout 20 tail -n +1 -f --pid="$PID" "$T/parent.out" | sed -n '/^child/{p;q}' >"$T/child"
child=$(awk '{ print $2 }' "$T/child")
kill -TERM $tracer
wait $tracer
check_that "ends with a child traced too" [ $? -eq 0 ]
same_text "leaves the parent clean" "$PID"
same_text "leaves the child clean" "$child"
ends_right "parent and child end right" parent "$PID"

# --- a library that is closed meanwhile, with the jumps that were in it ---------------------------
cat >"$T/closes.py" <<'PY'
import _ctypes, ctypes, signal
library = ctypes.CDLL("libsqlite3.so.0")
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
print("ready", flush=True)
signal.sigwait({signal.SIGUSR1})
_ctypes.dlclose(library._handle)
print("sqlite" in open("/proc/self/maps").read(), flush=True)
signal.sigwait({signal.SIGTERM})
print("right", flush=True)
PY
if [ -x /usr/bin/python3 ]; then
	start closes /usr/bin/python3 -S "$T/closes.py"
	"$BRACE" record -p "$PID" -L '*' -o "$T/trace" 2>"$T/summary" &
	tracer=$!
	attached "$PID"
	kill -USR1 "$PID"
	timeout 20 tail -n +1 -f --pid="$PID" "$T/closes.out" | sed -n '/False/q'
	kill -TERM $tracer
	wait $tracer
	[ $? -eq 0 ] && ! grep -q 'could not be left' "$T/summary"
	result "leaves a process that has closed a library" $? "$T/summary"
	same_text "clean" "$PID"
	ends_right "and it ends right" closes "$PID"
fi

ends_right "the loaded one computed right to the end" load "$LOAD"

# --- what is refused ------------------------------------------------------------------------------
refuses() {
	local name=$1 words=$2
	shift 2
	timeout -k 5 20 "$BRACE" record -o "$T/none" "$@" >"$T/out" 2>&1
	[ $? -ge 1 ] && grep -qE "$words" "$T/out" && [ ! -e "$T/none" ]
	result "$name" $? "$T/out"
}
refuses "a process that is not there" 'no (such )?process' -p 999999
refuses "no process id" 'process id' -p 12,,13
refuses "a program and a process" 'not both' -p 1 -- true
refuses "no function that matches" 'matches|nothing|no function' -p $$ -l no_such_function_anywhere
finish

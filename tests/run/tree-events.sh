#!/bin/bash
# Events of a running program in the mounted tree: the markers that Debian's python has (sys/sdt.h).
# It collects garbage when it is told to, and never by itself: how often each marker is passed is
# known.
. "$(dirname "$0")/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
need "$PYTHON" readelf
D=$T/tree
mkdir "$D"
E=$D/events/sdt_python

readelf -n "$PYTHON" 2>/dev/null | grep -q gc__start || { echo '1..0 # SKIP this python has no markers'; exit 0; }
cat >"$T/program.py" <<'PY'
import gc, sys
gc.disable()
print("ready", flush=True)
for line in sys.stdin:
    if line == "q\n":
        break
    n, generation = map(int, line.split())
    for i in range(n):
        gc.collect(generation)
    print("done", flush=True)
gc.callbacks.clear()
PY
coproc PROGRAM { exec "$PYTHON" "$T/program.py"; }
exec {TO}>&"${PROGRAM[1]}" {FROM}<&"${PROGRAM[0]}"
PID=$PROGRAM_PID
read -rt "$LIMIT" -u "$FROM" _
collect() { # TIMES GENERATION
	echo "$1 $2" >&"$TO"
	read -rt "$LIMIT" -u "$FROM" _
}
count() { grep -c -- "$1" "$D/${2:-trace}"; }
has() { [ "$(count "$2" "${3:-trace}")" = "$1" ]; }

"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D" "kill $PID")
grep -qx 'sdt_python:gc__start' "$D/available_events"
result "available_events has the program's markers" $? "$D/available_events"
grep -q 'field:s32 arg1;' "$E/gc__start/format"
result "with the types of their arguments" $? "$E/gc__start/format"
collect 3 0
check_that "an event that is not enabled is not recorded" has 0 gc__
echo 1 >"$E/gc__start/enable"
collect 5 0
check_that "events/SYSTEM/EVENT/enable" has 5 ': gc__start: (.*) arg1=0$'
check_that "and no other" has 0 gc__done
echo sdt_python:gc__done >>"$D/set_event"
collect 2 1
check_that "set_event" has 2 gc__done
check_that "beside it" has 2 'gc__start: .* arg1=1$'

# --- filters: before anything is written
echo 'arg1 == 2' >"$E/gc__start/filter"
echo >"$D/trace"
collect 4 1
collect 3 2
check_that "a filter leaves out" has 0 'gc__start: .* arg1=1$'
check_that "what it does not match" has 3 'gc__start: .* arg1=2$'
[ "$(cat "$E/gc__start/filter")" = 'arg1 == 2' ]
result "and can be read" $?
! echo 'arg9 == 2' 2>/dev/null >"$E/gc__start/filter" && grep -q 'Field not found' "$D/error_log"
result "a wrong one is refused" $? "$D/error_log"
echo 0 >"$E/gc__start/filter"

echo 'traceoff:1 if arg1 == 1' >"$E/gc__start/trigger"
echo >"$D/trace"
collect 2 2
collect 3 1
[ "$(cat "$D/tracing_on")" = 0 ] && has 2 'gc__start: .* arg1=2$' && has 1 'gc__start: .* arg1=1$'
result "a trigger at a marker" $? "$D/trace"
echo '!traceoff' >"$E/gc__start/trigger"
echo 1 >"$D/tracing_on"

# --- in the graph
echo function_graph >"$D/current_tracer"
collect 1 0
check_that "in the function graph it is a comment" has 1 '  /\* gc__start: (.*) arg1=0 \*/$'
awk '/gc__start/ { inside = 1 } inside && /gc__done/ { found = 1 } END { exit !found }' "$D/trace"
result "with what is called between two of them" $?
grep -A1 'gc__start' "$D/trace" | tail -1 | grep -q '();$\|() {$'
result "at its depth" $? "$D/trace"
echo nop >"$D/current_tracer"

# --- who, and where to
echo 999999 >"$D/set_event_pid"
collect 2 0
check_that "set_event_pid: nobody else" has 0 gc__start
echo >"$D/set_event_pid"
mkdir "$D/instances/mine"
echo 0 >"$D/events/enable"
echo 1 >"$D/instances/mine/events/sdt_python/gc__start/enable"
collect 6 0
check_that "an instance's events" has 6 gc__start instances/mine/trace
check_that "are its own" has 0 gc__start
rmdir "$D/instances/mine"

# --- off again
echo 1 >"$D/events/sdt_python/enable"
collect 1 0
check_that "a whole system" has 1 gc__done
echo >"$D/set_event"
echo >"$D/trace"
collect 9 0
check_that "> set_event turns all off" has 0 gc__
check "umount" "$BRACE" umount "$D"
echo q >&"$TO"
wait "$PID"
result "the program ends as it would have" $?
finish

#!/bin/bash
# A signal between any two instructions of trampolines, stubs and the agent's slow paths: tests/targets/stepper.c
# checks every register and every return itself.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
LIMIT=300

same "handlers that return" -- "$FIXTURES/stepper"
same "handlers that return, with a depth limit" --max-graph-depth 1000 -- "$FIXTURES/stepper"
same "handlers that return, with values" -O funcgraph-retval -- "$FIXTURES/stepper"
same "handlers that return, function tracer" -t function -- "$FIXTURES/stepper"
# The calls' own instructions too: all events of one at once, and each by itself through the general way, for its filter.
SYSTEM=(-p nop -e 'raw_syscalls:*' -e 'syscalls:sys_*_getppid')
same "handlers that return, system calls" "${SYSTEM[@]}" -- "$FIXTURES/stepper"
check_that "the calls were led" test "$("$BRACE" replay "$T/trace" | grep -c 'NR 110 ')" = 12
same "handlers that return, filtered system calls" -p nop -e raw_syscalls:sys_enter -f 'id != 1' -e raw_syscalls:sys_exit -f 'id != 1' \
	-- "$FIXTURES/stepper"
same "handlers that jump, system calls" "${SYSTEM[@]}" -- "$FIXTURES/stepper" jump
# A program's own event, with handlers that are traced functions.
same "handlers that return, an event" -p function_graph -e stepper:at -- "$FIXTURES/stepper"
check_that "every record is there" test "$("$BRACE" replay "$T/trace" | grep -c '/\* at: a=1234567890123 b=[012] c=-7 \*/')" = 3
STEPS=$T/steps record --mode block -e stepper:at "${SYSTEM[@]}" -p function_graph -- "$FIXTURES/stepper"
"$BRACE" replay "$T/trace" >"$T/text"
check_that "nor is a record of a handler's overwritten" test "$(grep -c ' on_return() {' "$T/text")" = \
	"$(awk '{ for (i = 2; i <= NF; i++) if ($i == "signals,") n += $(i - 1) } END { print n }' "$T/steps")"
nothing_lost "and nothing is lost"
same "handlers that return, a filtered event" -p function_graph -e stepper:at -f 'b == 2 && c < 0' -- "$FIXTURES/stepper"
check_that "and the one that passes" test "$("$BRACE" replay "$T/trace" | grep -c '/\* at: ')" = 1

# State mode: every call of a handler's is in the trace, and a depth is what it was when all is over. Behind each run eight calls are
# within each other, of which the depth limit allows seven; none of the handlers' is deeper. Calls that a handler has left count as
# open as long as the stack pointer is below them, and have no duration.
export TRUTH=$T/truth
prepare() { rm -f "$TRUTH"; }
CALLS=(-l in_handler -l leap -l 'call_*' -l leaf -l tailing -l after)
state() { # WAY SCENARIOS NAME PROGRAM OPTION...
	same "handlers that $1, $3" "${CALLS[@]}" "${@:5}" -- "$FIXTURES/$4" "$1" "$2"
	case $3 in
	depth*) awk -v way="$1" '$1 == "after" { print $1, $2 / 8 * 7 } $1 != "after" && way != "leap"' "$TRUTH" >"$T/allowed" ;;
	thresh*) grep -v leap "$TRUTH" >"$T/allowed" ;;
	*) cp "$TRUTH" "$T/allowed" ;;
	esac
	TRUTH=$T/allowed counted
}
for way in calls "leap known" "jump known"; do
	read -r way scenarios <<<"$way"
	state "$way" "$scenarios" "depth limit" stepper --max-graph-depth 7
	state "$way" "$scenarios" "threshold" stepper --threshold 1ns
	state "$way" "$scenarios" "graph functions" stepper -g in_handler -g leap -g 'call_*' -g after
	state "$way" "$scenarios" "threads of its own" stepper-far
done

same "handlers that jump" -- "$FIXTURES/stepper" jump
same "handlers that end their thread" -- "$FIXTURES/stepper" unwind
finish

#!/bin/bash
# A signal between any two instructions where limits of depth or time, or -g, make the agent keep
# the calls that are open: the same program as stepper.sh's.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
LIMIT=300

# State mode: every call of a handler's is in the trace, and a depth is what it was when all is
# over. Behind each run eight calls are within each other, of which the depth limit allows seven;
# none of the handlers' is deeper. Calls that a handler has left count as open as long as the stack
# pointer is below them, and have no duration.
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
finish

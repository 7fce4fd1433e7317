#!/bin/bash
# A program that profiles itself by a timer's signal and backtrace(): what a handler sees that begins in the agent's slow paths is the
# program's whole stack, as it is untraced.
. "$(dirname "$0")/lib.sh"
profiled=$FIXTURES/profiled

seen() { # NAME OPTIONS...: at least 20 backtraces in the agent, all of them whole
	timeout -k 5 "$LIMIT" "$BRACE" record -q -o "$T/t.brace" -l leaf -l calls "${@:2}" -- "$profiled" libbrace-agent 20 >"$T/out" 2>"$T/err" </dev/null
	status=$?
	read -r reached _ came <"$T/out"
	[ "$status" -eq 0 ] && [ "$reached" -ge 20 ] && [ "$reached" -eq "$came" ]
	result "$1" $? "$T/out"
}
check_that "untraced, of its own code" [ "$("$profiled" profiled 20 | awk '$1 == $3 && $1 >= 20 { print "all" }')" = all ]
seen "function graph" --mode overwrite
seen "with what is returned" --mode overwrite -O funcgraph-retval
seen "to a depth" --mode overwrite --max-graph-depth 5
seen "function tracer" --mode overwrite -t function
finish

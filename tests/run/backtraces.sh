#!/bin/bash
# A program that profiles itself by a timer's signal and backtrace(): what a handler sees that
# begins in the agent's slow paths, in a trampoline, or anywhere else, is the program's whole stack,
# as it is untraced.
. "$(dirname "$0")/lib.sh"
profiled=$FIXTURES/profiled

walked() { # PROGRAM WHERE N OPTIONS...: $reached of $came backtraces are whole
	timeout -k 5 "$LIMIT" "$BRACE" record -q -o "$T/t.brace" -l leaf -l calls "${@:4}" -- "$1" "$2" "$3" >"$T/out" 2>"$T/err" </dev/null
	status=$?
	read -r reached _ came <"$T/out"
	[ "$status" -eq 0 ] && [ "$came" -ge "$3" ]
}
seen() { # NAME OPTIONS...: at least 20 backtraces in the agent, and 400 anywhere, all of them whole
	walked "$profiled" libbrace-agent 20 "${@:2}" && [ "$reached" -eq "$came" ]
	result "$1" $? "$T/out"
	walked "$profiled" anywhere 400 "${@:2}" && [ "$reached" -eq "$came" ]
	result "$1, trampolines too" $? "$T/out"
}
check_that "untraced, of its own code" [ "$("$profiled" profiled 20 | awk '$1 == $3 && $1 >= 20 { print "all" }')" = all ]
seen "function graph" --mode overwrite
seen "with what is returned" --mode overwrite -O funcgraph-retval
seen "to a depth" --mode overwrite --max-graph-depth 5
seen "function tracer" --mode overwrite -t function
# No function, only a probe in each: there is nothing but its code and the agent's slow path.
walked "$profiled" anywhere 400 --mode overwrite -t nop -e 'p:probe/in_leaf leaf' -e 'p:probe/in_calls calls' && [ "$reached" -eq "$came" ]
result "probes alone" $? "$T/out"
# A static program, whose own look-up of entries is hooked.
walked "$profiled-static" anywhere 400 --mode overwrite && [ "$reached" -eq "$came" ]
result "a static program" $? "$T/out"
if [ -x "$profiled-libunwind" ]; then
	# Its stack ends at moved instructions behind the first: a few of a hundred.
	walked "$profiled-libunwind" anywhere 400 --mode overwrite && [ $((reached * 10)) -ge $((came * 8)) ]
	result "nongnu's libunwind" $? "$T/out"
else
	skip "nongnu's libunwind" "not built here (no libunwind)"
fi
finish

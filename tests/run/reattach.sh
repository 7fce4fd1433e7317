#!/bin/bash
# One program, many tracers, one after the other, with memories of different sizes; threads come and
# go under each. glibc gives a new thread the stack of one that ended, with what the agent kept
# there for another tracer's.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
mkdir "$D"
mounted() { # when the tracer before has left
	local tries
	for ((tries = 0; tries < 200; tries++)); do
		"$BRACE" mount "$D" -p "$PID" 2>"$T/err" && return
		grep -qE 'traced already|a tree on' "$T/err" || return
		read -rt 0.05 _ <> <(:)
	done
	return 1
}

start_program
mounted || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
for round in 1 2 3 4 5 6 7 8 9 10; do
	echo leaf >"$D/set_ftrace_filter"
	echo function >"$D/current_tracer"
	tell 3 t7 t7
	[ "$(grep -c leaf "$D/trace")" -eq 17 ]
	result "tracer $round has each call" $? "$D/trace"
	"$BRACE" umount --lazy "$D"
	tell t4
	[ "$round" -eq 10 ] || mounted || break
done
end_program
[ "$STATUS" -eq 0 ] && [ "$round" -eq 10 ]
result "and the program lives" $? "$T/err"
finish

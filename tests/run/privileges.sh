#!/bin/bash
# A child that gave up its rights, and is an attacker's, writes to all that brace shares with it (tests/targets/privileges.c).
# Its parent, root's, goes on as if it were not traced.
. "$(dirname "$0")/attach-lib.sh"
[ "$(id -u)" -eq 0 ] || { echo '1..0 # SKIP only root has rights to give up'; exit 0; }
program=$FIXTURES/privileges
LIMIT=60

# survives NAME: it ended, and its result is right.
survives() {
	[ "$(cat "$T/traced.status")" = 0 ] && grep -q '^right' "$T/traced.out"
	local status=$?
	cat "$T/traced.status" "$T/traced.err" >>"$T/traced.out"
	result "$1" $status "$T/traced.out"
}

for what in image; do
	for options in '' '--threshold 1ns' '-O funcgraph-retval' '-t function'; do
		# shellcheck disable=SC2086 # several words, or none
		record $options -l step -l descend -- "$program" $what
		survives "brace-$what is an attacker's${options:+, $options}: the parent is right"
	done
	start traced "$program" $what attached
	"$BRACE" record -p "$PID" -o "$T/trace" >"$T/attach.out" 2>&1
	wait "$PID"
	echo $? >"$T/traced.status"
	rm -f "$T/trace"
	survives "brace-$what is an attacker's, attached: the parent is right"
done
finish

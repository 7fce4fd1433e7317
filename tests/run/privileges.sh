#!/bin/bash
# A child that gave up its rights, and is an attacker's, writes to all that brace shares with it
# (tests/targets/privileges.c). Its parent, root's, goes on as if it were not traced.
. "$(dirname "$0")/attach-lib.sh"
[ "$(id -u)" -eq 0 ] || { echo '1..0 # SKIP only root has rights to give up'; exit 0; }
program=$FIXTURES/privileges
LIMIT=60

# survives NAME: it ended, and its result is right. brace may have given the recording up.
survives() {
	grep -qxE '0|125' "$T/traced.status" && grep -q '^right' "$T/traced.out"
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

# --- the session memory, at random: all that a thread's slow path goes by
for kind in header counters threads fields descriptors states buffers records; do
	for mode in stream overwrite; do
		record --mode $mode -b 512K -l step -- "$FIXTURES/scribbles" $kind 1 3 apart
		cat "$T/summary" >>"$T/traced.err"
		survives "the session memory's $kind are an attacker's, $mode mode: the parent is right"
	done
done
finish

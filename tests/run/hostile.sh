#!/bin/bash
# A program that scribbles over the session memory while it is traced (tests/targets/scribbles.c).
# It may die of that; brace must neither crash nor hang, must say how it went, and what it writes
# must be readable. SEEDS: how many of each.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
LIMIT=30
SEEDS=${SEEDS:-1}
scribbles=$FIXTURES/scribbles
kinds=(header counters notes threads fields descriptors states buffers records sites all)

# The program's own status and figures that can be: brace never gives the recording up, which may be
# of others, too.
ended_well() {
	[ "$(cat "$T/traced.status")" = 3 ] && grep -Eq ' calls, .* lost' "$T/summary" && ! grep -Eq '([0-9]+,){6}' "$T/summary"
}

# reads FILE: every record of it, in order and summed up. How many records the program leaves until it is stopped is a matter of the
# machine's load: of 2 million calls a replay took 8 s of a processor, and 60 s beside 45 others. A command that is ended for its time
# says nothing itself.
reads() {
	local command status
	for command in info report replay; do
		timeout -k 5 300 "$BRACE" "$command" "$1" >"$T/read"
		status=$?
		[ $command != info ] || cat "$T/read"
		[ $status -eq 0 ] || { echo "# $command: status $status, $(wc -c <"$T/read") bytes"; return 1; }
	done
}

for kind in "${kinds[@]}"; do
	for mode in stream overwrite block; do
		failed=0
		for ((seed = 1; seed <= SEEDS && !failed; seed++)); do
			record --mode $mode -b 512K -l step -- "$scribbles" "$kind" "$seed" 2
			cat "$T/traced.status" "$T/traced.err" >>"$T/summary"
			ended_well || failed=1
			reads "$T/trace" >>"$T/summary" 2>&1 || failed=1
		done
		result "$kind, $mode mode: brace ends, and its file reads" $failed "$T/summary"
	done
done

record -l step -- "$scribbles" shorten 1 5
[ "$(cat "$T/traced.status")" = 3 ] && grep -q 'brace-session.*sealed' "$T/traced.out" &&
	! grep -q shorter "$T/traced.out"
result "the session memory cannot be made shorter" $? "$T/traced.out"

# --- live, and what a killed tracer left
for kind in all states records; do
	run_in "$T/traced" "$BRACE" graph -l step -- "$scribbles" "$kind" 7 2
	split_summary
	status=$(cat "$T/traced.status")
	[ "$status" = 3 ]
	result "$kind: brace graph ends ($status)" $? "$T/summary"
done

parent='' child=''
ON_EXIT+=('[ -z "$child" ] || kill -KILL "$child" "$parent"')
for kind in "${kinds[@]}"; do
	rm -f "$T/trace" "$T/out" "$T/scribbled"
	# 10 s: on a busy machine it takes one to find the two; the end does not wait for them.
	SCRIBBLED="$T/scribbled" "$BRACE" record -q -l step -o "$T/trace" -- "$scribbles" "$kind" 3 100 >"$T/killed" 2>&1 </dev/null &
	tracer=$!
	parent='' child=''
	while kill -0 "$tracer" 2>/dev/null; do # the parent, then its child, which records
		parent=$(pgrep -P "$tracer" -x scribbles) && child=$(pgrep -P "$parent" -x scribbles) && break
		sleep 0.01
	done
	if [ -z "$child" ]; then
		wait "$tracer" 2>/dev/null
		skip "$kind: brace recover -p" "the program ended before its tracer was killed"
		continue
	fi
	scribbled() { [ -e "$T/scribbled" ] || ! kill -0 "$tracer" 2>/dev/null; }
	until_is scribbled
	kill -KILL "$tracer"
	wait "$tracer" 2>/dev/null
	timeout -k 5 "$LIMIT" "$BRACE" recover -p "$child" -o "$T/out" "$T/trace" >"$T/recover" 2>&1
	status=$?
	[ $status -lt 124 ] || [ $status -eq 125 ]
	result "$kind: brace recover -p ends ($status)" $? "$T/recover"
	[ $status -ne 0 ] || { reads "$T/out" >"$T/recover" 2>&1; }
	result "$kind: and what it makes reads" $? "$T/recover"
	kill -KILL "$child" "$parent" 2>/dev/null
	parent='' child=''
done
finish

#!/bin/bash
# A traced program that speaks to its tracer itself and writes into what it is given
# (tests/targets/forger.c): brace goes on, says who it was, and what it recorded of that program and
# of others is right. The code memory it can only read.
. "$(dirname "$0")/attach-lib.sh"
forger=$FIXTURES/forger
SEEDS=${SEEDS:-3}
MANY=100000

# calls FUNCTION MODULE COUNT: that many, and nothing lost.
calls() {
	"$BRACE" report --json "$T/trace" >"$T/json" 2>&1 && grep -q 'no records lost' "$T/summary" &&
		grep -q "\"name\":\"$1\",\"module\":\"$2\",\"calls\":$3," "$T/json"
}

# said: in one sentence.
said() {
	[ "$(grep -c '(forger): told of its patches what cannot be: such a patch counts as not written$' "$T/summary")" = 1 ]
}

for way in statuses anything; do
	failed=0
	for ((seed = 1; seed <= SEEDS && !failed; seed++)); do
		record -l step -- "$forger" $way $seed
		[ "$(cat "$T/traced.status")" = 3 ] && calls step forger 9 || failed=1
		[ $way = statuses ] || said || failed=1
	done
	cat "$T/traced.status" "$T/traced.err" >>"$T/summary"
	result "$way: brace goes on, says who gives answers that cannot be, and all calls are there" $failed "$T/summary"
done

record -l step -- "$forger" code
cat "$T/traced.status" "$T/traced.err" >>"$T/summary"
[ "$(cat "$T/traced.status")" = 3 ] && calls step forger 9
result "code: who has the code memory cannot write to it" $? "$T/summary"

record -l step -- "$forger" renamed
[ "$(cat "$T/traced.status")" = 3 ] && calls step forger 3 && grep -q 'spoiled the session memory' "$T/summary" &&
	! grep -q 'of the names that' "$T/summary"
result "renamed: a count that cannot be is not told" $? "$T/summary"

# --- whose name looks like the end of a process
cp "$FIXTURES/attachee" "$T/a) Z 1"
start named "$T/a) Z 1" 2
attach --duration 0.3s
[ "$(cat "$T/attach.status")" = 0 ] && ! grep -q brace-session "/proc/$PID/maps"
result "a name with a parenthesis in it: it is left when brace goes" $? "$T/summary"
ends_right "and ends as it would have" named "$PID"

# --- attached, with another program
for way in anything; do
	start forger "$forger" $way 1 waits
	forgers=$PID
	start other "$FIXTURES/users" attached
	others=$PID
	rm -f "$T/trace" "$T/json"
	timeout -k 5 "$LIMIT" "$BRACE" record -p "$forgers,$others" -l step -l as_root -o "$T/trace" >"$T/attach.out" 2>"$T/summary" &
	tracer=$!
	timeout 30 tail -f --pid=$tracer "$T/forger.out" | grep -q -m 1 done
	timeout 30 tail -f --pid="$others" "$T/other.out" >"$T/others"
	kill -INT $tracer
	wait $tracer
	[ $? = 0 ] && grep -q '^attached ' "$T/others" && said && calls as_root users $MANY
	result "$way, attached: brace goes on, and leaves" $? "$T/summary"
	kill -KILL "$forgers" "$others" 2>/dev/null
done
finish

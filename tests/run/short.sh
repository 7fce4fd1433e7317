#!/bin/bash
# Functions that are shorter than a jump are entered through their callers: counted as callgrind
# counts them, hooked and let go as all others, and the bytes of the callers are the file's again.
. "$(dirname "$0")/attach-lib.sh"
export TRUTH=$T/truth
prepare() { rm -f "$TRUTH"; }

# listed LISTING: as `brace list --why` has it behind the address.
listed() {
	check_that "listed: $1" grep -qxE "0x[0-9a-f]+ $1" "$T/why"
}

for level in 1 s; do
	program=$FIXTURES/getters-O$level
	"$BRACE" list -f "$program" --why >"$T/why" 2>&1
	listed 'callers +get_a \(2 callers\)'
	listed 'callers +get_b \(3 callers\)'
	listed 'callers +nothing \(1 caller\)'
	listed 'callers +down \(2 callers\)'
	listed 'some-callers by_pointer \(1 caller; others are not seen\)' # its address is taken
	# There are a short jump, and what looks like a call, which nothing leads to.
	listed 'some-callers get_c \(1 caller; others are not seen\)'
	same "-O$level: same result" -- "$program"
	counted
	calls_are by_pointer 2000 # of 4,000

	if command -v valgrind >/dev/null; then
		valgrind -q --tool=callgrind --dump-instr=yes --collect-jumps=yes --skip-plt=no --compress-pos=no --compress-strings=no \
			--callgrind-out-file="$T/callgrind" "$program" once >"$T/valgrind.log" 2>&1
		record -- "$program" once
		"$BRACE" report --json "$T/trace" >"$T/json" 2>&1
		"$BRACE" list -f "$program" --json >"$T/list" 2>&1
		"$HERE/callcounts.py" "$program" "$T/callgrind" "$T/json" "$T/list" >"$T/counts.log" 2>&1
		grep -qE ', 2 differ$' "$T/counts.log" && [ "$(grep -cE '^(by_pointer|get_c): .* brace \[1000\]$' "$T/counts.log")" = 2 ]
		result "-O$level: callgrind counts as many, but for the two" $? "$T/counts.log"
	else
		skip "-O$level: as callgrind counts" "valgrind is not installed"
	fi
done

# --- every way of choosing ------------------------------------------------------------------------
same "with a filter" -l get_b -- "$program"
calls_are get_b 6000
calls_are get_a 0
same "without some" -n get_b -n down -- "$program"
calls_are get_b 0
calls_are get_a 4000
same "function tracer" -t function -- "$program"
counted
same "within a function, up to a depth" -g begins_with_call --max-graph-depth 100 -- "$program"
calls_are get_b 2000
calls_are get_a 0

# --- while threads call them --------------------------------------------------------------------
start spin "$FIXTURES/getters-Os" spin
SPIN=$PID
failed=0
for ((i = 0; i < 4 && !failed; i++)); do
	kinds=("" "-t function" "--max-graph-depth 5" "-l get_b")
	# shellcheck disable=SC2086 # words
	attach --duration 20ms ${kinds[i % 4]}
	failed=$(cat "$T/attach.status")
	[ "$(json_calls get_b)" -gt 0 ] && kill -0 "$SPIN" && "$FIXTURES/same_text" "$SPIN" >>"$T/summary" || failed=1
done
check_that "4 times attached while threads call, and left as the file is" [ "$failed" -eq 0 ]
[ "$failed" -eq 0 ] || diag "$T/summary"

# A tracer that is killed: the next one puts the callers right.
"$BRACE" record -q -p "$SPIN" -o "$T/killed" 2>"$T/killed.err" &
tracer=$!
until_is sh -c "! '$FIXTURES/same_text' $SPIN >/dev/null 2>&1 && grep -qE '^TracerPid:.0\$' /proc/$SPIN/status"
kill -KILL $tracer
wait $tracer 2>/dev/null
attach --duration 20ms
check_that "the next tracer takes over from a killed one" [ "$(cat "$T/attach.status")" -eq 0 ]
same_text "and leaves what the file has" "$SPIN"
ends_right "it computed all the while" spin "$SPIN"
finish

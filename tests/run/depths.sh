#!/bin/bash
# A limit of depth, and -g, where no return is followed: what is recorded is what is that deep by
# the program's own account.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
export TRUTH=$T/truth
LIMIT=60
prepare() { rm -f "$TRUTH"; }

"$BRACE" list -f "$FIXTURES/depths" --why >"$T/list" 2>&1
check "the program's returns are not followed" grep -Eq ' level3 .*entry only' "$T/list"
same "a limit of depth: same result" --max-graph-depth 3 -l 'level*' -- "$FIXTURES/depths"
counted
for name in level4 level5 level6; do
	check_that "nothing deeper: $name" [ "$(json_calls $name)" -eq 0 ]
done
same "-g: same result" -g level3 -l 'level*' -- "$FIXTURES/depths" graph
counted
for name in level1 level2 level2_left level1_handler level3_many; do
	check_that "nothing that is outside: $name" [ "$(json_calls $name)" -eq 0 ]
done
same "-g and a limit: same result" -g level4 --max-graph-depth 1 -l 'level*' -- "$FIXTURES/depths" none
check_that "no call but that itself" [ "$(json_calls level4)" -gt 0 -a "$(json_calls level5)" -eq 0 ]

# A frame may lie across two pages, where a call's place is read with care: an environment that is 16 bytes longer each time moves the
# stack through a page. Where randomization cannot be off, the positions are any.
fixed=(setarch -R)
"${fixed[@]}" true 2>/dev/null || fixed=()
wrong=0
for ((bytes = 0; bytes < 4096; bytes += 16)); do
	printf -v room '%*s' "$bytes" ''
	prepare
	ROOM=$room timeout "$LIMIT" "${fixed[@]}" "$BRACE" record -q --max-graph-depth 3 -l 'level*' -o "$T/trace" -- "$FIXTURES/depths" >"$T/out" 2>"$T/err"
	"$BRACE" report --json "$T/trace" >"$T/json" 2>>"$T/err"
	for name in level3 level3_many; do
		[ "$(json_calls $name)" = "$(awk -v name=$name '$1 == name { print $2 }' "$TRUTH")" ] || wrong=$((wrong + 1))
	done
done
check_that "wherever the stack begins in its page" [ $wrong -eq 0 ]

# In Go stacks move.
if [ -x "$FIXTURES/goroutines" ]; then
	for options in '--max-graph-depth 3' '-g main.main' '--threshold 1ms'; do
		# shellcheck disable=SC2086 # an option is two words
		record $options -- "$FIXTURES/goroutines"
		check "Go with $options is refused" grep -q "goroutines is a Go program, of which no return is followed: .*(${options% *}) is not known; choose functions with -l" "$T/summary"
	done
fi
finish

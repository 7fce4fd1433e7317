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

# In Go stacks move.
if [ -x "$FIXTURES/goroutines" ]; then
	for options in '--max-graph-depth 3' '-g main.main' '--threshold 1ms'; do
		# shellcheck disable=SC2086 # an option is two words
		record $options -- "$FIXTURES/goroutines"
		check "Go with $options is refused" grep -q "goroutines is a Go program, of which no return is followed: .*(${options% *}) is not known; choose functions with -l" "$T/summary"
	done
fi
finish

#!/bin/bash
# The self-checking programs of tests/targets: the same result as untraced, and every count
# they keep themselves equal to the trace's.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
export TRUTH=$T/truth
LIMIT=60

# target NAME OPTIONS... -- PROGRAM ARGS...
target() {
	local name=$1 function count
	shift
	rm -f "$TRUTH"
	prepare() { rm -f "$TRUTH"; }
	same "$name: same result" "$@"
	[ -s "$TRUTH" ] || not_ok "$name: writes its counts"
	while read -r function count; do
		calls_are "$function" "$count"
	done <"$TRUTH"
}

for name in threads forks spawns signals jumps recursion tails arguments registers callbacks \
	contexts cancels exceptions; do
	target $name -- "$FIXTURES/$name"
	nothing_lost "$name: nothing lost"
done
target loads -- "$FIXTURES/loads" "$FIXTURES/plugin.so"

# With every library open as well: the same programs, whatever libc does beneath them.
for name in threads forks spawns signals jumps tails arguments registers callbacks contexts cancels \
	exceptions; do
	target "$name with all libraries" -L '*' -- "$FIXTURES/$name"
done
target "loads with all libraries" -L '*' -- "$FIXTURES/loads" "$FIXTURES/plugin.so"
calls_are inner 120
calls_are plugin_answer 120

# With state kept (depth, threshold) the other way of following returns is used.
for name in threads forks jumps contexts cancels exceptions signals recursion tails registers; do
	prepare() { rm -f "$TRUTH"; }
	same "$name with a depth limit: same result" --max-graph-depth 1000000 -- "$FIXTURES/$name"
	same "$name with a threshold: same result" --threshold 1ms -- "$FIXTURES/$name"
done

# Ways to end: the status or the signal is passed on, the records up to there are in the file.
for way in 'exit 7' 'return 9' '_exit 3' 'quick 4' 'thread 5' 'abort 0' 'signal 9' 'signal 15' \
	'signal 2' 'fault 16'; do
	# shellcheck disable=SC2086 # a way is two words
	target "ends by $way" -- "$FIXTURES/ends" $way
done
# shellcheck disable=SC2016 # for the shell inside
sh -c '"$0" record -o "$1" -- "$2" signal 9 >/dev/null 2>&1; kill -l $?' "$BRACE" "$T/trace" "$FIXTURES/ends" >"$T/check.log" 2>&1
grep -qx KILL "$T/check.log"
result "brace itself ends by the program's signal" $? "$T/check.log"
prepare() { :; }
same "an uncaught exception aborts" -- "$FIXTURES/exceptions" uncaught
finish

#!/bin/bash
# Programs that make code, and look its callers up by return addresses: a call from code of no file
# keeps its own, and is recorded when it begins. One from a file's code is followed, wherever that
# was mapped.
. "$(dirname "$0")/attach-lib.sh"
export TRUTH=$T/truth
LIMIT=60
set -f
prepare() { rm -f "$TRUTH"; }

for mode in '-b 1M' '--max-graph-depth 9' '-O funcgraph-retval' '-p function' '-L *'; do
	# shellcheck disable=SC2086 # an option is two words
	same "code that is made, $mode" $mode -- "$FIXTURES/jit" file
	counted
done
# A call without an end has no duration: what is recorded with a threshold was followed.
same "code that is made, and a threshold" --threshold 1ns -- "$FIXTURES/jit" file
calls_are callee_a 500
calls_are callee_b 500
nothing_lost "nothing lost"

start made "$FIXTURES/jit" on
for mode in '-b 1M' '--max-graph-depth 9'; do
	# shellcheck disable=SC2086
	attach --duration 200ms $mode
	[ "$(cat "$T/attach.status")" -eq 0 ] && [ "$(json_calls callee_a)" -gt 1000 ]
	status=$?
	result "attached to code that is made, $mode ($(json_calls callee_a) calls)" $status "$T/summary"
done
ends_right "it ends as it would have" made "$PID"

if command -v luajit >/dev/null; then
	same "LuaJIT, every library" -L '*' -- luajit -e 'local s = 0 for i = 1, 1e5 do s = s + i % 7 end
		for i = 1, 1000 do pcall(error, i) end print(s, #debug.traceback())'
else
	skip LuaJIT "luajit is not installed"
fi
finish

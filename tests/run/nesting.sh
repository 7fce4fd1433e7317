#!/bin/bash
# Call trees are true when control leaves a stack other than by returning: programs that keep an
# account of every call (tests/targets/tree.h), line by line against the replayed graph.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tree-lib.sh"
LIMIT=60

for program in coroutines jumps2 exceptions2 fibers fibers-lib; do
	tree "$program" "$program"
	tree "$program, with its libraries" "$program" -L '*'
	tree "$program, its own functions alone" "$program" -l 't_*'
done

# Without a symbol: what is called in the midst of nowhere, and loads the stack pointer. Both ways
# of a fiber are in tracks then.
strip -o "$T/stripped" "$FIXTURES/fibers"
record --mode block -- "$T/stripped"
"$BRACE" replay -O funcgraph-proc -O funcgraph-tail "$T/trace" >"$T/replay"
check_that "stripped: three coroutines" [ "$(grep -o '/co[0-9]*-' "$T/replay" | sort -u | wc -l)" -eq 3 ]
check_that "stripped: nothing is unwound" [ "$(grep -c unwound "$T/replay")" -eq 0 ]

# Stacks that begin with a call from nowhere: that is on them.
record --mode block -- "$FIXTURES/fibers-bottom"
"$BRACE" replay -O funcgraph-proc "$T/trace" | grep t_body >"$T/bodies"
check_that "a stack's first call is on it" [ "$(wc -l <"$T/bodies")" -eq 3 -a "$(grep -c '/co[123]-' "$T/bodies")" -eq 3 ]

# ruby's are of that kind. What lies between two resumes is not in either, and is in the yield.
if command -v ruby >/dev/null; then
	record --mode block -L 'libruby*' -- ruby --disable-gems -e 'f = Fiber.new { Fiber.yield 1; 2 }; f.resume; sleep 0.2; f.resume'
	"$BRACE" report --json "$T/trace" >"$T/json"
	of() { sed -nE "s/.*\"name\":\"$1\".*\"max_ns\":([0-9]+).*/\1/p" "$T/json"; }
	check_that "ruby: the yield has the sleep" [ "$(of rb_fiber_yield_kw)" -ge 200000000 ]
	"$BRACE" query "$T/trace" "SELECT max(ts) - min(ts + dur) AS between_them FROM slice WHERE name = 'rb_fiber_resume_kw'" >"$T/query" 2>&1
	check_that "ruby: and neither resume" [ "$(grep -oE '[0-9]{6,}' "$T/query" | tail -n 1)" -ge 200000000 ]
fi
finish

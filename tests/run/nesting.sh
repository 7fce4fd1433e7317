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

# Coroutines that move from thread to thread: a thread by itself has calls without an end, and ends
# without a beginning. All views have the same figures, and those of replay's lines.
record --mode block -- "$FIXTURES/coroutines"
cat >"$T/views.py" <<'P'
import collections, csv, io, json, re, subprocess, sys
def brace(*args):
    return subprocess.run(sys.argv[1:2] + list(args), check=True, capture_output=True, text=True).stdout
def rows(*args):
    return [json.loads(l) for l in brace("report", "--json", "--no-pager", *args, sys.argv[2]).splitlines()[1:]]
def sums(of):
    to = collections.defaultdict(lambda: [0, 0])
    for name, calls, self in of:
        to[name][0] += calls
        to[name][1] += self
    return to
def exported(*args):
    return list(csv.DictReader(io.StringIO(brace("export", *args, "--to", "csv", sys.argv[2]))))
def same(what, a, b):
    """Each call's time is rounded once, and so is the sum."""
    wrong = [(n, a[n], b[n]) for n in set(a) | set(b)
             if a[n][0] != b[n][0] or abs(a[n][1] - b[n][1]) > 2 * a[n][0] + 10]
    if wrong:
        sys.exit(f"{what}: {wrong}")
report = rows()
functions = sums((r["name"], r["calls"], r["self_ns"]) for r in report)
assert functions["switch_to"][0] > 100, functions
same("csv", functions, sums((r["function"], 1, int(r["self_ns"])) for r in exported()))
same("query", functions, sums((n, int(c), int(s)) for n, c, s in csv.reader(io.StringIO(brace("query", "--csv",
    sys.argv[2], "SELECT name, count(*), coalesce(sum(self), 0) FROM slice GROUP BY name"))) if n != "name"))
same("tree", functions, sums((r["name"], r["calls"], r["self_ns"]) for r in rows("--tree")))
same("by thread", sums(("all", *v) for v in functions.values()),
     sums(("all", r["calls"], r["self_ns"]) for r in rows("--by", "thread")))
same("by module", sums((r["module"], r["calls"], r["self_ns"]) for r in report),
     sums((r["name"], r["calls"], r["self_ns"]) for r in rows("--by", "module")))
callers = sums(("all", r["calls"], r["self_ns"]) for r in rows("--callers", "switch_to"))
same("callers", callers, {"all": functions["switch_to"]})
for r in report:
    assert r["self_ns"] <= r["total_ns"], r
# Those that returned, by replay's lines; it shows no end of the others.
returned = [r for r in exported() if r["function"] == "t_give" and r["ended"] == "returned"]
lines = [float(t) * 1000 for t in re.findall(r"([0-9.]+) us +\|.*[ /]t_give(?:\(\);| \*/)",
    brace("replay", "-O", "funcgraph-tail", sys.argv[2]))]
assert len(lines) == len(returned) > 30, (len(lines), len(returned))
assert abs(sum(lines) - sum(int(r["duration_ns"]) for r in returned)) <= len(lines), lines
give = next(r for r in report if r["name"] == "t_give")
assert give["calls"] >= len(lines) and give["max_ns"] >= max(lines) - 2, (give, max(lines))
# Of a part, too. Times are those within the part, which csv does not have for the calls that began before.
part = sums((r["name"], r["calls"], 0) for r in rows("--from", "40%"))
same("a part", part, sums((r["function"], 1, 0) for r in exported("--from", "40%")))
P
python3 "$T/views.py" "$BRACE" "$T/trace" >"$T/views" 2>&1
result "coroutines that move: every view has the same figures" $? "$T/views"

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

# shellcheck shell=bash
# brace diff: every row against the two reports, which rows came and went, and the exit status for CI.
. "$(dirname "$0")/lib.sh"

record --mode block -- "$FIXTURES/parts" 4
nothing_lost "a program of three threads" 150
mv "$T/trace" "$T/a"
record --mode block -- "$FIXTURES/parts" 5
mv "$T/trace" "$T/b"
record --mode block -n fibonacci -- "$FIXTURES/parts" 4
mv "$T/trace" "$T/less"

cat >"$T/truth.py" <<'P'
"""truth.py DIFF REPORT-A REPORT-B: is each row of the diff that of the reports, and none is missing?"""
import json, sys
rows = [[json.loads(line) for line in open(path)] for path in sys.argv[1:]]
head, diff, (a, b) = rows[0][0], rows[0][1:], rows[1:]
by_name = [{(row["name"], row["module"]): row for row in side[1:]} for side in (a, b)]
assert {(row["name"], row["module"]) for row in diff} == by_name[0].keys() | by_name[1].keys()
assert head["schema"] == "brace-diff" and len(diff) == len(by_name[0].keys() | by_name[1].keys()) > 1
for row in diff:
    for side, reported in zip("ab", by_name):
        want = reported.get((row["name"], row["module"]))
        assert (row[side] is None) == (want is None), (row, want)
        assert want is None or all(want[key] == value for key, value in row[side].items()), (row, want)
changes = [abs((row["b"] or {"self_ns": 0})["self_ns"] - (row["a"] or {"self_ns": 0})["self_ns"]) for row in diff]
assert changes == sorted(changes, reverse=True), changes
for side, reported in zip("ab", by_name):
    assert head[side] == {key: sum(row[key] for row in reported.values()) for key in ("calls", "self_ns")}, head
P
compares() { # NAME A B OPTION...: of report, too
	"$BRACE" diff --json "${@:4}" "$2" "$3" >"$T/diff.json" 2>"$T/err"
	/usr/bin/python3 "$T/truth.py" "$T/diff.json" <("$BRACE" report --json "${@:4}" "$2") <("$BRACE" report --json "${@:4}" "$3") 2>>"$T/err"
	result "$1: rows are those of both reports" $? "$T/err"
}
compares "two runs" "$T/a" "$T/b"
compares "by module" "$T/a" "$T/b" --by module
compares "callers" "$T/a" "$T/b" --callers fibonacci
compares "callees of a graph" "$T/a" "$T/b" --callees long_step -g round_of
compares "a thread of each" "$T/a" "$T/b" --thread odd
compares "other functions" "$T/a" "$T/less"

cp "$FIXTURES/parts" "$T/parts-2"
record --mode block -- "$T/parts-2" 5
"$BRACE" diff --json "$T/a" "$T/trace" >"$T/diff.json" && ! grep -q '"a":null\|"b":null' "$T/diff.json"
result "a program of another name: its functions are compared" $? "$T/diff.json"

# --- for people
"$BRACE" diff -s calls "$T/a" "$T/b" >"$T/out" 2>"$T/err"
grep -qE '^ +CALLS A +CALLS B +CHANGE +P50 A +P50 B  FUNCTION$' "$T/out" && grep -qE '^ +36 +45 +\+25\.00% .* leaf \[parts\]$' "$T/out" &&
	sed 1,3d "$T/out" | head -n 1 | grep -qE '96 +171 +\+78\.12% .*fibonacci'
result "calls, the greatest change first" $? "$T/out"
"$BRACE" diff "$T/a" "$T/less" >"$T/out" && grep -qE ' gone .* fibonacci \[parts\]$' "$T/out" && "$BRACE" diff "$T/less" "$T/a" | grep -qE ' new .* fibonacci \[parts\]$'
result "functions that only one has" $? "$T/out"
strip -o "$T/bare" "$FIXTURES/parts"
record --mode block -- "$T/bare" 5
"$BRACE" diff "$T/a" "$T/trace" >"$T/out" 2>"$T/err" && grep -qE "^brace: warning: [0-9]+ functions of $T/trace have no name .*: places in a file compare within one build" "$T/err"
result "functions without names, that seem new" $? "$T/err"
"$BRACE" diff "$T/trace" "$T/trace" >"$T/out" 2>"$T/err" && [ ! -s "$T/err" ]
result "nothing is said of them where both have them" $? "$T/err"
[ "$("$BRACE" diff --limit 2 "$T/a" "$T/b" | grep -vc '^#')" -eq 3 ]
result "--limit" $?
"$BRACE" diff -s calls "$T/a" "$T/a" | sed 1,3d | awk '$3 != "+0.00%" { bad++ } END { exit bad || !NR }'
result "a trace is equal to itself" $?

# --- a differential flame graph
cat >"$T/picture.py" <<'P'
"""picture.py SVG REPORT-A REPORT-B: the frames' own calls are report's of B; what they were, and what is gone, is all of A."""
import collections, json, re, sys
import xml.etree.ElementTree as ElementTree
sums = [collections.Counter(), collections.Counter()]
for side, path in enumerate(sys.argv[2:]):
    for row in [json.loads(line) for line in open(path)][1:]:
        sums[side][row["name"]] += row["calls"]
svg = ElementTree.parse(sys.argv[1]).getroot()
space = "{http://www.w3.org/2000/svg}"
now, was = collections.Counter(), collections.Counter()
for g in svg.iter(space + "g"):
    title, box = g.find(space + "title").text, g.find(space + "rect")
    m = re.search(r"; own: (\d+) calls, was (\d+) calls; with those below it was \d+ calls", title)
    own, before, name = int(m[1]), int(m[2]), g.get("data-name")
    now[name] += own
    was[name] += before
    red, green, blue = map(int, re.findall(r"\d+", box.get("fill"))) if box.get("fill").startswith("rgb") else (240, 240, 240)
    assert (red > blue) == (own > before) and (blue > red) == (own < before), (title, box.get("fill"))
    # Black on it has the contrast that WCAG's level AA wants.
    light = sum(part * ((c / 255 + 0.055) / 1.055) ** 2.4 for part, c in zip((0.2126, 0.7152, 0.0722), (red, green, blue)))
    assert (light + 0.05) / 0.05 >= 4.5, (title, box.get("fill"))
assert {k: v for k, v in now.items() if v} == dict(sums[1]), (now, sums[1])
gone = re.search(r"gone had (\d+) calls", "".join(svg.itertext()))
gone = int(gone[1]) if gone else 0
assert sum(was.values()) + gone == sum(sums[0].values()), (was, gone)
print(gone)
P
draws() { # NAME A B
	rm -f "$T/picture.svg"
	"$BRACE" diff -s calls "$2" "$3" --flamegraph "$T/picture.svg" >"$T/out" 2>"$T/err" && [ -s "$T/out" ]
	result "$1: a picture, and the table" $? "$T/err"
	/usr/bin/python3 "$T/picture.py" "$T/picture.svg" <("$BRACE" report --json "$2") <("$BRACE" report --json "$3") >"$T/gone" 2>"$T/err"
	result "$1: frames and colours are those of both reports ($(cat "$T/gone") gone)" "$(($(wc -c <"$T/err") > 0))" "$T/err"
}
draws "two runs" "$T/a" "$T/b"
check_that "nothing is gone" [ "$(cat "$T/gone")" = 0 ]
draws "a function that is gone" "$T/a" "$T/less"
check_that "its calls are told" [ "$(cat "$T/gone")" -gt 0 ]
draws "a trace and itself" "$T/a" "$T/a"
"$BRACE" diff "$T/a" "$T/b" --flamegraph "$T/time.svg" >"$T/out" 2>"$T/err" && grep -q ': time; red: more than in ' "$T/time.svg"
result "by time" $? "$T/err"
"$BRACE" diff "$T/a" "$T/b" --flamegraph /dev/full >"$T/out" 2>"$T/err"
[ $? = 125 ] && grep -q 'cannot write /dev/full' "$T/err"
result "a full disk is an error" $? "$T/err"

# --- for CI
status() { # WANTED NAME OPTION...
	"$BRACE" diff "${@:3}" >"$T/out" 2>"$T/err"
	[ $? -eq "$1" ]
	result "$2" $? "$T/err"
}
status 0 "a trace has not grown" --fail-over 0% "$T/a" "$T/a"
status 0 "fewer calls are no growth" -s calls --fail-over 0 "$T/a" "$T/less"
status 1 "all grew by more than 30 %" -s calls --fail-over 30% "$T/a" "$T/b"
grep -qxE 'brace: calls of all grew by 4[0-9]\.[0-9]+ %, more than 30\.00 %' "$T/err" && grep -qE '^brace: calls of fibonacci grew most, by 37\.[0-9]+ % of all$' "$T/err"
result "and it says by how much, and where" $? "$T/err"
status 1 "one row grew by more than 0.5 % of all" -s calls --fail-over 0.5% "$T/a" "$T/b"
status 0 "nothing grew so much" -s calls --fail-over 60 "$T/a" "$T/b"
status 0 "without --fail-over growth is no failure" "$T/a" "$T/b"

# --- groups of runs: means, deviations and Welch's p against Python's own, integrated numerically
for i in 1 2 3; do
	record --mode block -- "$FIXTURES/parts" 4 && mv "$T/trace" "$T/a$i"
	record --mode block -- "$FIXTURES/parts" 5 && mv "$T/trace" "$T/b$i"
done
cat >"$T/groups.py" <<'P'
import json, math, statistics, sys
head, *rows = map(json.loads, open(sys.argv[1]))
runs = [[{(r["name"], r["module"]): r for r in map(json.loads, list(open(f))[1:])} for f in sys.argv[k:k + 3]] for k in (2, 5)]
column, key = head["column"], head["column"] + ("" if head["column"] == "calls" else "_ns")
assert head["test"] == "welch" and [len(f) for f in head["files"]] == [3, 3]
def tail(t, df):  # both tails of Student's distribution, by Simpson's rule over the angle
    n, end = 4000, math.atan2(t, math.sqrt(df))
    f = lambda x: math.cos(x) ** (df - 1)
    area = sum((1, 4, 2)[0 if i in (0, n) else 1 if i % 2 else 2] * f(end * i / n) for i in range(n + 1)) * end / n / 3
    return 1 - 2 * area * math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)
def welch(a, b):
    v, w = (statistics.variance(s) / len(s) for s in (a, b))
    if not v and not w:
        return float(statistics.mean(a) == statistics.mean(b))
    t = abs(statistics.mean(a) - statistics.mean(b)) / math.sqrt(v + w)
    return tail(t, (v + w) ** 2 / (v * v / (len(a) - 1) + w * w / (len(b) - 1)))
def check(side, values):
    assert side["runs"] == values, (side, values)
    assert abs(side["mean"] - statistics.mean(values)) < 0.01 and abs(side["deviation"] - statistics.stdev(values)) < 0.01
assert {(r["name"], r["module"]) for r in rows} == {n for side in runs for run in side for n in run} and len(rows) > 10
for r in rows:
    a, b = ([run.get((r["name"], r["module"]), {key: 0})[key] for run in side] for side in runs)
    for side, values in (("a", a), ("b", b)):
        if r[side]:
            check(r[side], values)
    assert abs(r["p"] - welch(a, b)) < 1e-4, (r, welch(a, b))
sums = [[sum(r[key] for r in run.values()) for run in side] for side in runs]
check(head["a"], sums[0]), check(head["b"], sums[1])
assert abs(head["p"] - welch(*sums)) < 1e-4
P
for f in a1 a2 a3 b1 b2 b3; do "$BRACE" report --json "$T/$f" >"$T/$f.json"; done
for column in self calls total; do
	"$BRACE" diff --json -s $column "$T"/a[123] -- "$T"/b[123] >"$T/out" 2>"$T/err"
	/usr/bin/python3 "$T/groups.py" "$T/out" "$T"/a[123].json "$T"/b[123].json >>"$T/err" 2>&1
	result "groups by $column: means, deviations, p" $? "$T/err"
done
"$BRACE" diff -s calls "$T"/a[123] -- "$T"/b[123] >"$T/out" && grep -qE ' 96 +171 +\+78\.12% .* \+-0\.0% +\+-0\.0% +0\.000\*  fibonacci' "$T/out"
result "groups for people" $? "$T/out"
status 1 "groups: all grew" -s calls --fail-over 30% "$T"/a[123] -- "$T"/b[123]
status 0 "groups: a change within the spread is none" -s calls --fail-over 1% "$T"/a[12] -- "$T/a3" "$T/b1"
"$BRACE" diff --json "$T/a1" "$T/b1" >"$T/two" && "$BRACE" diff --json "$T/a1" -- "$T/b1" >"$T/out" && cmp "$T/two" "$T/out" >"$T/err" 2>&1
result "groups of one are two files" $? "$T/err"

# --- what cannot be meant
refuses() { # NAME PATTERN WORD...
	"$BRACE" diff "${@:3}" >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && [ ! -s "$T/out" ] && grep -qE -e "$2" "$T/err"
	result "$1" $? "$T/err"
}
# A change of three hundred thousand percent: the column has room for no more than 9,999.
record --mode block -- "$FIXTURES/ticking" 1
mv "$T/trace" "$T/once"
record --mode block -- "$FIXTURES/ticking" 3000
"$BRACE" diff --no-pager -s calls "$T/once" "$T/trace" >"$T/out" 2>"$T/err"
grep -qE '^ +3 +9000 +x3000 .* leaf \[ticking\]' "$T/out" && grep -qE '^ +1 +3000 +x3000 .* step \[ticking\]' "$T/out"
result "a change that is no percentage any more" $? "$T/out"
refuses "one file" 'diff needs A B' "$T/a"
refuses "three files" 'with -- between' "$T/a1" "$T/a2" "$T/b1"
refuses "a group of one" 'a single run has no spread' "$T/a1" -- "$T/b1" "$T/b2"
refuses "a picture of groups" 'flamegraph is of two files' --flamegraph "$T/picture" "$T/a1" "$T/a2" -- "$T/b1" "$T/b2"
refuses "a file that is none" 'No such file' "$T/a" "$T/none"
refuses "threads" 'differ from run to run; there are function and module' --by thread "$T/a" "$T/b"
refuses "names" 'no column name to compare; there are calls' -s name "$T/a" "$T/b"
refuses "callers of no name" '^brace: --callers names a function' --callers '' "$T/a" "$T/b"
refuses "no percentage" 'a percentage is a number' --fail-over much "$T/a" "$T/b"
refuses "percentages of percentiles" 'compares calls, total or self, not p99' -s p99 --fail-over 5% "$T/a" "$T/b"
refuses "a function that one has not called" 'nothing of the trace is chosen' -l fibonacci "$T/less" "$T/none"
finish

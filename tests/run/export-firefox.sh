#!/bin/bash
# `brace export --to firefox`, read by the Firefox Profiler's own code: its command line (of the npm registry) gives the times of each
# function and of each path of calls, and the markers. They are those of `brace report` and `brace query`. Without npm or a network
# all of it is skipped.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need npm node cc python3
mkdir "$T/npm" && cd "$T/npm" || exit 1
echo '{"private":true}' >package.json
if ! HOME=$T timeout -k 5 300 npm install --no-audit --no-fund --loglevel=error @firefox-devtools/profiler-cli >"$T/log" 2>&1; then
	printf '1..0 # SKIP npm cannot install @firefox-devtools/profiler-cli\n'
	exit 0
fi
export PROFILER_CLI_SESSION_DIR=$T/profiler
mkdir "$PROFILER_CLI_SESSION_DIR"
cli() { timeout -k 5 100 node "$T/npm/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js" "$@" </dev/null 2>"$T/err"; }
ON_EXIT+=("cli stop --all")

cc -O1 -fno-optimize-sibling-calls -pthread -o "$T/nested-calls" "$WORK/nested.c"

# read_by_it NAME: the profile of NAME is loaded by a process that stays, which may need longer than the command waits for.
answers() { cli status --json >"$T/status"; }
read_by_it() {
	cli stop --all >"$T/log"
	cli load "$T/$1.json" >"$T/log"
	until_is answers
	result "$1: the profiler opens it" $? "$T/err"
	cli thread list --json >"$T/threads"
}
record() { # NAME ARGUMENT...: and its profile
	timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/$1" "${@:2}" >"$T/out" 2>"$T/err" </dev/null
	"$BRACE" export --to firefox "$T/$1" -o "$T/$1.json" 2>>"$T/err"
	result "$1: a trace is exported" $? "$T/err"
}

record nested -- "$T/nested-calls"
read_by_it nested
for handle in $(python3 -c 'import json, sys; print(*[t["threadHandle"] for t in json.load(open(sys.argv[1]))["threads"]])' "$T/threads"); do
	cli thread functions --json --thread "$handle" >"$T/functions.$handle"
	cli thread samples-top-down --json --max-lines 1000000 --thread "$handle" >"$T/tree.$handle"
done
"$BRACE" report --json "$T/nested" >"$T/report" 2>"$T/err" && "$BRACE" report --json --tree "$T/nested" >"$T/tree" 2>>"$T/err"
result "report has its functions and its tree" $? "$T/err"
cli profile meta --json >"$T/meta"
"$BRACE" info "$T/nested" >"$T/info" 2>"$T/err"
check_that "the computer and the program are the trace's" python3 -c 'import json, re, sys
meta, info = json.load(open(sys.argv[1])), dict(re.findall(r"(?m)^(\S+) +(.*)", open(sys.argv[2]).read()))
assert (meta["product"], meta["oscpu"], meta["importedFrom"]) == (info["command"], "Linux " + info["kernel"], "brace"), (meta, info)
assert meta["logicalCPUs"] == int(info["cpus"]), (meta, info)' "$T/meta" "$T/info"
# shellcheck disable=SC2046
check_that "threads are those of the trace" python3 -c 'import json, sys
threads = json.load(open(sys.argv[1]))["threads"]
assert sorted(str(t["tid"]) for t in threads) == sorted(sys.argv[2:]) and len(threads) == 4, threads' "$T/threads" \
	$("$BRACE" query --csv "$T/nested" 'SELECT tid FROM thread' 2>"$T/err" | tail -n +2)
cat >"$T/functions.py" <<'P'
"""functions.py REPORT FILE...: own time and time with callees of each function, summed over the threads, to the nanosecond that a call
is rounded by."""
import collections, json, sys
own, whole = collections.Counter(), collections.Counter()
for file in sys.argv[2:]:
    told = json.load(open(file))
    assert told["weightType"] == "tracing-ms" and len(told["functions"]) == told["totalFunctionCount"], told
    for f in told["functions"]:
        own[f["nameWithLibrary"]] += f["selfSamples"] * 1e6
        whole[f["nameWithLibrary"]] += f["totalSamples"] * 1e6
rows = {f'{r["module"]}!{r["name"]}': r for r in map(json.loads, list(open(sys.argv[1]))[1:])}
assert {"nested-calls!leaf", "nested-calls!middle", "nested-calls!again", "nested-calls!main"} <= set(own) <= set(rows), (own, rows)
for name, r in rows.items():
    most = 2 * rows["nested-calls!leaf"]["calls"]
    assert abs(own[name] - (r["self_ns"] or 0)) <= most, (name, own[name], r)
    assert abs(whole[name] - (r["total_ns"] or 0)) <= most, (name, whole[name], r)
P
check_that "times of each function are report's" python3 "$T/functions.py" "$T/report" "$T"/functions.t-*
cat >"$T/paths.py" <<'P'
"""paths.py TREE FILE...: the same of each path of calls. One that took no time has no sample."""
import collections, json, sys
own, whole, rows, path = collections.Counter(), collections.Counter(), {}, []
def add(node, above):
    at = above + (node["name"],)
    own[at] += node["selfSamples"] * 1e6
    whole[at] += node["totalSamples"] * 1e6
    assert not node.get("childrenTruncated"), node
    for child in node.get("children", []):
        add(child, at)
for file in sys.argv[2:]:
    for child in json.load(open(file))["regularCallTree"].get("children", []):
        add(child, ())
for r in list(map(json.loads, open(sys.argv[1])))[1:]:
    path[r["depth"]:] = [r["name"]]
    rows[tuple(path)] = r
assert set(own) <= set(rows) and len([p for p in own if p[-1] == "again"]) >= 10, (own, set(own) - set(rows))
for at, r in rows.items():
    assert abs(own[at] - (r["self_ns"] or 0)) <= 2 * 300 and abs(whole[at] - (r["total_ns"] or 0)) <= 2 * 300, (at, own[at], whole[at], r)
P
check_that "times of each path of calls are those of report --tree" python3 "$T/paths.py" "$T/tree" "$T"/tree.t-*

record events -t function_graph -e 'truth:*' -- "$FIXTURES/events"
read_by_it events
for handle in $(python3 -c 'import json, sys; print(*[t["threadHandle"] for t in json.load(open(sys.argv[1]))["threads"]])' "$T/threads"); do
	cli thread markers --json --thread "$handle" >"$T/markers.$handle"
done
"$BRACE" query --csv "$T/events" "SELECT tid, system || ':' || ftrace_event.name, count(*) FROM ftrace_event JOIN thread USING (utid) GROUP BY 1, 2" 2>"$T/err" | tail -n +2 | tr -d '"\r' | LC_ALL=C sort >"$T/wanted"
python3 - "$T/threads" "$T"/markers.t-* <<'P' | LC_ALL=C sort >"$T/shown"
import json, sys
tids = {t["threadHandle"]: t["tid"] for t in json.load(open(sys.argv[1]))["threads"]}
for file in sys.argv[2:]:
    told = json.load(open(file))
    for m in told["byType"]:
        print(tids[told["threadHandle"]], m["markerName"], m["count"], sep=",")
P
check_that "markers are the events, by thread and name" diff "$T/wanted" "$T/shown"
check_that "there are some" grep -q 'truth:tick,50$' "$T/shown"
finish

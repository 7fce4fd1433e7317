# shellcheck shell=bash
# brace report --net, diff --net, and what brace info says of a call's cost. The truth is the program
# itself: untraced, it measures the least time that its function takes (costly.c). Least times are
# compared, within wide bounds: others use the processor, too.
. "$(dirname "$0")/lib.sh"

least=$(for _ in 1 2 3 4 5; do "$FIXTURES/costly" 2>"$T/err"; done | sort -n | head -n 1)
echo "# untraced: $least ns"
record --mode block -- "$FIXTURES/costly"
nothing_lost "a program whose function calls another 200 times" 400000
"$BRACE" report --json "$T/trace" >"$T/gross" && "$BRACE" report --net --json "$T/trace" >"$T/net" 2>"$T/err"
result "report --net" $? "$T/err"
"$BRACE" info --json "$T/trace" >"$T/info"
/usr/bin/python3 - "$T" "$least" <<'P' >"$T/err" 2>&1
import json, sys
at, least = sys.argv[1], int(sys.argv[2])
def rows(name):
    lines = [json.loads(line) for line in open(at + "/" + name)]
    return lines[0], {row["name"]: row for row in lines[1:]}
head, net = rows("net")
gross_head, gross = rows("gross")
info = next(o for o in map(json.loads, open(at + "/info")) if o.get("type") == "trace")
assert head["net"] is True and "net" not in gross_head, (head, gross_head)
assert net.keys() == gross.keys()
cost = info["call_cost_ps"] / 1000
assert 0 < info["call_cost_inside_ps"] < info["call_cost_ps"]
assert info["cost_ns"] == info["call_cost_ps"] * info["calls"] // 1000
for name, row in net.items():
    for column in ("total_ns", "self_ns", "min_ns", "max_ns", "mean_ns"):
        assert 0 <= row[column] <= gross[name][column] + 1, (column, row, gross[name])
    assert row["calls"] == gross[name]["calls"]
    assert row["self_ns"] <= row["total_ns"]
# All of main's time is somebody's own, less what ran beside it.
whole = sum(row["self_ns"] for row in net.values())
assert net["main"]["total_ns"] * 0.99 <= whole <= net["main"]["total_ns"] * 1.05, (whole, net["main"])
saved = gross["main"]["total_ns"] - net["main"]["total_ns"]
assert abs(saved - cost * info["calls"]) <= 0.02 * saved, (saved, cost, info["calls"])
print("untraced", least, "gross", gross["work"]["min_ns"], "net", net["work"]["min_ns"], "a call", cost)
assert gross["work"]["min_ns"] - net["work"]["min_ns"] > 150 * cost
assert 0.4 * least <= net["work"]["min_ns"] <= 1.6 * least
assert abs(net["work"]["min_ns"] - least) < abs(gross["work"]["min_ns"] - least) / 2
P
result "net times are those of the untraced program: never negative, nearer than those with the cost, and plausible in sum" $? "$T/err"
sed 's/^/# /' "$T/err"
grep -qE '^a call +[0-9.]+ ns of recording, [0-9.]+ ns of it in its own time; of all calls 0\.[0-9]+ s, [0-9.]+ % of the CPU time$' <("$BRACE" info "$T/trace")
result "brace info tells what a call cost" $? "$T/info"

"$BRACE" report --net "$T/trace" >"$T/out" 2>"$T/err"
said=$(sed -nE 's/^brace: --net leaves out ([0-9.]+) ns a call, .* ([0-9.]+) s in all; .*: ([0-9.]+) to ([0-9.]+) s$/\1 \2 \3 \4/p' "$T/err")
/usr/bin/python3 - "$T/info" $said <<'P' >>"$T/err" 2>&1
import json, sys
info = next(o for o in map(json.loads, open(sys.argv[1])) if o.get("type") == "trace")
call, whole, least, most = map(float, sys.argv[2:])
assert abs(call - info["call_cost_ps"] / 1e3) <= 0.051 and abs(whole - info["cost_ns"] / 1e9) <= 0.000051
assert abs(least - whole / 10) <= 0.00011 and abs(most - whole * 1.6) <= 0.00021
P
result "report --net says what it leaves out, and how far that can be off" $? "$T/err"
"$BRACE" report --json --net "$T/trace" >"$T/out" 2>"$T/err" && [ -s "$T/out" ] && [ ! -s "$T/err" ]
result "... --json does not" $? "$T/err"

# --- other views, and parts
"$BRACE" report --net --json --callers leaf "$T/trace" >"$T/callers"
"$BRACE" report --net --json --tree "$T/trace" >"$T/tree"
"$BRACE" report --net --json --histogram work "$T/trace" >"$T/histogram"
"$BRACE" report --net --json -l work "$T/trace" >"$T/part"
"$BRACE" report --net --json --from 25% --to 75% "$T/trace" >"$T/half"
"$BRACE" report --json --from 25% --to 75% "$T/trace" >"$T/half-gross"
/usr/bin/python3 - "$T" <<'P' >"$T/err" 2>&1
import json, sys
def objects(name):
    return [json.loads(line) for line in open(sys.argv[1] + "/" + name)][1:]
net = {row["name"]: row for row in objects("net")}
assert objects("callers")[0]["total_ns"] == net["leaf"]["total_ns"], objects("callers")
assert [o["total_ns"] for o in objects("tree") if o["name"] == "leaf"] == [net["leaf"]["total_ns"]], objects("tree")
assert objects("histogram")[0]["total_ns"] == net["work"]["total_ns"], objects("histogram")
# A call's cost is left out whether or not the calls that it was of are shown.
assert objects("part")[0]["total_ns"] == net["work"]["total_ns"], objects("part")
half, gross = ({row["name"]: row for row in objects(name)} for name in ("half", "half-gross"))
ratio = half["main"]["total_ns"] / gross["main"]["total_ns"]
whole = net["work"]["total_ns"] / next(row for row in objects("gross") if row["name"] == "work")["total_ns"]
print(ratio, whole)
assert 0 < ratio < 1 and abs(ratio - whole) < 0.25, (ratio, whole)
P
result "callers, the tree, histograms and parts of the trace are net, too" $? "$T/err"
"$BRACE" diff --net --json "$T/trace" "$T/trace" >"$T/diff" 2>"$T/err"
/usr/bin/python3 - "$T" <<'P' >>"$T/err" 2>&1
import json, sys
net = {row["name"]: row for row in map(json.loads, list(open(sys.argv[1] + "/net"))[1:])}
rows = [json.loads(line) for line in list(open(sys.argv[1] + "/diff"))[1:]]
rows = {row["name"]: row for row in rows if "name" in row}
for name, row in rows.items():
    assert row["a"]["self_ns"] == row["b"]["self_ns"] == net[name]["self_ns"], (row, net[name])
assert rows.keys() == net.keys()
P
result "diff --net" $? "$T/err"

# --- where it is not known
record -g work -- "$FIXTURES/costly"
"$BRACE" report --net "$T/trace" >"$T/out" 2>"$T/err"
[ $? -ne 0 ] && grep -q '^brace: --net: the trace does not tell what recording a call cost: .*-g' "$T/err"
result "a trace of -g does not tell the cost, and --net says so" $? "$T/err"
! "$BRACE" info "$T/trace" | grep -q '^a call'
result "nor does brace info" $?
record -t function -- "$FIXTURES/costly"
"$BRACE" report --net "$T/trace" >"$T/out" 2>"$T/err"
[ $? -ne 0 ] && grep -q 'tracer function_graph alone' "$T/err"
result "nor does one of -t function" $? "$T/err"
finish

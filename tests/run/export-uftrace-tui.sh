#!/bin/bash
# `brace export --to uftrace` on the screen of `uftrace tui`: its table of functions has `brace report`'s calls and times, and its
# call graph the calls by caller.
. "$(dirname "$0")/lib.sh"
need uftrace
. "$HERE/tmux-lib.sh"

# rows.py SCREEN REPORT: the table's rows, "TOTAL SELF CALLS NAME", are the report's. A call that did not end has no time.
cat >"$T/rows.py" <<'P'
import collections, json, re, sys
units, shown, wanted = {"us": 1, "ms": 1000, "s": 1000000}, {}, collections.defaultdict(lambda: [0, 0, 0])
time = r"(?:([\d.]+) +(us|ms|s))?"
for line in open(sys.argv[1]):
    row = re.fullmatch(rf" *{time} *{time} +(\d+)  (\S+)\s*", line)
    if row:
        total, unit, self, self_unit, calls, name = row.groups()
        shown[name] = [(total, unit), (self, self_unit), int(calls)]
for row in [json.loads(line) for line in open(sys.argv[2])][1:]:
    of = wanted[row["name"]]
    for i, key in enumerate(("total_ns", "self_ns", "calls")):
        of[i] += row[key] or 0
assert shown.keys() == wanted.keys() and "leaf" in shown, (sorted(shown), sorted(wanted))
every = sum(calls for *_, calls in shown.values())
for name, (*times, calls) in shown.items():
    assert calls == wanted[name][2], (name, calls, wanted[name])
    for (text, unit), ns in zip(times, wanted[name]):
        # Three digits behind the point, of the unit; none: nothing of it lasted. The format rounds the times of each call.
        apart = 0.001 * units[unit or "us"] + 0.002 * (calls if times[0] == (text, unit) else every)
        assert abs(float(text or 0) * units[unit or "us"] - ns / 1000) <= apart, (name, text, unit, ns)
P
cat >"$T/steps.c" <<'C'
__attribute__((noinline, noclone)) int leaf(int n) { __asm__ volatile(""); return n + 1; }
__attribute__((noinline, noclone)) int middle(int n) { __asm__ volatile(""); return leaf(n) + leaf(n + 1); }
int main(void) { int n = 0; for (int i = 0; i < 50; i++) n += i % 3 ? middle(i) : leaf(i); return n == 1; }
C
cc -O1 -fno-optimize-sibling-calls -o "$T/steps" "$T/steps.c" &&
	timeout -k 5 "$LIMIT" "$BRACE" record -q -o "$T/trace" -- "$T/steps" >"$T/out" 2>"$T/err" </dev/null &&
	"$BRACE" report --json "$T/trace" >"$T/report" && "$BRACE" export --to uftrace "$T/trace" -o "$T/steps.uftrace" 2>"$T/err"
result "a trace is exported" $? "$T/err"

terminal 120 40
type_line uftrace tui --demangle=no -d "$T/steps.uftrace"
screen "its call graph: main calls leaf itself, 17 times" '(us|ms|s) : .*\(17\) leaf'
screen "and middle 33 times" '(us|ms|s) : .*\(33\) middle'
screen "which calls leaf 66 times" '(us|ms|s) : .*\(66\) leaf'
press R
screen "its table of functions" 'TOTAL TIME +SELF TIME +CALL +FUNCTION'
rows_agree() { look_at && python3 "$T/rows.py" "$T/screen" "$T/report" >"$T/log" 2>&1; }
until_is rows_agree
result "has report's calls and times" $? "$T/log"
press q
screen "and it ends" 'ready\$ *$'
finish

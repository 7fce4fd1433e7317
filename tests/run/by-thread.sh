#!/bin/bash
# `brace report --by thread`: each thread's calls and time, against the account that the program
# gives of itself.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
export ACCOUNT=$T/account

report() { "$BRACE" report --no-pager --color never "$@" "$T/trace" "${GLOBS[@]}" 2>"$T/err"; }
GLOBS=()
record --mode block -l inner -l outer -- "$FIXTURES/crew"
report --by thread --json >"$T/json"
python3 - "$ACCOUNT" "$T/json" <<'P' >"$T/check.log" 2>&1
import json, sys
account = {}
for line in open(sys.argv[1]):
    name, calls, spent = line.rstrip("\n").rsplit(" ", 2)
    account[name] = (int(calls), int(spent))
rows = [json.loads(line) for line in open(sys.argv[2])][1:]
seen = {f"{r['comm']}-{r['tid']}": r for r in rows}
assert len(account) == 4 and account.keys() == seen.keys(), (account, seen)
for name, (calls, spent) in account.items():
    r = seen[name]
    assert r["calls"] == calls, (name, calls, r)
    assert spent * 0.99 <= r["self_ns"] == r["total_ns"], (name, spent, r)
    assert r["min_ns"] <= r["p50_ns"] <= r["p99_ns"] <= r["max_ns"] <= r["total_ns"], r
P
result "every thread that called has its name, its calls and its time" $? "$T/check.log"
report --json >"$T/functions"
sums() { python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])][1:]
print(sum(r["calls"] for r in rows), sum(r["self_ns"] for r in rows) // 1000)' "$1"; }
read -r calls self < <(sums "$T/json")
read -r all whole < <(sums "$T/functions")
check_that "threads and functions sum up to the same calls ($calls), and to the same time" \
	test "$calls" = "$all" -a $((self - whole)) -le 4 -a $((whole - self)) -le 4
report --by thread -s calls >"$T/table"
check_that "the table has them, most calls first" \
	diff <(sort -rnk2,2 <(awk '{ print $(NF - 2), $(NF - 1) }' "$ACCOUNT")) <(awk 'NR > 1 { print $NF, $1 }' "$T/table")
check_that "under its title" grep -qE 'MAX +THREAD$' "$T/table"
GLOBS=('crew-[34]*')
check_that "globs select threads" test "$(report --by thread | sed 1d | wc -l)" = 2
GLOBS=(nobody)
report --by thread >"$T/out"
check_that "one that matches none is said to" grep -q 'no thread that called matches' "$T/err"
GLOBS=()
check_that "by function is the default" diff <(report --by function) <(report)
report --by weight >"$T/out"
check_that "there are no others" grep -qx 'brace: no rows by weight; there are function, thread, module, file, line, process' "$T/err"
finish

#!/bin/bash
# Rows of source files and lines (brace report --by file, --by line), and callgrind's: the places are
# those that nm -l reads from the same debug information, and the sums are those of the functions.
. "$(dirname "$0")/lib.sh"
mkdir "$T/src" "$T/plain"
cat >"$T/src/shop.c" <<'END'
__attribute__((noinline, noclone)) int price(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }

__attribute__((noinline, noclone)) int total(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += price(i);
	return sum;
}
END
cat >"$T/src/main.c" <<'END'
int total(int n);
int unseen(int n);
__attribute__((noinline, noclone)) static int visit(int n) { __asm__ volatile("" : "+r"(n)); return total(n) + unseen(n); }
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 10; i++)
		sum += visit(i);
	return sum != 100;
}
END
echo '__attribute__((noinline, noclone)) int unseen(int n) { __asm__ volatile("" : "+r"(n)); return 1; }' >"$T/plain/unseen.c"
(cd "$T" && cc -g -O1 -c src/shop.c src/main.c && cc -O1 -c plain/unseen.c && cc -o program shop.o main.o unseen.o) 2>"$T/err" ||
	{ not_ok "the program is built"; diag "$T/err"; finish; }
"$BRACE" record -q --mode block -o "$T/trace" -- "$T/program" >"$T/out" 2>"$T/err"
result "a program of three files is recorded" $(($? > 1)) "$T/err"
nm -l "$T/program" | awk -F'[ \t]' '$4 != "" { print $3, $4 }' >"$T/places"
check_that "nm knows the lines" [ "$(grep -cE '^(price|total|visit|main) ' "$T/places")" = 4 ]
for rows in function file line; do "$BRACE" report --json --by $rows "$T/trace" >"$T/$rows" 2>"$T/err"; done
"$BRACE" export --to callgrind -o "$T/callgrind.out" "$T/trace" 2>"$T/err"

cat >"$T/truth.py" <<'P'
import collections, json, re, sys
def rows(name):
    return [json.loads(line) for line in open(f"{sys.argv[1]}/{name}")][1:]
def same_file(a, b):
    return a.split("/")[-2:] == b.split("/")[-2:]
place = {}
for line in open(f"{sys.argv[1]}/places"):
    function, where = line.split(" ", 1)
    place[function] = where.strip().rsplit(":", 1)
functions = rows("function")
want = {"file": collections.Counter(), "line": collections.Counter()}
own = {"file": collections.Counter(), "line": collections.Counter()}
for f in functions:
    path, line = place.get(f["name"], (None, None)) if f["module"] == "program" else (None, None)
    for kind in want:
        name = f"[{f['module']}]" if path is None else path if kind == "file" else f"{path}:{line}"
        want[kind]["/".join(name.split("/")[-2:])] += f["calls"]
        own[kind]["/".join(name.split("/")[-2:])] += f["self_ns"]
for kind in want:
    got = {"/".join(r["name"].split("/")[-2:]): r for r in rows(kind)}
    assert {k: r["calls"] for k, r in got.items()} == dict(want[kind]), (kind, got, want[kind])
    assert all(abs(r["self_ns"] - own[kind][k]) <= len(functions) for k, r in got.items()), (kind, got, own[kind])
assert want["file"]["src/shop.c"] == 55 and want["file"]["src/main.c"] == 11, want
# callgrind: fl= and the line of each function's cost, and of each call.
names, at, seen = {}, {}, 0
for line in open(f"{sys.argv[1]}/callgrind.out"):
    key, _, value = line.rstrip("\n").partition("=")
    if key in ("fn", "cfn"):
        number, _, name = value.partition(") ")
        if name:
            names[number.rstrip(")") + ")"] = name
        at[key] = names[number.rstrip(")") + ")"]
    elif key in ("fl", "cfi"):
        at[key] = value
        at.pop("calls", None)
    elif key == "calls":
        called = at["cfn"]
        if called in place:
            assert value.split()[1] == place[called][1] and same_file(at["cfi"], place[called][0]), (line, called)
        at["calls"] = True
    elif re.match(r"\d+ \d+$", line) and at.get("fn") in place:
        assert line.split()[0] == place[at["fn"]][1], (line, at)
        if not at.pop("calls", None):
            assert same_file(at["fl"], place[at["fn"]][0])
            seen += 1
assert seen == 4, seen
P
check_that "rows of files and lines are nm's, with the sums of their functions; callgrind's, too" /usr/bin/python3 "$T/truth.py" "$T"
if command -v callgrind_annotate >"$T/log"; then
	callgrind_annotate --threshold=100 "$T/callgrind.out" >"$T/shown" 2>"$T/err"
	grep -q 'Auto-annotated source: .*/src/shop.c' "$T/shown" && grep -qE '^ *[0-9,]+ .*int price\(int n\)' "$T/shown"
	result "callgrind_annotate shows the source with its costs" $? "$T/shown"
else
	skip "callgrind_annotate shows the source" "valgrind is not installed"
fi

# replay --source: the lines that addr2line tells of the addresses that funcgraph-retaddr shows.
"$BRACE" replay -O funcgraph-retaddr "$T/trace" >"$T/addresses" 2>"$T/err" && "$BRACE" replay --source "$T/trace" >"$T/sources" 2>>"$T/err"
result "replay --source" $? "$T/err"
cat >"$T/sources.py" <<'P'
import re, subprocess, sys
brace, where = sys.argv[1:]
program = f"{where}/program"
start = {f[2]: int(f[0], 16) for f in (l.split() for l in subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()) if len(f) == 3}
place = {f: p.strip().split("/")[-1] for f, p in (l.rstrip("\n").split(" ", 1) for l in open(f"{where}/places"))}
calls = [[l for l in open(f"{where}/{name}") if re.search(r"\w+\(\)( \{|;)", l)] for name in ("addresses", "sources")]
assert len(calls[0]) == len(calls[1]) > 60, [len(c) for c in calls]
compared, known = 0, {}
for address, source in zip(*calls):
    name = re.search(r"(\w+)\(\)", source)[1]
    assert name == re.search(r"(\w+)\(\)", address)[1], (address, source)
    text = re.search(r"/\*(.*)\*/", source)
    declared = re.search(r" (\S+:\d+)( |$)", text[1].split("<-")[0]) if text else None
    assert (declared[1] if declared else None) == place.get(name), (source, place.get(name))
    site = re.search(r"<-(\w+)\+0x([0-9a-f]+)/", address)
    if site and site[1] in place:
        at = hex(start[site[1]] + int(site[2], 16) - 1)
        if at not in known:
            line = subprocess.run(["addr2line", "-e", program, at], stdout=subprocess.PIPE, text=True, check=True).stdout
            known[at] = line.split(" (")[0].strip().split("/")[-1]
        assert f"<-{known[at]}" in text[1], (address, source, known[at])
        compared += 1
assert compared > 60 and len(known) >= 4, (compared, known)
P
check_that "its lines of functions are nm's, those of calls addr2line's" /usr/bin/python3 "$T/sources.py" "$BRACE" "$T"
"$BRACE" record -q -t function -o "$T/flat" -- "$T/program" >"$T/out" 2>"$T/err"
"$BRACE" replay --source "$T/flat" >"$T/out" 2>"$T/err"
[ $? -eq 125 ] && grep -q -- '--source is for the function graph' "$T/err" && [ ! -s "$T/out" ]
result "a trace without a graph has no such lines" $? "$T/err"
"$BRACE" replay --source -l price --from 20% "$T/trace" >"$T/out" 2>"$T/err" && grep -q 'price(); /\* shop.c:1 <-shop.c:7' "$T/out"
result "of a part, too" $? "$T/out"
"$BRACE" diff --json -s calls --by file "$T/trace" "$T/trace" >"$T/out" 2>"$T/err" && grep -q '"name":"[^"]*src/shop.c"' "$T/out"
result "brace diff has these rows, too" $? "$T/err"
strip -o "$T/program.new" "$T/program" && mv "$T/program.new" "$T/program"
"$BRACE" report --by file "$T/trace" >"$T/out" 2>"$T/err" && ! grep -q shop.c "$T/out" && grep -q '\[program\]' "$T/out"
result "another file than was traced tells nothing" $? "$T/out"
"$BRACE" replay --source "$T/trace" >"$T/out" 2>"$T/err" && ! grep -q 'shop\.c\|main\.c' "$T/out" && grep -q 'price();$' "$T/out"
result "nor of its calls" $? "$T/out"
finish

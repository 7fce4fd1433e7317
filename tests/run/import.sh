#!/bin/bash
# brace import: uftrace's data and perf script's text, recorded by the tools themselves; calls, samples
# and times are those that `uftrace report` and `perf report` tell. brace's own export comes back whole.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
import() { # FROM NAME
	"$BRACE" import "$1" -o "$T/$2.brace" >"$T/out" 2>"$T/err" && "$BRACE" report --json "$T/$2.brace" >"$T/$2.report" 2>>"$T/err"
}

lines_are() { [ "$(grep -c "$2" "$3")" = "$1" ]; } # N PATTERN FILE

# --- uftrace
cat >"$T/tree.c" <<'END'
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
int leaf(int n) { return n * 3; }
int mid(int n) { int s = 0; for (int i = 0; i < n; i++) s += leaf(i); return s; }
int again(int n) { return n ? again(n - 1) + leaf(n) : 0; }
void *work(void *n) { int s = 0; for (int i = 0; i < 50; i++) s += mid(i); return (void *)(long)s; }
int main(int argc, char **argv)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
	again(100);
	for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
	if (argc > 1 && !fork()) { mid(7); _exit(0); }
	if (argc > 1) wait(0);
	return mid(10) == 0;
}
END
cat >"$T/uftrace.py" <<'P'
"""uftrace.py SHOWN REPORT: uftrace report's calls by function, and its times as exact as it shows them, are brace's."""
import collections, json, re, sys
unit = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
calls, self, rows = collections.Counter(), collections.Counter(), 0
for row in [json.loads(line) for line in open(sys.argv[2])][1:]:
    calls[row["name"]] += row["calls"]
    self[row["name"]] += row["self_ns"]
for line in open(sys.argv[1]):
    m = re.match(r" *([0-9.]+) +(\w+) +([0-9.]+) +(\w+) +(\d+) +(\S+)$", line)
    if not m:
        continue
    rows += 1
    name, shown = m[6], float(m[3]) * unit[m[4]]
    assert calls.pop(name, 0) == int(m[5]), (line, name)
    assert abs(self[name] - shown) <= unit[m[4]] * 0.0011 + 2, (line, self[name])
assert rows >= 5 and not calls, (rows, calls)
P
if command -v uftrace >"$T/log" && gcc -pg -g -O0 -pthread -o "$T/tree" "$T/tree.c" 2>"$T/err" &&
	(cd "$T" && timeout 60 uftrace record --no-event --no-libcall -d "$T/data" "$T/tree") >"$T/out" 2>"$T/err"; then
	import "$T/data" tree
	result "uftrace's data is imported" $? "$T/err"
	COLUMNS=1000 uftrace report --no-pager --color=no -d "$T/data" >"$T/shown" 2>"$T/err"
	check_that "calls and times are uftrace report's" /usr/bin/python3 "$T/uftrace.py" "$T/shown" "$T/tree.report"
	check_that "its threads are there" [ "$(grep -c '"type":"thread"' <("$BRACE" info --json "$T/tree.brace"))" = 4 ]
	"$BRACE" replay "$T/tree.brace" >"$T/graph" 2>"$T/err" && [ "$(grep -cE 'leaf\(\)( \{|;)' "$T/graph")" = "$(sed -nE 's/.*"name":"leaf".*"calls":([0-9]+).*/\1/p' "$T/tree.report")" ]
	result "replay prints them" $? "$T/err"
	"$BRACE" export --to uftrace -o "$T/back" "$T/tree.brace" 2>"$T/err" && COLUMNS=1000 uftrace report --no-pager --color=no -d "$T/back" >"$T/shown2" 2>>"$T/err"
	check_that "and uftrace reads what is exported again" /usr/bin/python3 "$T/uftrace.py" "$T/shown2" "$T/tree.report"
	# A child's records begin within calls that its parent has made.
	(cd "$T" && timeout 60 uftrace record --no-event --no-libcall -d "$T/forked" "$T/tree" fork) >"$T/out" 2>"$T/err"
	import "$T/forked" forks
	COLUMNS=1000 uftrace report --no-pager --color=no -d "$T/forked" >"$T/shown" 2>>"$T/err"
	check_that "a child's calls and times are uftrace report's" /usr/bin/python3 "$T/uftrace.py" "$T/shown" "$T/forks.report"
	cp -r "$T/data" "$T/spoiled" && for f in "$T/spoiled"/[0-9]*.dat; do printf 'no record here..' >"$f"; done
	"$BRACE" import "$T/spoiled" -o "$T/none" >"$T/out" 2>"$T/err"
	[ $? = 125 ] && grep -q 'bytes that are no record' "$T/err" && [ ! -e "$T/none" ]
	result "records that are none" $? "$T/err"
	rm -r "$T/data" && (cd "$T" && timeout 60 uftrace record --no-event --no-libcall -A 'leaf@arg1' -d "$T/data" "$T/tree") >"$T/out" 2>"$T/err"
	"$BRACE" import "$T/data" -o "$T/none" >"$T/out" 2>"$T/err"
	[ $? = 125 ] && grep -q 'has arguments' "$T/err"
	result "arguments are refused" $? "$T/err"
else
	skip "uftrace's data" "uftrace does not record here: $(head -n 1 "$T/err")"
fi

# --- brace's own export comes back
"$BRACE" record -q --mode block -o "$T/own" -- "$FIXTURES/parts" 4 >"$T/out" 2>"$T/err"
"$BRACE" export --to uftrace -o "$T/own.uftrace" "$T/own" 2>"$T/err"
import "$T/own.uftrace" again
result "what was exported for uftrace is imported" $? "$T/err"
check_that "with the same calls" diff <("$BRACE" report --json "$T/own" | sed -nE 's/.*"name":"([^"]*)".*"calls":([0-9]+).*/\1 \2/p' | sort) \
	<(sed -nE 's/.*"name":"([^"]*)".*"calls":([0-9]+).*/\1 \2/p' "$T/again.report" | sort)

# --- trace-cmd: its text of a function graph
if command -v trace-cmd >"$T/log"; then
	"$BRACE" export --to trace.dat -o "$T/own.dat" "$T/own" 2>"$T/err" && trace-cmd report -t -i "$T/own.dat" >"$T/own.text" 2>"$T/err"
	import "$T/own.text" graph
	result "trace-cmd report's text is imported" $? "$T/err"
	"$BRACE" export --to trace.dat.v7 -o "$T/own.v7" "$T/own" 2>"$T/err"
	for file in own.dat own.v7; do
		import "$T/$file" binary
		result "$file itself is imported" $? "$T/err"
		check_that "as its text is" diff "$T/graph.report" "$T/binary.report"
	done
	head -c 3000 "$T/own.v7" >"$T/cut.v7"
	"$BRACE" import "$T/cut.v7" -o "$T/none" >"$T/out" 2>"$T/err"
	[ $? = 125 ] && grep -q "cannot import $T/cut.v7: trace-cmd.* or refuses it" "$T/err" && [ ! -e "$T/none" ]
	result "one that trace-cmd refuses is none" $? "$T/err"
	PATH=$T "$BRACE" import "$T/own.v7" -o "$T/none" >"$T/out" 2>"$T/err"
	[ $? = 125 ] && grep -q 'is not there (package trace-cmd)' "$T/err"
	result "without trace-cmd that is said" $? "$T/err"
	entries=$(grep -c funcgraph_entry: "$T/own.text")
	check_that "with as many calls as it has: $entries" [ "$(sed -nE 's/.*"calls":([0-9]+).*/\1/p' "$T/graph.report" | awk '{ n += $1 } END { print n }')" = "$entries" ]
	check_that "of the same functions as the trace that it was of" diff <("$BRACE" report --json "$T/own" | sed -nE 's/.*"name":"([^"]*)".*"calls":([0-9]+).*/\1 \2/p' | sort) \
		<(sed -nE 's/.*"name":"([^"]*)".*"calls":([0-9]+).*/\1 \2/p' "$T/graph.report" | sort)
	check_that "that last as long" /usr/bin/python3 -c 'import json, sys
a, b = ({r["name"]: r for r in [json.loads(l) for l in open(p)][1:]} for p in sys.argv[1:])
assert all(abs(r["total_ns"] - b[n]["total_ns"]) <= 2 * r["calls"] + 2 for n, r in a.items()), [(n, r["total_ns"], b[n]["total_ns"]) for n, r in a.items()]' \
		<("$BRACE" report --json "$T/own") "$T/graph.report"
else
	skip "trace-cmd report's text" "trace-cmd is not installed"
fi

# Newer versions print arguments, values, callers and depths, and names of overloads have parentheses of their own.
cat >"$T/newer.text" <<'END'
cpus=1
 prog-7 [000] ..... 10.000001000: funcgraph_entry:                   |  main() { (0) /* <-start */
 prog-7 [000] ..... 10.000002000: funcgraph_entry:        1.000 us   |    add(a=-3, b=0x4); (ret=0x1)
 prog-7 [000] ..... 10.000004000: funcgraph_entry:        1.000 us   |    all(p=(STRUCT)[0x1:0x2], last=8); (1) /* <-main */ (ret=-5)
 prog-7 [000] ..... 10.000006000: funcgraph_entry:        1.000 us   |    price(vector<Item>_const&)(of=0x1); (ret=0x1)
 prog-7 [000] ..... 10.000008000: funcgraph_entry:        1.000 us   |    price(Item_const&)();
 prog-7 [000] ..... 10.000010000: funcgraph_entry:        1.000 us   |    operator()(); (ret=0x1)
 prog-7 [000] ..... 10.000012000: funcgraph_exit:        11.000 us   |  } (ret=0x0)
END
import "$T/newer.text" newer
result "the text of newer versions is imported" $? "$T/err"
printf '%s\n' 'add 1 1000' 'all 1 1000' 'main 1 11000' 'operator() 1 1000' 'price(Item_const&) 1 1000' 'price(vector<Item>_const&) 1 1000' >"$T/wanted"
check_that "with each function's name alone, its calls and times" diff "$T/wanted" \
	<(sed -nE 's/.*"name":"([^"]*)".*"calls":([0-9]+),"total_ns":([0-9]+).*/\1 \2 \3/p' "$T/newer.report" | LC_ALL=C sort)

# --- perf
cat >"$T/perf.py" <<'P'
"""perf.py SHOWN REPORT: of each symbol and file, the periods that perf report adds up are brace's own time."""
import collections, json, sys
self = collections.Counter()
for row in [json.loads(line) for line in open(sys.argv[2])][1:]:
    self[row["name"]] += row["self_ns"]
want = collections.Counter()
for line in open(sys.argv[1]):
    words = line.split(",")
    if len(words) >= 3 and words[1].strip().isdigit():
        want[words[2].strip()[4:]] += int(words[1])
assert want and sum(want.values()) == sum(self.values()), (sum(want.values()), sum(self.values()))
for name, period in want.items():
    if not name.startswith("0x"):
        assert self[name] == period, (name, period, self[name])
P
if command -v perf >"$T/log" &&
	timeout 60 perf record -q -e cpu-clock -F 2000 -g -o "$T/perf.data" awk 'BEGIN { for (i = 0; i < 3000000; i++) n += i % 7; print n }' >"$T/out" 2>"$T/err"; then
	perf script -i "$T/perf.data" >"$T/samples" 2>"$T/err"
	import "$T/samples" sampled
	result "perf script's text is imported" $? "$T/err"
	perf report -i "$T/perf.data" --no-children -g none --stdio -t , -F sample,period,sym >"$T/shown" 2>"$T/err"
	check_that "times of functions are perf report's periods" /usr/bin/python3 "$T/perf.py" "$T/shown" "$T/sampled.report"
	import "$T/perf.data" binary
	result "perf.data itself is imported" $? "$T/err"
	check_that "as its text is" cmp "$T/sampled.report" "$T/binary.report"
	# info knows no time of a trace that has none.
	check_that "its time is not told" lines_are 0 '^time ' <("$BRACE" info "$T/binary.brace")
	head -c 4000 "$T/perf.data" >"$T/cut.data"
	"$BRACE" import "$T/cut.data" -o "$T/none" >"$T/out" 2>"$T/err"
	[ $? = 125 ] && grep -q 'perf script -i FILE tells why' "$T/err" && [ ! -e "$T/none" ]
	result "a perf.data that perf refuses" $? "$T/err"
	"$BRACE" export --to folded --weight self "$T/sampled.brace" >"$T/folded" 2>"$T/err" && [ -s "$T/folded" ]
	result "as a flame graph" $? "$T/err"
else
	skip "perf script's text" "perf does not record here: $(head -n 1 "$T/err")"
fi
cat >"$T/hand" <<'END'
# a comment
a name 12/13 [001] 100.000300000: 100000 cpu-clock:u: 
	          401010 leaf+0x10 (/tmp/a program)
	          402020 std::vector<int>::push (int)+0x4 (/tmp/a program)
	          403030 main+0x20 (/tmp/a program)

a name 12/13 [001] 100.000350000: 100000 cpu-clock:u: 
	          402024 std::vector<int>::push (int)+0x8 (/tmp/a program)
	          403030 main+0x20 (/tmp/a program)

other 14 100.000400: 7 cycles:  55d0 alone+0x1 (/bin/x)
END
import "$T/hand" hand
result "a text by hand" $? "$T/err"
cat >"$T/want" <<'END'
alone 1 7 7
leaf 1 100000 100000
main 2 200000 0
std::vector<int>::push (int) 2 200000 100000
END
sed -nE 's/.*"name":"([^"]*)".*"calls":([0-9]+),"total_ns":([0-9]+),"self_ns":([0-9]+).*/\1 \2 \3 \4/p' "$T/hand.report" | LC_ALL=C sort >"$T/got"
check_that "names with blanks, samples that overlap, one frame on the line" diff "$T/want" "$T/got"
check_that "and the names of its threads" [ "$("$BRACE" info "$T/hand.brace" | grep -cE '^thread +(12/13 a name|14/14 other),')" = 2 ]

# Processes that meet the functions of a file in another order.
cat >"$T/hand" <<'END'
first 12 100.000100: 100000 cpu-clock:u: 
	          401010 leaf+0x10 (/lib/shared.so)
	          402020 middle+0x10 (/lib/shared.so)

second 13 100.000200: 50000 cpu-clock:u: 
	          402024 middle+0x18 (/lib/shared.so)
	          403020 outer+0x18 (/lib/shared.so)

second 13 100.000300: 20000 cpu-clock:u: 
	          403024 outer+0x18 (/lib/shared.so)
	          401024 leaf+0x18 (/lib/other.so)

third 14 100.000400: 3000 cpu-clock:u: 
	          403024 outer+0x18 (/lib/shared.so)
	          401024 leaf+0x18 (/lib/shared.so)
END
import "$T/hand" several
cat >"$T/want" <<'END'
leaf other.so 1 20000 0
leaf shared.so 2 103000 100000
middle shared.so 2 150000 50000
outer shared.so 3 73000 23000
END
sed -nE 's/.*"name":"([^"]*)","module":"([^"]*)".*"calls":([0-9]+),"total_ns":([0-9]+),"self_ns":([0-9]+).*/\1 \2 \3 \4 \5/p' "$T/several.report" |
	LC_ALL=C sort >"$T/got"
check_that "a function of several processes is one row, and only it" diff "$T/want" "$T/got"

# --- what is none
says() { # SENTENCE WHAT
	"$BRACE" import "$2" -o "$T/none" >"$T/out" 2>"$T/err"
	[ $? = 125 ] && grep -q -- "$1" "$T/err" && [ ! -e "$T/none" ]
	result "import says: $1" $? "$T/err"
}
mkdir "$T/empty" "$T/foreign" && echo 'no such thing' >"$T/foreign/info"
says 'No such file' "$T/nothing"
says "cannot import $T/empty: it has no file info, as uftrace's data has$" "$T/empty"
says "not uftrace's" "$T/foreign"
says 'no sample of perf script' "$T/tree.c"
says "cannot import $T/own: it is a trace file of brace already" "$T/own"
: >"$T/void"
says 'no sample of perf script' "$T/void"
"$BRACE" import "$T/hand" -o /dev/full >"$T/out" 2>"$T/err"
[ $? = 125 ] && grep -q '/dev/full' "$T/err"
result "a full disk is an error" $? "$T/err"
finish

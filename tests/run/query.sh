#!/bin/bash
# `brace query`: what is pushed down to the tables is held against SQLite's own copies of them, the rows against report and
# against another SQLite.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
export ACCOUNT=$T/account

record() { # FILE ARGUMENT...
	timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/$1" "${@:2}" >"$T/out" 2>"$T/err" </dev/null
}
query() { "$BRACE" query --no-pager --color never "$@" 2>"$T/err"; }
rows() { query --csv "$T/$1" "$2" | tail -n +2; } # FILE STATEMENT

# Statements about the table @: they are asked of slice, and of a copy of it that SQLite has made.
cat >"$T/statements" <<'S'
SELECT count(*), sum(dur), sum(self), min(ts), max(ts) FROM @
SELECT name, count(*), sum(dur), p50(dur), p99(dur), max(depth) FROM @ GROUP BY name
SELECT name_id, count(*), sum(self) FROM @ GROUP BY name_id
SELECT utid, count(*) FROM @ GROUP BY utid
SELECT track_id, name, count(*) FROM @ GROUP BY track_id, name
SELECT parent_id, count(*) FROM @ GROUP BY parent_id
SELECT DISTINCT name FROM @
SELECT DISTINCT name, depth FROM @
SELECT * FROM @ ORDER BY ts, id LIMIT 100
SELECT id, ts FROM @ ORDER BY id DESC LIMIT 100
SELECT * FROM @ ORDER BY dur DESC, id LIMIT 50 OFFSET 7
SELECT name, count(*) n FROM @ GROUP BY name ORDER BY n DESC, name
SELECT * FROM @ WHERE id = 17
SELECT * FROM @ WHERE id IN (3, 5, 5, 99999999, -1)
SELECT * FROM @ WHERE id BETWEEN 10 AND 20
SELECT * FROM @ WHERE id > 10.5 AND id < '20'
SELECT count(*) FROM @ WHERE id > 9223372036854775807
SELECT count(*) FROM @ WHERE id < -5
SELECT count(*) FROM @ WHERE ts >= (SELECT ts FROM @ WHERE id = 30) AND ts < (SELECT ts FROM @ WHERE id = 60)
SELECT count(*) FROM @ WHERE ts <= (SELECT ts FROM @ WHERE id = 30)
SELECT count(*) FROM @ WHERE ts = (SELECT ts FROM @ WHERE id = 30)
SELECT count(*), sum(dur) FROM @ WHERE name = (SELECT name FROM @ WHERE id = 12)
SELECT count(*) FROM @ WHERE name = (SELECT upper(name) FROM @ WHERE id = 12) COLLATE NOCASE
SELECT count(*) FROM @ WHERE name = 'there is none'
SELECT count(*) FROM @ WHERE name = NULL OR name IS NULL
SELECT count(*) FROM @ WHERE name IN (SELECT name FROM @ WHERE id < 30)
SELECT count(*) FROM @ WHERE name GLOB '*e*' AND dur > 100
SELECT count(*) FROM @ WHERE utid = '0' AND track_id = 0.0
SELECT count(*) FROM @ WHERE parent_id IS NULL
SELECT count(*) FROM @ WHERE parent_id = 4
SELECT id, ts FROM @ WHERE parent_id = (SELECT parent_id FROM @ WHERE id = 12) ORDER BY ts DESC LIMIT 5
SELECT c.name, p.name, count(*) FROM @ c JOIN @ p ON c.parent_id = p.id GROUP BY 1, 2
SELECT p.id, count(c.id) FROM @ p LEFT JOIN @ c ON c.parent_id = p.id WHERE p.depth < 2 GROUP BY p.id
SELECT count(*) FROM @ a WHERE EXISTS (SELECT 1 FROM @ b WHERE b.name = a.name AND b.depth = a.depth + 1) AND a.id < 50
SELECT count(*), count(c.id), sum(c.ts) FROM @ p LEFT JOIN @ c ON c.parent_id = p.id AND c.name = p.name
SELECT count(*), count(c.id), sum(c.ts) FROM @ p LEFT JOIN @ c ON c.name = p.name AND c.utid = p.utid AND c.parent_id = p.id
SELECT count(*), count(c.id), sum(c.ts) FROM @ p LEFT JOIN @ c ON c.name = p.name AND c.id = p.parent_id
SELECT a.id, count(b.id), min(b.ts) FROM @ a LEFT JOIN @ b ON b.name = a.name AND b.ts > a.ts AND b.id <= a.id + 9 WHERE a.id < 40 GROUP BY 1
SELECT id FROM @ WHERE parent_id = (SELECT parent_id FROM @ WHERE id = 12) AND id > 12 AND name > 'a' ORDER BY id DESC
SELECT ended, count(*) FROM @ GROUP BY ended
SELECT name, count(*) FROM @ GROUP BY name ORDER BY name
SELECT name, count(*) FROM @ GROUP BY name ORDER BY name DESC
SELECT parent_id, count(*) FROM @ GROUP BY parent_id ORDER BY parent_id
SELECT parent_id, count(*) FROM @ GROUP BY parent_id ORDER BY parent_id DESC
SELECT parent_id, count(*) FROM @ GROUP BY parent_id ORDER BY parent_id NULLS LAST
SELECT DISTINCT parent_id FROM @ ORDER BY parent_id LIMIT 20
SELECT DISTINCT name FROM @ WHERE id > 5 ORDER BY name DESC
SELECT DISTINCT utid FROM @ ORDER BY utid DESC
SELECT name FROM @ ORDER BY name DESC
SELECT name FROM @ ORDER BY name COLLATE NOCASE, name LIMIT 30
SELECT parent_id FROM @ ORDER BY parent_id DESC LIMIT 30
SELECT track_id FROM @ WHERE name IN (SELECT name FROM @ WHERE id IN (20, 12)) ORDER BY track_id DESC
select COUNT( * ) as n, Name, avg(dur) a, min(self), max(depth), p50(self), sum( ts - ts ) from @ group by name order by n desc, a limit 7
SELECT count( * ) AS n, Name, avg(dur) a, min(self), max(depth), p50(self), sum( ts ) FROM @ GROUP BY name ORDER BY n DESC, a LIMIT 7
SELECT utid, name_id, count(dur), p90(ts), p95(self), p99(self) FROM @ GROUP BY utid, name_id ORDER BY 4 DESC, 1, 2
SELECT name, track_id, count(*) FROM @ GROUP BY track_id, name ORDER BY count(*), name, track_id
SELECT track_id, sum(dur) s FROM @ GROUP BY track_id ORDER BY sum(dur)
SELECT sum(self), min(ts), max(ts), avg(depth) FROM @ GROUP BY name ORDER BY sum(self) DESC, avg(depth) LIMIT 3
SELECT name, sum(dur) FROM @ GROUP BY name HAVING count(*) > 3 ORDER BY 1
SELECT name n, count(*) FROM @ GROUP BY name ORDER BY n DESC LIMIT 2
SELECT name, name_id FROM @ GROUP BY name_id ORDER BY name_id
SELECT count(*), count(dur) FROM @ GROUP BY utid ORDER BY utid LIMIT 0
S
agree_all() { # FILE
	sed 's/@/slice/g; s/$/;/' "$T/statements" | query --json "$T/$1" >"$T/slices"
	(echo "CREATE TABLE copy AS SELECT * FROM slice;" && sed 's/@/copy/g; s/$/;/' "$T/statements") |
		query --json "$T/$1" >"$T/copies"
	python3 - "$T/statements" "$T/slices" "$T/copies" <<'P'
import sys
statements = open(sys.argv[1]).read().splitlines()
def results(path):
    out = []
    for line in open(path):
        out.append([]) if line.startswith('{"schema"') else out[-1].append(line)
    return out
ours, theirs = results(sys.argv[2]), results(sys.argv[3])
assert len(ours) == len(theirs) == len(statements), (len(ours), len(theirs), len(statements))
for statement, a, b in zip(statements, ours, theirs):
    if "ORDER BY" not in statement: # then the order is SQLite's own business
        a, b = sorted(a), sorted(b)
    assert a == b, (statement, a[:5], b[:5])
assert sum(map(bool, ours)) > 40, [s for s, r in zip(statements, ours) if not r]
P
}

record threads -- "$FIXTURES/threads"
check_that "a trace was made" test -s "$T/threads"
record recursion -- "$FIXTURES/recursion"
record contexts -- "$FIXTURES/contexts"
record short --threshold 2us -- "$FIXTURES/threads"
record function -t function -- "$FIXTURES/recursion"
for trace in threads recursion contexts short function; do
	agree_all "$trace" >"$T/check.log" 2>&1
	status=$?
	result "$trace: $(wc -l <"$T/statements") statements give what SQLite's own tables give" "$status" "$T/check.log"
done

# Groups are computed by threads: as many as there are processors, or one.
cat >"$T/grouped" <<'S'
SELECT name, count(*), sum(dur), min(dur), max(self), avg(self), p50(dur), p99(dur) FROM slice GROUP BY name;
SELECT utid, name, count(*), p95(ts) FROM slice GROUP BY utid, name ORDER BY 3 DESC, 1, 2;
S
query --csv "$T/threads" <"$T/grouped" >"$T/all" && query --csv "$T/threads" "SELECT count(*) > 20000 FROM slice" | grep -q '^1$' &&
	taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" "$BRACE" query --csv "$T/threads" <"$T/grouped" >"$T/one" && cmp "$T/all" "$T/one" &&
	sed 's/FROM slice/& WHERE 1/' "$T/grouped" | query --csv "$T/threads" >"$T/sqlite" && cmp "$T/all" "$T/sqlite"
result "threads, one thread and SQLite's own steps give the same groups" $? "$T/err"
check_that "a table of the user's that is called slice is the one that is asked" test "$(query --csv "$T/recursion" "CREATE TABLE slice AS
	SELECT 'mine' AS name; SELECT name, count(*) FROM slice GROUP BY name" | tail -n 1)" = mine,1

# The rows of four million calls are 192 MB, of which little is in memory at once, whichever way they are read.
record storm -l step -- "$FIXTURES/storm" 500000
/usr/bin/python3 - "$BRACE" "$T/storm" >"$T/memory" 2>&1 <<'P'
import resource, subprocess, sys
statement = "SELECT name, count(*), sum(dur), p99(dur) FROM slice GROUP BY name"
answers = []
for s in (statement, "SELECT 'step', count(*), sum(dur) FROM slice"):
    answers.append(subprocess.run([sys.argv[1], "query", "--csv", sys.argv[2], s], check=True, capture_output=True, text=True).stdout.split("\n")[1].split(","))
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(s, answers[-1], f"{most:.0f} MB")
    assert most < 150
assert answers[0][:3] == answers[1][:3] and answers[0][:2] == ["step", "4000000"], answers
P
result "four million calls do not stay in memory" $? "$T/memory"
rm -f "$T/storm"

# Through an index, whose rows of one name lie all over the file: 144 MB of rows in the order of 200 names.
python3 -c '
n = 200
print("static volatile int sum;")
for i in range(n): print(f"__attribute__((noinline)) void f{i}(int k) {{ sum += k * {i}; }}")
print("static void (*const all[])(int) = {" + ",".join(f"f{i}" for i in range(n)) + "};")
print("int main(void) { unsigned x = 1; for (int i = 0; i < 3000000; i++)")
print(f"{{ x = x * 1664525u + 1013904223u; all[(x >> 8) % {n}](i); }} return 0; }}")' >"$T/scattered.c"
gcc -O1 -g -o "$T/scattered_program" "$T/scattered.c" && record scattered -l 'f*' -- "$T/scattered_program"
/usr/bin/python3 - "$BRACE" "$T/scattered" >"$T/memory" 2>&1 <<'P'
import resource, subprocess, sys
answers = []
for order in ("name", "id"):
    s = f"SELECT count(*), sum(dur), sum(ts % 1000) FROM (SELECT dur, ts FROM slice WHERE name GLOB 'f[0-9]*' ORDER BY {order} LIMIT 9999999)"
    answers.append(subprocess.run([sys.argv[1], "query", "--csv", sys.argv[2], s], check=True, capture_output=True, text=True).stdout.split("\n")[1])
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(s, answers[-1], f"{most:.0f} MB")
    assert most < 130
assert answers[0] == answers[1] and answers[0].startswith("3000000,"), answers
P
result "nor do three million that are read by an index" $? "$T/memory"
rm -f "$T/scattered"

# The rows themselves.
sums() { # FILE: name, calls and the sum of self times by report
	"$BRACE" report --json --no-pager "$T/$1" 2>>"$T/err" | python3 -c 'import json, sys
for r in [json.loads(l) for l in sys.stdin][1:]:
    print(r["name"], r["module"], r["calls"], sep="|")' | sort
}
for trace in threads recursion short function; do
	sums "$trace" >"$T/report"
	query --csv "$T/$trace" "SELECT name || '|' || module || '|' || count(*) FROM slice GROUP BY name, module" | tail -n +2 |
		sed 's/^"\(.*\)"$/\1/; s/""/"/g' | sort | diff "$T/report" - >"$T/differences"
	result "$trace: calls by name and file are report's" $? "$T/differences"
	rows "$trace" "SELECT name, module, calls, coalesce(total, 0), coalesce(self, 0), coalesce(p99, 0)
		FROM function" | sort >"$T/table"
	"$BRACE" report --json --no-pager "$T/$trace" 2>>"$T/err" | python3 -c 'import csv, json, sys
out = csv.writer(sys.stdout, lineterminator="\n")
for r in [json.loads(l) for l in sys.stdin][1:]:
    out.writerow([r[k] or 0 for k in ("name", "module", "calls", "total_ns", "self_ns", "p99_ns")])' |
		sort >"$T/report"
	check_that "$trace: the table function is report's" diff "$T/report" "$T/table"
done
# Times are whole ns for each call there, and of the sum here: each is off by less than 1 ns, up as
# often as down, so that sums of n calls are off by some roots of n.
near() {
	local calls self sum
	IFS=, read -r calls self < <(rows "$1" "SELECT sum(calls), sum(self) FROM function")
	IFS=, read -r sum < <(rows "$1" "SELECT sum(self) FROM slice")
	echo "$1: $calls calls, $self ns by report, $sum ns by rows"
	awk -v n="$calls" -v d=$((self - sum)) 'BEGIN { exit !(d * d <= 16 * n + 100) }'
}
check_that "self times sum up to report's" near threads
check_that "those of a program with coroutines do" near recursion
check_that "each call's duration is its own time and that of the calls it made" \
	test "$(rows threads "SELECT count(*) FROM slice p WHERE ended = 'returned' AND abs(p.dur - p.self -
		coalesce((SELECT sum(c.dur) FROM slice c WHERE c.parent_id = p.id), 0)) > 2 +
		(SELECT count(*) FROM slice c WHERE c.parent_id = p.id)")" = 0
check_that "a function has times if the end of any of its calls is known" \
	test "$(rows threads "SELECT name, module, max(dur) IS NULL FROM slice GROUP BY name, module
		EXCEPT SELECT name, module, max IS NULL FROM function" | wc -l)" = 0
check_that "no function has times where no call's end is known" \
	test "$(rows function "SELECT sum(calls) > 0, max(total), max(self), max(p50) FROM function")" = "1,,,"
check_that "short calls that were left out leave parents that last longer" \
	test "$(rows short "SELECT count(*) FROM slice c JOIN slice p ON p.id = c.parent_id
		WHERE c.ts < p.ts OR c.ts + c.dur > p.ts + p.dur OR p.track_id <> c.track_id")" = 0

# Programs that were killed with calls open.
record killed -- bash -c 'read -r line < <(sleep 0.01; echo x); kill -9 $$'
check_that "calls that were open are unfinished" test "$(rows killed "SELECT count(*) FROM slice WHERE ended = 'unfinished' AND dur IS NULL")" = 0
check_that "threads and processes are info's" \
	diff <("$BRACE" info --json "$T/killed" | python3 -c 'import json, sys
for r in map(json.loads, sys.stdin):
    if r.get("type") == "thread": print(r["pid"], r["tid"])' | sort) \
	<(rows killed "SELECT pid || ' ' || tid FROM thread JOIN process USING (upid)" | sort)

record forks -- bash -c '(:); (:); exec true'
check_that "a process begins with its exec, or after its parent" \
	test "$(rows forks "SELECT count(DISTINCT pid) = 2, sum(start_ts > (SELECT min(start_ts) FROM thread t
		WHERE t.upid = p.upid)) AS late, count(*) - count(DISTINCT start_ts) FROM process p
		WHERE pid <> (SELECT pid FROM process WHERE upid = 0)")" = 1,0,0

# Percentiles, by Python's arithmetic.
rows threads "SELECT coalesce(dur, '') FROM slice" >"$T/durations"
for p in 0 1 25 50 86.4 99 99.9 100; do rows threads "SELECT percentile(dur, $p) FROM slice"; done >"$T/percentiles"
check_that "percentiles are the values of their ranks" python3 -c 'import math, sys
from fractions import Fraction
durations = sorted(int(l) for l in open(sys.argv[1]) if l.strip())
for p, value in zip("0 1 25 50 86.4 99 99.9 100".split(), open(sys.argv[2]).read().split(), strict=True):
    rank = max(1, math.ceil(len(durations) * Fraction(p) / 100))
    assert int(value) == durations[rank - 1], (p, rank, value)' "$T/durations" "$T/percentiles"
check_that "also of numbers that no double is, and of others" \
	test "$(rows threads "SELECT p50(a), p99(a), percentile(-a, 40), p50(a + 0.5), p50(-b) FROM
		(SELECT 9007199254740993 AS a, 2.5 AS b UNION ALL SELECT 3, 1 UNION ALL SELECT 9223372036854775807, 7)")" = \
	"9007199254740993,9223372036854775807,-9007199254740993,9.00719925474099e+15,-2.5"

# Events.
record events -e truth:tick -e syscalls:sys_enter_write -- "$FIXTURES/events"
"$BRACE" replay --no-pager "$T/events" 2>"$T/err" | grep -c sys_enter_write: >"$T/seen"
check_that "events are those of replay" \
	test "$(rows events "SELECT count(*) FROM ftrace_event WHERE name = 'sys_enter_write'")" = "$(cat "$T/seen")" -a "$(cat "$T/seen")" -gt 0
check_that "their fields are args" \
	test "$(rows events "SELECT DISTINCT key FROM args JOIN ftrace_event e USING (arg_set_id)
		WHERE e.name = 'sys_enter_write' AND key IN ('__syscall_nr', 'buf', 'count', 'fd', 'size') ORDER BY 1" |
		tr '\n' ' ')" = "__syscall_nr buf count fd "
check_that "a field has the values that replay prints" \
	diff <("$BRACE" replay --no-pager "$T/events" 2>>"$T/err" | sed -nE 's/.*sys_enter_write:.* fd: 0x([0-9a-f]+).*/\1/p') \
	<(rows events "SELECT printf('%08x', int_value) FROM ftrace_event JOIN args USING (arg_set_id)
		WHERE ftrace_event.name = 'sys_enter_write' AND key = 'fd' ORDER BY ftrace_event.id")
check_that "EXTRACT_ARG is a join with args" \
	test "$(rows events "SELECT count(*), sum(EXTRACT_ARG(e.arg_set_id, a.key) IS a.display_value) FROM ftrace_event e
		JOIN args a USING (arg_set_id) WHERE a.value_type IS NOT NULL" | awk -F, '{ print ($1 > 5 && $1 == $2) }')" = 1
check_that "and NULL of no field and of no event" \
	test "$(rows events "SELECT EXTRACT_ARG(arg_set_id, 'none') IS NULL, EXTRACT_ARG(-1, 'fd') IS NULL, EXTRACT_ARG(1 << 40, 'fd') IS NULL,
		EXTRACT_ARG(NULL, 'fd') IS NULL, EXTRACT_ARG(arg_set_id, NULL) IS NULL FROM ftrace_event LIMIT 1")" = 1,1,1,1,1

# Forms.
query --json "$T/threads" "SELECT 1 AS a, 2.5 AS b, NULL AS c, 'x\"y' || char(27) || char(10) AS d, 9e999 AS e" >"$T/json"
check_that "JSON is JSON" python3 -c 'import json, sys
head, row = [json.loads(l) for l in open(sys.argv[1])]
assert head == {"schema": "brace-query", "version": 1, "columns": ["a", "b", "c", "d", "e"]}, head
assert row == {"a": 1, "b": 2.5, "c": None, "d": "x\"y\x1b\n", "e": None}, row' "$T/json"
query --csv "$T/threads" "SELECT 'a,b' AS \"x,y\", 'q\"r' AS z" >"$T/csv"
check_that "CSV is CSV" python3 -c 'import csv, sys
assert list(csv.reader(open(sys.argv[1]))) == [["x,y", "z"], ["a,b", "q\"r"]]' "$T/csv"
query --json "$T/threads" "SELECT 1 AS a, 2 AS b, 3 AS a, 4 AS a" >"$T/json"
check_that "no value is lost where columns have one name" \
	test "$(tail -1 "$T/json")" = '{"a":1,"b":2,"a:1":3,"a:2":4}'
query --csv "$T/threads" "SELECT 'a' || char(10) || char(27) || '\"' AS x" >"$T/csv"
check_that "CSV in a file has the values' own bytes" diff <(printf 'x\n"a\n\033"""\n') "$T/csv"
check_that "columns stand below each other, whatever is escaped" diff \
	<(printf '%s\n' 'a       b' 'x\012   1' 'longer  2' 'é       3') \
	<(query "$T/threads" "SELECT 'x' || char(10) AS a, '1' AS b UNION ALL SELECT 'longer', '2' UNION ALL SELECT 'é', '3'")
check_that "no escape sequence reaches the terminal" \
	test "$(query "$T/threads" "SELECT char(27) || '[31m' AS a" | tail -1)" = '\033[31m'
printf 'SELECT 1\n AS one;\n.tables\nSELECT 2 AS two' | query "$T/threads" >"$T/script"
check_that "statements come from standard input" \
	test "$(grep -cE '^ *(one|two|slice|process|args|metadata)$' "$T/script")" = 6
printf '\n  \n.tables \n' | query "$T/threads" >"$T/script"
check_that "empty lines are no statement" grep -qx slice "$T/script"
printf 'CREATE VIEW v AS SELECT name n FROM slice;\nSELECT count(*) > 0 AS "any" FROM v;' | query --csv "$T/threads" >"$T/view"
check_that "views are kept while they come" diff <(printf 'any\n1\n') "$T/view"

# Ready questions, against the tables and report; a file of sqlite's has them, with the same answers.
"$BRACE" report --json "$T/threads" >"$T/report"
check_that "thread_function has report's calls" diff <(/usr/bin/python3 -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line)
    if row.get("calls") and "module" in row: print(row["name"], row["calls"])' <"$T/report" | LC_ALL=C sort) \
	<(query --json "$T/threads" 'SELECT name, sum(calls) AS n FROM thread_function GROUP BY name, module' | /usr/bin/python3 -c 'import json, sys
for line in list(sys.stdin)[1:]: print(json.loads(line)["name"], json.loads(line)["n"])' | LC_ALL=C sort)
check_that "call_edge has each call once" \
	test "$(rows threads 'SELECT sum(calls) - (SELECT count(*) FROM slice), count(*) > 3 FROM call_edge')" = 0,1
check_that "and a caller's own" diff <(rows threads 'SELECT p.name, count(*), sum(c.dur) FROM slice c JOIN slice p ON p.id = c.parent_id
	WHERE c.name = (SELECT name FROM slice WHERE id = 12) GROUP BY 1 ORDER BY 1') \
	<(rows threads 'SELECT caller, calls, total FROM call_edge WHERE callee = (SELECT name FROM slice WHERE id = 12) AND caller IS NOT NULL ORDER BY 1')
check_that "slowest_call begins with the longest" \
	diff <(rows threads 'SELECT id, dur, name FROM slice ORDER BY dur DESC, id LIMIT 20') <(rows threads 'SELECT id, dur, name FROM slowest_call LIMIT 20')
check_that "thread_slice has every call, with its thread" diff <(rows threads 'SELECT t.tid, count(*), sum(s.dur) FROM slice s JOIN thread t USING (utid)
	GROUP BY 1 ORDER BY 1') <(rows threads 'SELECT tid, count(*), sum(dur) FROM thread_slice GROUP BY 1 ORDER BY 1')
check_that "unfinished_call has those that were open" \
	test "$(rows threads "SELECT count(*) FROM unfinished_call")" = "$(rows threads "SELECT count(*) FROM slice WHERE ended = 'unfinished'")"
timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -e 'syscalls:*' -o "$T/fails" -- ls /nonexistent-1 /nonexistent-2 >"$T/out" 2>"$T/err" </dev/null
check_that "syscall_error has the errors of brace syscalls" diff <("$BRACE" syscalls --by error --json "$T/fails" | /usr/bin/python3 -c 'import errno, json, sys
for line in sys.stdin:
    row = json.loads(line)
    if "error" in row:
        name, error = row["error"].split()
        print(name, getattr(errno, error), row["errors"], sep=",")' | LC_ALL=C sort) <(rows fails 'SELECT * FROM syscall_error' | LC_ALL=C sort)
check_that "and there are some" test "$(rows fails "SELECT calls >= 2 FROM syscall_error WHERE errno = 2 ORDER BY 1 DESC LIMIT 1")" = 1
check_that "event_count has every event" \
	test "$(rows fails 'SELECT sum(events) FROM event_count')" = "$(rows fails 'SELECT count(*) FROM ftrace_event')"
check_that "event_field has every field" \
	test "$(rows fails 'SELECT count(*), count(DISTINCT id) FROM event_field')" = "$(rows fails 'SELECT count(*), count(DISTINCT arg_set_id) FROM args')"
check_that "the columns of the views are those of brace_table" test "$(rows fails "SELECT count(*) FROM brace_table t
	WHERE (SELECT group_concat(trim(c.name || ' ' || c.type), ', ') FROM pragma_table_info(t.name) c) <> t.columns AND t.id < 11")" = 0
check_that "and there are nine" test "$(rows fails "SELECT count(*) FROM brace_table t JOIN sqlite_master m ON m.name = t.name AND m.type = 'view'
	WHERE (SELECT group_concat(c.name, ',') FROM pragma_table_info(t.name) c) =
	replace(replace(replace(replace(t.columns, ' INTEGER', ''), ' TEXT', ''), ' REAL', ''), ', ', ',')")" = 9
# The two quote other texts.
values() { /usr/bin/python3 -c 'import csv, io, sys
for row in sorted(csv.reader(io.StringIO(sys.stdin.buffer.read().decode("latin-1"), newline=""))): print(row)'; }
if type -P sqlite3 >/dev/null; then
	"$BRACE" export --to sqlite -o "$T/fails.db" "$T/fails" 2>"$T/err"
	for view in thread_slice thread_function call_edge slowest_call unfinished_call event_count event_field call_value syscall_error; do
		diff -a <(rows fails "SELECT * FROM $view" | values) <(sqlite3 -csv "$T/fails.db" "SELECT * FROM $view" | values) >"$T/diff"
		result "sqlite3 has the same $view" $? "$T/diff"
	done
fi

# Of several columns that a join compares, the one with the fewest rows of a value chooses the rows,
# in whatever order they are written; a row's number needs no index.
plan() { query "$T/threads" "EXPLAIN QUERY PLAN SELECT count(b.id) FROM slice a LEFT JOIN slice b ON $1"; }
check_that "a join by parent and name reads a parent's rows, however it is written" \
	test "$(plan 'b.name = a.name AND b.parent_id = a.id')" = "$(plan 'b.parent_id = a.id AND b.name = a.name')" -a \
	"$(plan 'b.name = a.name AND b.parent_id = a.id')" = "$(plan 'b.parent_id = a.id')"
check_that "a join by id and name reads one row" \
	test "$(plan 'b.name = a.name AND b.id = a.parent_id')" = "$(plan 'b.id = a.parent_id')"
# The order of an index would take a pass over all rows for each row of the outer table.
groups() { query "$T/threads" "EXPLAIN QUERY PLAN SELECT p.name, count(*) FROM slice c JOIN slice p ON $1 WHERE c.name = 'x' GROUP BY p.name" |
	grep -o 'SCAN p .*'; }
check_that "so does a join by id that is grouped by an indexed column" \
	test "$(groups 'p.id = c.parent_id')" = "SCAN p VIRTUAL TABLE INDEX 0:r="
check_that "one by a range of time reads the range" test "$(groups 'p.ts > c.ts AND p.ts < c.ts + c.dur')" = "SCAN p VIRTUAL TABLE INDEX 0:s>s<"

# Errors.
fails() { # NAME TEXT ARGUMENT...
	query "${@:3}" >"$T/out" </dev/null
	local status=$?
	[ $status = 125 ] && grep -qF -- "$2" "$T/err"
	result "$1" $? "$T/err"
}
fails "an unknown column" 'no such column: nme' "$T/threads" 'SELECT nme FROM slice'
check_that "is pointed at" grep -qE '^ {9}\^$' "$T/err"
fails "one in the third line of the second statement" 'no such column: nme' "$T/threads" $'SELECT 1;\nSELECT name,\n\t"é", nme\nFROM slice'
check_that "is shown in its line" diff <(printf '  "é", nme\n       ^\n') <(tail -n +2 "$T/err")
fails "one far behind in a long line" 'no such column: nme' "$T/threads" "SELECT $(printf '%0500d' 1), nme FROM slice"
check_that "is pointed at there" awk 'NR == 2 { line = $0 } NR == 3 { found = substr(line, index($0, "^"), 3) == "nme" }
	END { exit !found }' "$T/err"
fails "an unknown table" 'no such table: slices (did you mean slice?); SELECT * FROM brace_table' "$T/threads" 'SELECT 1 FROM slices'
fails "a column of another table" 'no such column: cpu (ftrace_event has it)' "$T/threads" 'SELECT cpu FROM slice'
fails "half a statement" 'incomplete input' "$T/threads" 'SELECT 1 FROM'
fails "a percentage that is none" 'from 0 to 100' "$T/threads" 'SELECT percentile(dur, 101) FROM slice'
fails "a percentage that is no number" 'from 0 to 100' "$T/threads" 'SELECT percentile(dur, NULL) FROM slice'
fails "two forms" '--csv and --json' --csv --json "$T/threads" 'SELECT 1'
fails "a trace that is none" 'trace' "$0" 'SELECT 1'
query "$T/threads" >"$T/out" </
status=$?
check_that "standard input that cannot be read is an error" test $status = 125 -a -s "$T/err"
(
	ulimit -f 512 # kB, for any file
	query "$T/threads" 'SELECT count(*) FROM slice' >"$T/out"
	[ $? = 125 ] && grep -q 'set TMPDIR' "$T/err"
)
result "no room for the rows" $? "$T/err"
finish

#!/bin/bash
# `brace query`: what calls took and returned, against the program's own account, and what a trace counts, against its events.
. "$(dirname "$0")/lib.sh"
cat >"$T/account.c" <<'C'
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
enum color { RED = 1, GREEN = 2, BLUE = 4 };
struct point { int x, y; };
struct item { const char *name; long cents; int list[3]; double w; bool ok; };
#define CALL __attribute__((noipa))
CALL int price(struct item *item, const char *what, unsigned n, double d, float f, bool b, char c, enum color col, void *p)
{ return (int)item->cents - 50; }
CALL const char *word(int i) { return i & 1 ? "odd" : NULL; }
CALL double half(float x) { return x / 2; }
CALL struct point middle(struct point a, struct point b) { return (struct point){ (a.x + b.x) / 2, (a.y + b.y) / 2 }; }
CALL void nothing(short x) { }
CALL __int128 wide(long w) { return (__int128)w << 70; }
CALL unsigned long big(unsigned long w) { return ~w; }
CALL long same(long x) { return x; }
CALL const char *fault(const char *s) { return s; }
static int calls;
#define TELL(key, form, ...) fprintf(account, "%d " key "=" form "\n", calls, __VA_ARGS__)
static void *many(void *arg)
{
	for (long i = 0; i < 20000; i++)
		same(i + (long)arg * 1000000);
	return NULL;
}
static char what[] = "0123456789012345678901234567890123456789012345678901234567890123456789";
static void account_for(FILE *account, int i)
{
	struct item it = { i & 1 ? "x\"1" : "", i - 3L * i * i, { i, 2, 3 }, i * 1.5, i & 1 };
	bool yes = i & 1;
	struct point m;

	price(&it, yes ? what : NULL, i, i * 0.25, i * 0.5f, yes, 'a' + i, i % 3 == 1 ? GREEN : BLUE, yes ? &it : NULL);
	TELL("item.name", "string/%s/%s", it.name, it.name);
	TELL("item.cents", "int/%ld/%ld", it.cents, it.cents);
	for (int k = 0; k < 3; k++)
		TELL("item.list[%d]", "int/%d/%d", k, it.list[k], it.list[k]);
	TELL("item.w", "real/%g/%g", it.w, it.w);
	TELL("item.ok", "bool/%d/%s", it.ok, it.ok ? "true" : "false");
	yes ? TELL("what", "string/%.64s/%.64s...", what, what) : TELL("what", "pointer/%d/0x0", 0);
	TELL("n", "uint/%d/%d", i, i);
	TELL("d", "real/%g/%g", i * 0.25, i * 0.25);
	TELL("f", "real/%g/%g", i * 0.5, i * 0.5);
	TELL("b", "bool/%d/%s", yes, yes ? "true" : "false");
	TELL("c", "string/%c/%c", 'a' + i, 'a' + i);
	TELL("col", "string/%s/%s", i % 3 == 1 ? "GREEN" : "BLUE", i % 3 == 1 ? "GREEN" : "BLUE");
	TELL("p", "pointer/%ld/0x%lx", yes ? (long)&it : 0, yes ? (long)&it : 0);
	TELL("retval", "int/%d/%d", (int)it.cents - 50, (int)it.cents - 50), calls++;
	word(i), TELL("i", "int/%d/%d", i, i);
	yes ? TELL("retval", "string/odd/%s", "odd") : TELL("retval", "pointer/%d/0x0", 0);
	calls++, half(i), TELL("x", "real/%g/%g", 1.0 * i, 1.0 * i), TELL("retval", "real/%g/%g", i / 2.0, i / 2.0), calls++;
	m = middle((struct point){ i, -i }, (struct point){ 2, 4 });
	TELL("a.x", "int/%d/%d", i, i), TELL("a.y", "int/%d/%d", -i, -i), TELL("b.x", "int/%d/%d", 2, 2), TELL("b.y", "int/%d/%d", 4, 4);
	TELL("retval.x", "int/%d/%d", m.x, m.x), TELL("retval.y", "int/%d/%d", m.y, m.y), calls++;
	nothing(-i), TELL("x", "int/%d/%d", -i, -i), calls++;
	wide(1L << 50), TELL("w", "int/%ld/%ld", 1L << 50, 1L << 50);
	TELL("retval", "string/%s/%s", "1329227995784915872903807060280344576", "1329227995784915872903807060280344576"), calls++;
	big(i), TELL("w", "uint/%d/%d", i, i), TELL("retval", "uint/%ld/%lu", ~(long)i, ~(unsigned long)i), calls++;
	fault((char *)8), TELL("s", "null/%s/(fault)", ""), TELL("retval", "null/%s/(fault)", ""), calls++;
}
int main(int argc, char **argv)
{
	FILE *account = fopen(argv[1], "w");
	pthread_t t[4];

	for (int i = 0; i < 8; i++)
		account_for(account, i);
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, many, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 500; i++)
		*(volatile char *)(malloc(1 << 20)) = 1;
	return fclose(account);
}
C
gcc -O1 -g -pthread -o "$T/account" "$T/account.c" 2>"$T/err"
check_that "a program that knows its calls is built" test -x "$T/account"
record() { timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/$1" "${@:2}" >"$T/out" 2>"$T/err" </dev/null; }
query() { "$BRACE" query --no-pager --color never "$@" 2>"$T/err"; }
rows() { query --csv "$T/$1" "$2" | tail -n +2; } # FILE STATEMENT
NAMES="'price', 'word', 'half', 'middle', 'nothing', 'wide', 'big', 'fault'"

record trace --args --retval --args-depth 1 -L account -- "$T/account" "$T/account.txt"
# Values by the column of their type, and as they are displayed; as many as the program knows, in its order.
cat >"$T/values.sql" <<END
WITH c AS (SELECT arg_set_id AS s, row_number() OVER (ORDER BY id) - 1 AS n FROM slice WHERE name IN ($NAMES))
SELECT n || ' ' || key || '=' || value_type || '/' || CASE value_type WHEN 'real' THEN printf('%g', real_value) WHEN 'string' THEN string_value
	WHEN 'null' THEN '' ELSE int_value END || '/' || display_value AS line FROM c JOIN args a ON a.arg_set_id = c.s ORDER BY n, a.id
END
query --json "$T/trace" "$(cat "$T/values.sql")" | /usr/bin/python3 -c 'import json, sys
for line in list(sys.stdin)[1:]: print(json.loads(line)["line"])' >"$T/values.txt"
check_that "the program told $(wc -l <"$T/account.txt") values" test "$(wc -l <"$T/account.txt")" -gt 200
check_that "and the trace has the same" diff "$T/account.txt" "$T/values.txt"
check_that "flat_key is the key without indexes" \
	test "$(rows trace "SELECT flat_key, count(DISTINCT key), count(*) FROM args WHERE key GLOB 'item.list*' GROUP BY 1")" = item.list,3,24
check_that "a value stands in the column of its type alone" test "$(rows trace "SELECT count(*) FROM args WHERE
	(int_value IS NOT NULL) + (string_value IS NOT NULL) + (real_value IS NOT NULL) <> (value_type <> 'null')")" = 0
check_that "EXTRACT_ARG has calls' values, by key" test "$(rows trace "SELECT count(*) > 160000, count(*) - sum(EXTRACT_ARG(s.arg_set_id, a.key) IS
	coalesce(a.int_value, a.string_value, a.real_value)) AS others FROM slice s JOIN args a USING (arg_set_id)")" = 1,0
check_that "and NULL of another key" test "$(rows trace "SELECT count(EXTRACT_ARG(arg_set_id, 'none')) FROM slice")" = 0
check_that "calls by four threads have their own" test "$(rows trace "SELECT count(*), sum(EXTRACT_ARG(arg_set_id, 'x') = retval),
	count(DISTINCT retval), count(DISTINCT utid) FROM slice WHERE name = 'same'")" = 80000,80000,80000,4
check_that "call_value has each value" test "$(rows trace 'SELECT count(*) - (SELECT count(*) FROM args) FROM call_value')" = 0
check_that "thread_slice leads to them" test "$(rows trace "SELECT count(*) FROM thread_slice JOIN args USING (arg_set_id) WHERE name = 'word'")" = 16
record void --retval -l nothing -l big -- "$T/account" "$T/account.txt"
check_that "a function that returns nothing has no value" test "$(rows void "SELECT s.name, count(*), count(a.id) FROM slice s
	LEFT JOIN args a USING (arg_set_id) GROUP BY s.name ORDER BY 1" | tr '\n' ' ')" = "big,8,8 nothing,8,0 "
record short --retval --threshold 1ns -l same -- "$T/account" "$T/account.txt"
check_that "calls that were recorded at their ends have theirs" test "$(rows short "SELECT count(*) > 0, count(*) - sum(EXTRACT_ARG(arg_set_id, 'retval') = retval)
	FROM slice WHERE name = 'same'")" = 1,0
record both --args -l word -e syscalls:sys_enter_openat -- "$T/account" "$T/account.txt"
check_that "sets of events and of calls are told apart" test "$(rows both "SELECT count(*) > 0, (SELECT count(DISTINCT arg_set_id) FROM args) -
	(SELECT count(*) FROM ftrace_event) - 8 AS others, (SELECT count(*) FROM slice JOIN args USING (arg_set_id) WHERE key = 'i') FROM ftrace_event
	JOIN args USING (arg_set_id) WHERE key = 'filename'")" = 1,0,8
"$BRACE" export --to sqlite -o "$T/both.db" "$T/both" 2>"$T/err"
check_that "a file of sqlite's has both" test "$(sqlite3 -csv "$T/both.db" "SELECT count(*) > 8, sum(key = 'i' AND value_type = 'int' AND
	arg_set_id IN (SELECT arg_set_id FROM slice WHERE name = 'word')) FROM args" | tr -d '\r')" = 1,8

# Counters.
check_that "a trace without counters has none" test "$(rows trace 'SELECT count(*), (SELECT count(*) FROM thread_counter_track) FROM counter')" = 0,0
record counters --counters -L account -- "$T/account" "$T/account.txt"
rows counters "SELECT t.name, t.utid, t.unit, count(*), max(value), count(DISTINCT value), sum(c.ts IS NULL) FROM counter c JOIN thread_counter_track t ON t.id = c.track_id
	GROUP BY t.id ORDER BY 1, 2" >"$T/counted"
# The kernel's notices of a thread have a row of their own in thread, with its number.
rows counters "SELECT 'page_faults', (SELECT min(utid) FROM slice JOIN thread w USING (utid) WHERE w.tid = t.tid), 'count', count(*), printf('%.1f', count(*)),
	count(*), 0 FROM ftrace_event e JOIN thread t USING (utid) WHERE e.name = 'page_fault_user' GROUP BY tid ORDER BY 2" >"$T/events"
check_that "page faults are counted thread by thread" diff "$T/events" <(grep ^page_faults "$T/counted")
check_that "the 500 of main are among them" awk -F, '$1 == "page_faults" && $5 >= 500 { found = 1 } END { exit !found }' "$T/counted"
"$BRACE" report --counters --json --no-pager "$T/counters" >"$T/report" 2>"$T/err"
check_that "main has report's faults while it is open" test "$(rows counters "SELECT count(*) FROM slice s JOIN thread_counter_track t ON t.utid = s.utid AND
	t.name = 'page_faults' JOIN counter c ON c.track_id = t.id AND c.ts BETWEEN s.ts AND s.ts + s.dur WHERE s.name = 'main'")" = \
	"$(/usr/bin/python3 -c 'import json, sys
print(next(r["faults"] for r in map(json.loads, sys.stdin) if r.get("name") == "main"))' <"$T/report")"
check_that "a thread's switches are those that took the processor from it" diff <(rows counters "SELECT tid, count(*) FROM ftrace_event e
	JOIN thread USING (utid) WHERE e.name = 'sched_switch' AND EXTRACT_ARG(arg_set_id, 'prev_pid') = tid GROUP BY 1 ORDER BY 1") \
	<(rows counters "SELECT tid, count(*) FROM counter c JOIN thread_counter_track t ON t.id = c.track_id JOIN thread USING (utid)
		WHERE t.name = 'context_switches' GROUP BY 1 ORDER BY 1")
check_that "values rise with time" test "$(rows counters "SELECT count(*) FROM (SELECT value, ts, lag(value) OVER w AS v, lag(ts) OVER w AS t FROM counter
	WINDOW w AS (PARTITION BY track_id ORDER BY id)) WHERE value <> v + 1 OR ts < t")" = 0
finish

#!/bin/bash
# `brace export --to parquet`, read by DuckDB of the npm registry: every column is the one that `--to csv` writes, sums are those of
# `brace report`, a file has the calls of its host and day. Without npm, or without a network, all of it is skipped.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need npm node
mkdir "$T/npm" && cd "$T/npm" || exit 1
echo '{"private":true}' >package.json
if ! node -e "require('@duckdb/node-api')" 2>"$T/log" && ! HOME=$T timeout -k 5 300 npm install --no-audit --no-fund --loglevel=error @duckdb/node-api >"$T/log" 2>&1; then
	printf '1..0 # SKIP npm cannot install @duckdb/node-api\n'
	exit 0
fi
cat >ask.js <<'J'
// ask.js STATEMENT: rows as lines of JSON, an array each; numbers are text where they pass 2^53.
const { DuckDBInstance } = require("@duckdb/node-api");
(async () => {
	const connection = await (await DuckDBInstance.create(":memory:")).connect();
	await connection.run("SET TimeZone = 'UTC'");
	for (const row of (await connection.runAndReadAll(process.argv[2])).getRowsJson()) console.log(JSON.stringify(row));
})().catch((e) => { console.error(String(e)); process.exit(1); });
J
ask() { # STATEMENT: its only value
	node ask.js "$1" 2>"$T/err" | sed -nE '1s/^\["?(.*[^"])"?\]$/\1/p'
}
record() { # NAME ARGUMENT...: and its report
	timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/$1" "${@:2}" >"$T/out" 2>"$T/err" </dev/null
	"$BRACE" report --json "$T/$1" >"$T/$1.report" 2>>"$T/err"
}
export_both() { # NAME [OPTION]...
	rm -rf "$T/$1.parquet"
	"$BRACE" export --to parquet "$T/$1" -o "$T/$1.parquet" "${@:2}" 2>"$T/err" && "$BRACE" export --to csv "$T/$1" -o "$T/$1.csv" "${@:2}" 2>"$T/log"
}
# In both directions, duplicates counted: csv says "" and 0 where a call has none.
agree() { # NAME WHAT
	local rows="read_parquet('$T/$1.parquet/*/*/*.parquet', hive_partitioning = true)" columns
	columns='begin_ns, coalesce(duration_ns, 0), coalesce(self_ns, 0), pid, tid, coroutine, depth, thread, function, file, ended, coalesce(arguments, '"''"'), coalesce(returned, '"''"')'
	local csv="read_csv('$T/$1.csv', all_varchar = false, nullstr = 'no such text', sample_size = -1, types = {'arguments': 'VARCHAR', 'returned': 'VARCHAR', 'thread': 'VARCHAR', 'function': 'VARCHAR'})"
	local a="SELECT $columns FROM $rows" b="SELECT $columns FROM $csv"
	check_that "$2: DuckDB has the rows of csv" test "$(ask "SELECT count(*) || ' ' || (SELECT count(*) FROM $csv) || ' ' || (SELECT count(*) FROM ($a EXCEPT ALL $b)) || ' ' || (SELECT count(*) FROM ($b EXCEPT ALL $a)) FROM $rows")" = \
		"$(($(wc -l <"$T/$1.csv") - 1)) $(($(wc -l <"$T/$1.csv") - 1)) 0 0"
	diag "$T/err" 3
	check_that "$2: each row is in the folder of its host and day" test "$(ask "SELECT count(*) || ' ' || count(DISTINCT host) FROM $rows WHERE host = '$(uname -n)' AND strftime(time, '%Y-%m-%d') = CAST(day AS VARCHAR)")" = \
		"$(($(wc -l <"$T/$1.csv") - 1)) 1"
}
sums() { # NAME
	node ask.js "SELECT function, file, count(*), sum(duration_ns), sum(self_ns) FROM read_parquet('$T/$1.parquet/**/*.parquet') GROUP BY ALL" >"$T/rows" 2>"$T/err"
	check_that "$1: sums are report's" python3 -c 'import json, sys
rows = {(r[0], r[1]): [int(x or 0) for x in r[2:]] for r in map(json.loads, open(sys.argv[1]))}
report = [json.loads(l) for l in open(sys.argv[2])][1:]
calls = {(r["name"], r["module"]): [r["calls"], r["total_ns"] or 0, r["self_ns"] or 0] for r in report if r["module"] or ":" not in r["name"]}
assert rows and rows.keys() == calls.keys(), (rows.keys() ^ calls.keys())
for key, (count, total, self) in calls.items():
    have = rows[key]
    assert have[0] == count and abs(have[2] - self) <= count + 1, (key, have, calls[key])
    if key[0] not in ("again", "through"): # they call themselves: report counts the outermost calls
        assert abs(have[1] - total) <= count + 1, (key, have, calls[key])
' "$T/rows" "$T/$1.report"
}

cat >"$T/evil.c" <<'C'
#include <sys/prctl.h>
__attribute__((noinline, noclone)) int innocent(int n) { __asm__ volatile(""); return n + 1; }
__attribute__((noinline, noclone)) int again(int n) { __asm__ volatile(""); return n ? again(n - 1) + innocent(n) : 0; }
int main(void) { prctl(PR_SET_NAME, "t\xff"); return again(20) == 1; }
C
NAME=$'a,"b\\c\xff\xc3\xa9'
cc -O1 -fno-optimize-sibling-calls -c -o "$T/evil.o" "$T/evil.c" && objcopy --redefine-sym innocent="$NAME" "$T/evil.o" && cc -o "$T/evil-program" "$T/evil.o"
check_that "a program has a function of an evil name" test -x "$T/evil-program"
cat >"$T/many.c" <<'C'
#include <stdlib.h>
__attribute__((noinline, noclone)) int leaf(int n) { __asm__ volatile(""); return n + 1; }
int main(int argc, char **argv) { int s = 0; for (int i = 0; i < 300000; i++) s += leaf(i); return s == 1; }
C
cc -O1 -o "$T/many-calls" "$T/many.c"
record threads -- "$FIXTURES/threads"
record exceptions -- "$FIXTURES/exceptions"
record events -t function_graph --args --retval -- "$FIXTURES/events"
record many -- "$T/many-calls"
record evil -- "$T/evil-program"
for name in threads exceptions events many; do
	export_both $name
	agree $name $name
	sums $name
done
check_that "a large file has several groups of rows, whose times do not overlap" test "$(ask "SELECT count(DISTINCT row_group_id) || ' ' || (min(num_values) > 0) FROM parquet_metadata('$T/many.parquet/**/*.parquet')")" = '3 true'
check_that "a filter by time leaves groups out, and finds the same" test "$(ask "SELECT count(*) FROM read_parquet('$T/many.parquet/**/*.parquet') WHERE function = 'leaf' AND begin_ns > (SELECT min(begin_ns) FROM read_parquet('$T/many.parquet/**/*.parquet'))")" = 300000
export_both evil
node ask.js "SELECT function, thread, count(*) FROM read_parquet('$T/evil.parquet/**/*.parquet') WHERE function LIKE 'a,%' GROUP BY ALL" >"$T/rows" 2>"$T/err"
check_that "names are text that DuckDB takes, whatever bytes they have" python3 -c 'import json, sys
rows = [json.loads(l) for l in open(sys.argv[1], encoding="utf-8")]
assert rows == [["a,\"b\\c\\377\u00e9", "t\ufffd", "20"]], rows' "$T/rows"
diag "$T/err" 3
export_both threads --from 25% --min-duration 1us
agree threads "a part"

# Calls of two days, and of three more, to and fro: more days than files are open at once.
n=0
for day in 0 1 0 2 3 4 5 6 0; do
	printf 'p 7/7 %d.000000001: 1000 cpu-clock:u: \n\t 401010 leaf+0x10 (/x)\n\n' $((day * 86400 + ++n))
done >"$T/days.txt"
"$BRACE" import "$T/days.txt" -o "$T/days" 2>"$T/err" && "$BRACE" export --to parquet "$T/days" -o "$T/days.parquet" 2>>"$T/err"
result "samples of a week are exported" $? "$T/err"
check_that "by day" test "$(ask "SELECT count(*) || ' ' || count(DISTINCT day) FROM read_parquet('$T/days.parquet/**/*.parquet', hive_partitioning = true) WHERE strftime(time, '%Y-%m-%d') = CAST(day AS VARCHAR)")" = '9 7'

# The output.
check_that "folders and files are their user's alone" test -z "$(find "$T/threads.parquet" -perm /077)"
(ulimit -f 8; trap '' XFSZ; "$BRACE" export --to parquet "$T/threads" -o "$T/none" 2>"$T/err"; [ $? = 125 ] && grep -q 'cannot write .*calls-' "$T/err")
result "a full disk is an error, and leaves nothing" $(($? || $(find "$T" -name 'none*' | wc -l))) "$T/err"
"$BRACE" export --to parquet "$T/threads" -o "$T/threads.parquet" >"$T/out" 2>"$T/err"
check_that "a directory that has something is not replaced" grep -q 'something of that name is there' "$T/err"
"$BRACE" export --to parquet "$T/threads" >"$T/out" 2>"$T/err"
check_that "and standard output is none" grep -q 'name it with -o' "$T/err"
finish

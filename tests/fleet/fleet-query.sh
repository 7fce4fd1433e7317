#!/bin/bash
# `brace fleet query` with two real ClickHouse servers: sums over both are those of the traces, values are those that ClickHouse
# itself writes as JSON, statements that write are refused, and what one server lacks is said.
. "$(dirname "$0")/../run/lib.sh"
. "$(dirname "$0")/clickhouse.sh"
configure a
configure b
if ! start_server a || ! start_server b; then
	not_ok 'two servers start'
	diag "$T/a/out"
	finish
fi
TO=http://127.0.0.1:${PORT[a]},127.0.0.1:${PORT[b]}
push_until_both() { # traces, each with its calls, until each server has one
	for ((i = 0; i < 30; i++)); do
		timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/trace$i" -- "$T/program" 2>"$T/err" &&
			"$BRACE" push "$T/trace$i" --calls --to "$TO" --label "number=$i" >"$T/out" 2>"$T/err" || return 1
		grep -o 'run [0-9a-f]\{16\}' "$T/err" | cut -d' ' -f2 >>"$T/runs"
		"$BRACE" export --to csv "$T/trace$i" 2>"$T/err" | tail -n +2 >>"$T/csv"
		[ "$(sql a 'SELECT count() > 0 FROM brace.runs')$(sql b 'SELECT count() > 0 FROM brace.runs')" = 11 ] && return 0
	done
	return 1
}
cat >"$T/program.c" <<'C'
__attribute__((noinline, noclone)) int leaf(int n) { for (volatile int i = 0; i < 20; i++) n += i; return n; }
int main(void) { int s = 0; for (int i = 0; i < 100; i++) s += leaf(i); return s == 1; }
C
cc -O1 -o "$T/program" "$T/program.c" && "$BRACE" push --create --to "$TO" 2>"$T/err" && push_until_both
result 'both servers have runs' $? "$T/err"

ask() { # ARGUMENT...: leaves rows, err and STATUS
	timeout -k 5 "$LIMIT" "$BRACE" fleet query "$@" >"$T/rows" 2>"$T/err" </dev/null
	STATUS=$?
}
says() { # TEXT: the last question says so, and fails
	[ "$STATUS" = 125 ] && grep -qF -- "$1" "$T/err" && [ ! -s "$T/rows" ]
}

# --- sums over both ---------------------------------------------------------------------------------

head -n 1 <("$BRACE" export --to csv "$T/trace0" 2>/dev/null) >"$T/heading"
cat >"$T/sums.py" <<'P'
import collections, csv, sys
heading = open(sys.argv[1]).readline().strip().split(",")
sums = collections.defaultdict(lambda: [0, 0])
for row in csv.DictReader(open(sys.argv[2]), heading):
    one = sums[row[next(h for h in heading if h.startswith(("function", "name")))]]
    one[0] += 1
    one[1] += int(row[next(h for h in heading if h.startswith("dur"))] or 0)
for name in sorted(sums):
    print(name, *sums[name], sep=",")
P
python3 "$T/sums.py" "$T/heading" "$T/csv" >"$T/want"
ask 'SELECT name, count() AS n, sum(duration) AS ns FROM named_calls GROUP BY name' --to "$TO" --csv \
	--then 'SELECT name, sum(n), sum(ns) FROM answer GROUP BY name ORDER BY name'
tail -n +2 "$T/rows" >"$T/got"
check_that 'the traces have calls' grep -q '^leaf,' "$T/want"
check 'calls and durations of both servers are those of the traces' cmp "$T/want" "$T/got"
ask 'SELECT name, sum(calls) AS n FROM named_minutes GROUP BY name' --to "$TO" --csv \
	--then 'SELECT name, sum(n) FROM answer GROUP BY name ORDER BY name'
check 'so are those of the minutes' cmp <(cut -d, -f1,2 "$T/want") <(tail -n +2 "$T/rows")
ask 'SELECT id FROM whole_runs' --to "$TO" --csv
check 'runs have the numbers that push told' cmp <(LC_ALL=C sort "$T/runs") <(tail -n +2 "$T/rows" | LC_ALL=C sort)
check_that 'that each server answers of its own runs is said' grep -q 'each of 2 servers answered of its own runs' "$T/err"
sql a "INSERT INTO brace.minutes SELECT day, minute, toUInt64(7), batch, fn, calls, timed, durations, total, self, least, most, bucket, count
	FROM brace.minutes LIMIT 1"
ask 'SELECT count() AS n FROM minutes WHERE run = 7 UNION ALL SELECT count() AS n FROM named_minutes WHERE run = 7' --to "http://127.0.0.1:${PORT[a]}" --csv
check_that 'a run that was not pushed whole is in no view' [ "$(tail -n +2 "$T/rows" | LC_ALL=C sort | tr '\n' ' ')" = '0 1 ' ]
check_that 'of one server nothing is said' [ ! -s "$T/err" ]

# --- values -----------------------------------------------------------------------------------------

VALUES="SELECT toUInt64(1) AS a, toInt64(-9223372036854775807) AS b, 'tab\\tline\\nquote\"back\\\\\\\\slash' AS c, toFloat64(1) / 4 AS d,
	toNullable(5) AS e, CAST(NULL AS Nullable(Int8)) AS f, CAST(NULL AS Nullable(String)) AS g, toDate('2026-11-29') AS i, '' AS j, '\\\\N' AS k"
sql a "$VALUES FORMAT JSONEachRow" >"$T/own"
ask "$VALUES" --to "http://127.0.0.1:${PORT[a]}" --json
check_that "values are those that ClickHouse writes as JSON" python3 -c 'import json, sys
own, got = json.loads(open(sys.argv[1]).read()), json.loads(list(open(sys.argv[2]))[1])
own = {key: int(value) if key in "ab" else value for key, value in own.items()}
assert own["c"].count("\t") and own == got and all(type(own[k]) is type(got[k]) for k in own), (own, got)' "$T/own" "$T/rows"
ask "SELECT unhex('1B5D303B7807') AS title" --to "http://127.0.0.1:${PORT[a]}"
check_that 'a terminal gets no escape sequence' python3 -c 'import sys
text = open(sys.argv[1], "rb").read()
assert b"0;x" in text and not any(c < 32 and c != 10 for c in text), text' "$T/rows"
ask 'SELECT 1 AS a, 2 AS A, 18446744073709551615 AS b -- the end;' --to "http://127.0.0.1:${PORT[a]}" --csv
check_that 'columns of one name are told apart, and a comment ends where it should' [ "$(tr '\n' ' ' <"$T/rows")" = 'a,A:1,b 1,2,18446744073709551615 ' ]
ask 'SELECT number FROM system.numbers LIMIT 5;' --to "http://127.0.0.1:${PORT[a]}" --limit 2 --csv
check_that '--limit ends the rows, a semicolon the statement' [ "$(tr '\n' ' ' <"$T/rows")" = 'number 0 1 ' ]

# --- a statement only reads ---------------------------------------------------------------------------

sql a 'SELECT name, engine FROM system.tables ORDER BY name' >"$T/before"
for statement in 'DROP TABLE calls' 'INSERT INTO functions SELECT * FROM functions' 'ALTER TABLE calls DELETE WHERE 1' \
	'CREATE TABLE x (y UInt8) ENGINE = Memory' 'TRUNCATE TABLE calls' 'RENAME TABLE calls TO other' 'OPTIMIZE TABLE calls' \
	'SELECT 1 SETTINGS readonly = 0'; do
	ask "$statement" --to "http://127.0.0.1:${PORT[a]}"
	check_that "refused: $statement" [ "$STATUS" = 125 ]
done
ask 'DROP TABLE calls' --to "$TO"
check_that 'and said that it only reads' says 'refuses: a statement here only reads'
for statement in 'SYSTEM SHUTDOWN' 'SELECT 1; DROP TABLE calls'; do
	ask "$statement" --to "http://127.0.0.1:${PORT[a]}"
	check_that "not understood: $statement" says 'does not understand the statement'
done
sql a 'SELECT name, engine FROM system.tables ORDER BY name' >"$T/after"
check 'all tables are there' cmp "$T/before" "$T/after"
printf 'reader:r\n' >"$T/reader"
chmod 600 "$T/reader"
ask 'SELECT count() AS n FROM runs' --to "$TO" --auth "$T/reader" --csv --then 'SELECT sum(n) FROM answer'
check_that 'a user who may only read may ask' [ "$STATUS$(tail -n 1 "$T/rows")" = "0$(grep -c . "$T/runs")" ]

# --- what is wrong is said ------------------------------------------------------------------------------

ask 'SELECT name FORM functions' --to "$TO"
check_that 'a slip is shown where it is' says 'does not understand the statement from here on'
check_that 'by a caret' [ "$(sed -n 3p "$T/err" | tr -d ' ')" = '^' ]
ask 'SELECT nmae FROM functions' --to "$TO"
check_that "a name that is not there is told in the server's words" says 'nmae'
ask 'SELECT 1 AS x' --to "$TO" --then 'SELECT y FROM answer'
check_that "--then has SQLite's sentence" says 'no such column: y'
ask 'SELECT 1' --to "$TO" --since 2h
check_that '--since is refused' says 'takes no --since'
ask --to "$TO"
check_that 'no statement is refused' says 'wants one statement'
timeout -k 5 "$LIMIT" "$BRACE" fleet top --then 'SELECT 1' --to "$TO" >"$T/rows" 2>"$T/err"
STATUS=$?
check_that '--then of another question is refused' says '--then has a statement for the rows of another'

# --- servers that are away, or cannot be right --------------------------------------------------------

# liar.py ROWS: answers each question with these bytes.
cat >"$T/liar.py" <<'P'
import http.server, sys
body = sys.argv[1].encode().decode("unicode_escape").encode()
class Liar(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a):
        pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
print(s.server_address[1], flush=True)
s.serve_forever()
P
lies() { # ROWS TEXT: refused with the text, and the server named
	local port
	exec {LIAR}< <(exec python3 "$T/liar.py" "$1")
	ON_EXIT+=("kill $!")
	read -rt "$LIMIT" -u "$LIAR" port
	ask 'SELECT toUInt8(1) AS n' --to "http://127.0.0.1:${PORT[a]},127.0.0.1:$port"
	check_that "not to be trusted: $2" says "http://127.0.0.1:$port is not to be trusted: its answer $2"
}
lies 'n\nUInt8\n1\t2\n' 'has rows of other columns'
lies 'n\nUInt8\n1' 'ends within a line'
lies 'm\nUInt8\n1\n' 'has other columns than another server'
lies '' 'has no heading'
kill_server b
ask 'SELECT id FROM whole_runs' --to "$TO" --csv
check_that 'of two servers one answers, and that is said' grep -q '1 of 2 servers answered' "$T/err"
check_that 'with status 1' [ "$STATUS" = 1 ]
check 'the rows are those of the server that answered' cmp <(sql a 'SELECT id FROM brace.whole_runs ORDER BY id') <(tail -n +2 "$T/rows" | LC_ALL=C sort)
finish

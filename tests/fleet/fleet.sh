#!/bin/bash
# `brace push` and `brace fleet` with two real ClickHouse servers on loopback, as two shards: what they have equals `brace report`
# and `brace export --to csv`, also after servers died in the middle of batches; logins, certificates, hostile names, bad input.
. "$(dirname "$0")/../run/lib.sh"
. "$(dirname "$0")/silent.sh"
. "$(dirname "$0")/clickhouse.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need gcc objcopy

# --- servers --------------------------------------------------------------------------------------

both() { # STATEMENT: each server's answer
	sql a "$1"
	sql b "$1"
}
configure a
configure b
if ! start_server a || ! start_server b; then
	not_ok 'two servers start'
	diag "$T/a/out"
	diag "$T/a/errors"
	finish
fi
TO=http://127.0.0.1:${PORT[a]},127.0.0.1:${PORT[b]}

# --- traces ---------------------------------------------------------------------------------------

cat >"$T/names.c" <<'C'
__attribute__((noinline, noclone)) int plain(int n) { for (volatile int i = 0; i < 50; i++) n += i; return n; }
__attribute__((noinline, noclone)) int odd(int n) { return plain(n) + plain(n + 1) + 1; }
__attribute__((noinline, noclone)) int deep(int n) { return n ? deep(n - 1) + odd(n) : 1; }
int main(int c, char **v) { int s = 0; for (int i = 0; i < (c > 1 ? 60000 : 300); i++) s += deep(5); return s == 1; }
C
ODD="it's\\t \\'odd"
gcc -O2 -fno-optimize-sibling-calls -fPIC -c -o "$T/names.o" "$T/names.c" && objcopy --redefine-sym odd="$ODD" "$T/names.o" &&
	gcc -o "$T/names" "$T/names.o"
trace() { # NAME COMMAND...
	timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/$1" -- "${@:2}" >"$T/out" 2>"$T/err" </dev/null
	"$BRACE" report --json "$T/$1" >"$T/$1.report" 2>>"$T/err"
}
trace small "$T/names"
trace threads "$FIXTURES/threads"
trace large "$T/names" many

# push ARGUMENT...: leaves err and STATUS.
push() {
	timeout -k 5 "$LIMIT" "$BRACE" push "$@" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
}
says() { # TEXT: the last push or question says so, and fails
	[ "$STATUS" != 0 ] && grep -qF -- "$1" "$T/err"
}
run_of() { grep -o 'run [0-9a-f]\{16\}' "$T/err" | head -n 1 | cut -d' ' -f2; }

# --- bad input ------------------------------------------------------------------------------------

faulty() { # ARGUMENT TEXT
	push "$T/small" --to "$1"
	check_that "refused: $1: $2" says "$2"
}
push "$T/small"
check_that 'a push without a server says what it needs' says 'push needs a server: --to http://HOST:PORT'
faulty 'ftp://a' 'a server is http://HOST:PORT'
faulty 'http://' "a server's name, or HOST:PORT, is missing here"
faulty 'http://u:p@host' 'come from --auth FILE'
faulty 'http://a:x' 'is missing here'
faulty 'http://a:1/b-c' 'letters, digits, _'
faulty 'http://a:1/x,b:2/y' 'x is named already'
faulty 'http://a:1/x%22' 'letters, digits, _'
push "$T/small" --to "$TO" --label novalue
check_that 'a label without a value is refused' says 'a label is KEY=VALUE'
push "$T/nothing" --to "$TO"
check_that 'a file that is not there is refused' says 'nothing'
head -c 300 "$T/small" >"$T/cut"
push "$T/small" --to "$TO"
check_that 'a database that is not there is told, with its cure' says 'it has no database brace: `brace push --create` makes it'
push --create --to "$TO"
check_that 'push --create makes it' [ "$STATUS" = 0 ]
both 'SHOW TABLES FROM brace' | sort | uniq -c >"$T/tables"
check_that 'on both servers, five tables each, and three views' [ "$(awk '{ print $1 $2 }' "$T/tables" | tr '\n' ' ')" = '2calls 2functions 2minutes 2named_calls 2named_minutes 2runs 2traces 2whole_runs ' ]
push "$T/cut" --to "$TO"
check_that 'a trace that ends in its heading is refused' [ "$STATUS" != 0 ]

# --- what is there equals what report and csv print -----------------------------------------------

# compare.py REPORT ROWS [CSV]: sums by function are report's; calls are csv's.
cat >"$T/compare.py" <<'P'
import collections, csv, json, sys
want = collections.defaultdict(lambda: [0, 0, 0])
for line in list(open(sys.argv[1]))[1:]:
    r = json.loads(line)
    one = want[r["name"], r["module"] or ""]
    for i, key in enumerate(("calls", "total_ns", "self_ns")):
        one[i] += r[key] or 0
got = {}
for line in open(sys.argv[2]):
    r = json.loads(line)
    if "name" in r:
        got[r["name"], r["module"]] = [int(r[key]) for key in ("calls", "total_ns", "self_ns")]
assert got and set(got) == set(want), (set(got) ^ set(want))
for key, values in got.items():
    assert values[0] == want[key][0], (key, values, want[key])
    for i in (1, 2):
        assert abs(values[i] - want[key][i]) <= 2 + values[0], (key, i, values, want[key])
P
ask() { # ARGUMENT...: leaves rows, err and STATUS
	timeout -k 5 "$LIMIT" "$BRACE" fleet "$@" >"$T/rows" 2>"$T/err" </dev/null
	STATUS=$?
}
push "$T/small" --to "$TO" --label version=1 --label 'of=te"st'
check_that 'a trace is pushed' [ "$STATUS" = 0 ]
ask top --to "$TO" --json
check 'its functions, calls and times are report'"'"'s, whatever their names' python3 "$T/compare.py" "$T/small.report" "$T/rows"
push "$T/small" --to "$TO" --label version=1
check_that 'pushed again, it says what was there' grep -q '1 of 1 batches were there' "$T/err"
ask top --to "$TO" --json
check 'and its figures stay' python3 "$T/compare.py" "$T/small.report" "$T/rows"
push "$T/threads" --to "$TO" --calls --label version=2
check_that 'a program of threads is pushed, each call' [ "$STATUS" = 0 ]
ask top --to "$TO" --json --label version=2
check 'its figures are report'"'"'s' python3 "$T/compare.py" "$T/threads.report" "$T/rows"
"$BRACE" export --to csv "$T/threads" 2>"$T/err" | tail -n +2 | cut -d, -f2-5 | LC_ALL=C sort >"$T/csv"
both 'SELECT duration, self, pid, tid FROM brace.calls FORMAT CSV' | LC_ALL=C sort >"$T/calls"
check "its calls are csv's" cmp "$T/csv" "$T/calls"
push "$T/small" --to "$TO" -l plain --no-command
part=$(run_of)
check_that 'a part of it is a run of its own' [ "$STATUS" = 0 ]
push "$T/small" --to "$TO" -l plain --no-command
check_that 'the same part again is the same run' grep -q "run $part: .*1 of 1 batches were there" "$T/err"
push "$T/small" --to "$TO" --verify -l plain -l main
one=$(run_of)
push "$T/small" --to "$TO" --verify -l main -l plain
check_that 'whose options may have another order' [ "$(run_of)" = "$one" ]
check_that 'and which is none of another part' [ "$one" != "$part" ]
ask runs --to "$TO" --csv
check_that 'three runs are there, with labels and commands' [ "$(grep -c . "$T/rows")" = 4 ]
check_that 'one without its command' grep -q "^$part,.*,$" "$T/rows"
ask history plain --to "$TO" --csv --label version=1
check_that 'history has the calls of its minutes' [ "$(tail -n +2 "$T/rows" | awk -F, '{ n += $2 } END { print n }')" = 3000 ]
ask outliers plain --to "$TO" --csv --label version=1
check_that 'outliers has a row for the host' [ "$(tail -n +2 "$T/rows" | awk -F, '{ print $2 }')" = 3000 ]
ask history "$ODD" --to "$TO" --csv --label version=1
check_that 'also of a function whose name has quotes and backslashes' [ "$(tail -n +2 "$T/rows" | awk -F, '{ n += $2 } END { print n }')" = 1500 ]
ask history nobody --to "$TO"
check_that 'a function that nobody called is told' says 'no call of nobody in these runs'
ask tpo --to "$TO"
check_that 'a wrong question has the nearest one' says 'did you mean top?'
ask history --to "$TO"
check_that 'history without a function says what it wants' says "wants a function's name"

# --- two runs side by side ------------------------------------------------------------------------

# difference.py SUMS-A SUMS-B DIFF REPORT-A REPORT-B: rows of `fleet diff --json` are the sums that ClickHouse adds up of its
# minutes, and percentiles lie within 19 % of those that `brace report` has (and a rounding).
cat >"$T/difference.py" <<'P'
import json, sys
def table(path):
    rows = {}
    for line in open(path):
        r = json.loads(line)
        rows[r["name"], r["module"]] = {key.replace("called", "calls"): int(value) for key, value in r.items() if key not in ("name", "module")}
    return rows
want = [table(sys.argv[1]), table(sys.argv[2])]
lines = [json.loads(line) for line in open(sys.argv[3])]
head, got = lines[0], lines[1:]
assert head["schema"] == "brace-diff" and len(head["files"]) == 2, head
assert want[0] and want[1] and {(r["name"], r["module"]) for r in got} == set(want[0]) | set(want[1])
changes = []
for r in got:
    for side, rows in zip("ab", want):
        w = rows.get((r["name"], r["module"]))
        assert (r[side] is None) == (w is None), r
        for key in w or ():
            assert r[side][key] == w[key], (r["name"], side, key, r[side], w)
        assert not w or w["min_ns"] <= r[side]["p50_ns"] <= r[side]["p99_ns"] <= w["max_ns"], (r, w)
    changes.append(abs((r["a"] or {"self_ns": 0})["self_ns"] - (r["b"] or {"self_ns": 0})["self_ns"]))
assert changes == sorted(changes, reverse=True), changes
for side, path in zip("ab", sys.argv[4:]):
    report = {r["name"]: r for r in map(json.loads, list(open(path))[1:])}
    for r in got:
        for key in ("p50_ns", "p99_ns"):
            exact = (report[r["name"]][key] if r[side] else 0) or 0
            assert not r[side] or abs(r[side][key] - exact) <= 0.22 * exact + 2, (r, key, exact)
P
# added_up RUN: the run's sums by function, of the server that has it. (An alias `calls` would stand for the column, too.)
added_up() {
	both "SELECT name, module, sum(calls) AS called, sum(total) AS total_ns, sum(self) AS self_ns, minIf(least, timed > 0) AS min_ns,
		max(most) AS max_ns, intDiv(sum(durations), greatest(sum(timed), 1)) AS mean_ns
		FROM brace.minutes ANY LEFT JOIN (SELECT fn, name, module FROM brace.functions) USING fn
		WHERE run = reinterpretAsUInt64(reverse(unhex('$1'))) GROUP BY name, module FORMAT JSONEachRow"
}
calls_by_name() { # FILE: name and calls of both sides, of JSON as brace diff writes it
	python3 -c 'import json, sys
for r in map(json.loads, list(open(sys.argv[1]))[1:]): print(r["name"], r["a"]["calls"], r["b"]["calls"])' "$1" | LC_ALL=C sort
}
push "$T/small" --to "$TO" --label version=1
old=$(run_of)
trace twice "$T/names"
push "$T/twice" --to "$TO" --label version=3
new=$(run_of)
push "$T/threads" --to "$TO" --calls --label version=2
other=$(run_of)
check_that 'three runs have three numbers' [ "$(printf '%s\n' "$old" "$new" "$other" | grep . | sort -u | wc -l)" = 3 ]
added_up "$old" >"$T/old.sums"
added_up "$new" >"$T/new.sums"
added_up "$other" >"$T/other.sums"
ask diff "$old" "$new" --to "$TO" --json
check 'diff has the sums that ClickHouse adds up' python3 "$T/difference.py" "$T/old.sums" "$T/new.sums" "$T/rows" "$T/small.report" "$T/twice.report"
"$BRACE" diff --json "$T/small" "$T/twice" >"$T/files" 2>"$T/err"
calls_by_name "$T/files" >"$T/want"
calls_by_name "$T/rows" >"$T/got"
check_that 'brace diff has functions' [ -s "$T/want" ]
check 'calls are those of brace diff of the two files' cmp "$T/want" "$T/got"
ask diff "$old" "$other" --to "$TO" --json
check 'functions of one run alone are of one side' python3 "$T/difference.py" "$T/old.sums" "$T/other.sums" "$T/rows" "$T/small.report" "$T/threads.report"
push "$T/twice" --to "$TO" -l plain --label version=4
push "$T/small" --to "$TO" -l plain -l main --label version=4
ask diff version=4 version=3 --to "$TO" --json
python3 -c 'import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
rows = {r["name"]: r for r in lines[1:]}
print(lines[0]["files"][0], rows["plain"]["a"]["calls"], rows["plain"]["b"]["calls"], rows["deep"]["a"])' "$T/rows" >"$T/got"
echo 'version=4 (mean of 2 runs) 3000 3000 None' >"$T/want"
check 'of a label, calls are means by run' cmp "$T/want" "$T/got"
ask diff "$old" "$other" --to "$TO" --limit 1
check_that 'for people it looks as brace diff' [ "$(grep -c '^# [AB]: ' "$T/rows")$(grep -c 'SELF A .*SELF B .*CHANGE .*FUNCTION' "$T/rows")$(wc -l <"$T/rows")" = 214 ]
ask diff "$old" 0000000000000001 --to "$TO"
check_that 'a run that is not there is told' says 'there is no run 0000000000000001'
check_that 'and no row is printed' [ ! -s "$T/rows" ]
ask diff "$old" latest --to "$TO"
check_that 'a word that is no run is refused' says 'latest is neither a run'
ask diff "$old" --to "$TO"
check_that 'diff wants two' says 'fleet diff wants two runs'
ask diff "$old" "$new" --to "$TO" -s module
check_that 'a column that is no number is refused' says 'no column module to compare'
ask top --to "$TO" -s calls
check_that 'other questions take no -s' says '-s names the column that is compared'
ask diff "$old" "$new" --to "$TO,127.0.0.1:1" --limit 1
check_that 'of three servers two answer, and that is said' says '2 of 3 servers answered'
check_that 'with status 1' [ "$STATUS" = 1 ]

# --- a server dies in the middle --------------------------------------------------------------------

push "$T/large" --to "$TO" --calls --verify
check_that 'verify finds no batch of a trace that was not pushed' says '0 of '
victim=a
count() { sql "$victim" "SELECT count() FROM brace.calls WHERE run IN (SELECT DISTINCT run FROM brace.calls WHERE run = reinterpretAsUInt64(reverse(unhex('$large'))))"; }
some_came() { [ "$(count)" -ge "$1" ] 2>/dev/null; }
large=$(run_of)
# The run is on the server that its number names.
[ $((16#$large % 2)) = 0 ] || victim=b
timeout -k 5 $((LIMIT * 3)) "$BRACE" push "$T/large" --to "$TO" --calls --retry 100s >"$T/out" 2>"$T/push.err" </dev/null &
pusher=$!
for rows in 1 250001 500001 750001; do
	until_is some_came $rows || break
	kill_server $victim
	start_server $victim
done
wait $pusher
result 'a push ends well although its server was killed four times' $? "$T/push.err"
"$BRACE" export --to csv "$T/large" 2>"$T/err" | tail -n +2 | awk -F, '{ n++; d += $2; s += $3 } END { printf "%d\t%d\t%d\n", n, d, s }' >"$T/want"
sql $victim "SELECT count(), sum(duration), sum(self) FROM brace.calls WHERE run = reinterpretAsUInt64(reverse(unhex('$large')))" >"$T/got"
check_that 'it has calls' [ "$(cut -f1 "$T/want")" -gt 750000 ]
check 'each of its calls is there once' cmp "$T/want" "$T/got"
push "$T/large" --to "$TO" --calls --verify
check_that 'verify finds all batches' [ "$STATUS" = 0 ]
push "$T/large" --to "$TO" --calls
sql $victim "SELECT count(), sum(duration), sum(self) FROM brace.calls WHERE run = reinterpretAsUInt64(reverse(unhex('$large')))" >"$T/got"
check 'pushed again, nothing is there twice' cmp "$T/want" "$T/got"
ask top --to "$TO" --json
cp "$T/rows" "$T/whole"
kill_server $victim
ask top --to "$TO" --json
check_that 'of two servers one answers, and that is said' says '1 of 2 servers answered, the figures lack the runs of the others'
check_that 'with status 1' [ "$STATUS" = 1 ]
push "$T/large" --to "$TO" --calls --retry 500ms
check_that 'a push to a server that is away fails, after a while' says 'does not answer'
ask runs --to "http://127.0.0.1:${PORT[$victim]}"
check_that 'a question that no server answers fails' [ "$STATUS" = 125 ]
start_server $victim
ask top --to "$TO" --json
check 'when it is back, the answer is whole again' cmp "$T/whole" "$T/rows"

# --- a server that says nothing -------------------------------------------------------------------

start_silent
"$BRACE" push "$T/small" --to "http://127.0.0.1:$SILENT_PORT" >"$T/out" 2>"$T/err" </dev/null &
pusher=$!
until_asked
kill_ours -TERM $pusher
wait $pusher
STATUS=$?
check_that 'a push whose server says nothing ends by SIGTERM' says interrupted

# --- servers that cannot be right ------------------------------------------------------------------

# liar.py LINE BYTES: answers every question but the one for losses with lines, of so many bytes together.
cat >"$T/liar.py" <<'P'
import http.server, sys
line = sys.argv[1].replace("\\t", "\t").encode() + b"\n"
body = line * max(1, int(sys.argv[2]) // len(line))
class Liar(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        answer = b"0\n" if b"sum(lost)" in asked else body
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        try:
            self.wfile.write(answer)
        except OSError:
            pass
    def log_message(self, *a):
        pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
print(s.server_address[1], flush=True)
s.serve_forever()
P
lies() { # LINE BYTES: leaves port
	exec {LIAR}< <(exec python3 "$T/liar.py" "$1" "$2")
	ON_EXIT+=("kill $!")
	read -rt "$LIMIT" -u "$LIAR" port
}
lies 'f\tm\t255\t18446744073709551615\t1\t1\t1\t1\t1' 0
ask top --to "$TO,127.0.0.1:$port"
check_that 'a number that no sum can have is refused, and the server named' says "http://127.0.0.1:$port is not to be trusted"
lies 'f\tm\t255\t1\t1\t1\t1\t1\t1' 70000000
ask top --to "http://127.0.0.1:$port"
check_that 'an answer of more than 64 MB is called that' says 'answers more than 64 MB'

# --- who may ----------------------------------------------------------------------------------------

printf 'writer:secret\n' >"$T/writer"
printf 'writer:wrong\n' >"$T/wrong"
printf 'reader:r\n' >"$T/reader"
chmod 600 "$T/writer" "$T/wrong"
chmod 644 "$T/reader"
ask runs --to "$TO" --auth "$T/writer"
check_that 'a user with its key is let in' [ "$STATUS" = 0 ]
ask runs --to "$TO" --auth "$T/wrong"
check_that 'a wrong key is refused with a word' says "the key is not the user's"
ask runs --to "$TO" --auth "$T/reader"
check_that 'a file that others may read is refused' says 'chmod 600'
chmod 600 "$T/reader"
push --create --to "$TO/other" --auth "$T/reader"
check_that 'a user who may only read makes nothing' says 'may only read'
BRACE_CLICKHOUSE_USER=writer BRACE_CLICKHOUSE_KEY=wrong ask runs --to "$TO"
check_that 'the environment names a user, too' says "the key is not the user's"
SECURE=https://127.0.0.1:${TLS[a]}
ask runs --to "$SECURE"
check_that 'a certificate of an unknown authority is refused' says 'does not answer'
ask runs --to "$SECURE" --ca "$T/server.crt"
check_that 'it is taken with --ca' [ "$STATUS" = 0 ]
ask runs --to "$SECURE" --insecure
check_that 'and with --insecure, which is said' grep -q 'certificate is not checked' "$T/err"
http_proxy=http://127.0.0.1:9 ask runs --to "$TO"
check_that 'a proxy of the environment is not asked for servers of this machine' [ "$STATUS" = 0 ]
finish

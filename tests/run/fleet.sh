#!/bin/bash
# `brace push` and `brace fleet` with two real ClickHouse servers on loopback, as two shards: what they have equals `brace report`
# and `brace export --to csv`, also after servers died in the middle of batches; logins, certificates, hostile names, bad input.
. "$(dirname "$0")/lib.sh"
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
check_that 'on both servers, four tables each' [ "$(awk '{ print $1 $2 }' "$T/tables" | tr '\n' ' ')" = '2calls 2functions 2minutes 2runs ' ]
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

cat >"$T/silent.py" <<'P'
import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
held = []
while True:
    held.append(s.accept()[0])
    print("asked", flush=True)
P
exec {SILENT}< <(exec python3 "$T/silent.py")
silent=$!
ON_EXIT+=("kill $silent")
read -rt "$LIMIT" -u "$SILENT" port
"$BRACE" push "$T/small" --to "http://127.0.0.1:$port" >"$T/out" 2>"$T/err" </dev/null &
pusher=$!
read -rt "$LIMIT" -u "$SILENT" asked
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

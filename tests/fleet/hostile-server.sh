#!/bin/bash
# A server of a fleet that is hostile: names with escape sequences, numbers without an end, refusals that draw, answers that go on. Each
# question and each push says in one sentence that it fails, or shows text; no byte of the server's reaches a terminal as it is.
. "$(dirname "$0")/../run/lib.sh"
need python3 curl
cd "$T" || exit 1
cat >server.py <<'P'
# MODE TEXTS COLUMNS: an answer to each question has so many columns, of which the first are texts.
import http.server, socketserver, sys
mode, texts, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
evil = "\x1b[2J\x1b]52;c;ZXZpbA==\x07\u202e\u009b31m".encode()
def rows(number, n=1):
    return b"\t".join([evil] * texts + [number] * (columns - texts)) + b"\n"
answers = {
    "names": lambda q: rows(b"255"),
    "large": lambda q: rows(b"18446744073709551615"),
    "sums": lambda q: rows(b"144115188075855871") * 100,
    "negative": lambda q: rows(b"-1"),
    "refuses": lambda q: b"Code: 9999. " + evil * 20 + b"\n" + evil,
    "late": lambda q: b"1\t2\nCode: 77. DB::Exception: " + evil + b"\n",
    "nul": lambda q: b"a\0b\t1\n",
    "batches": lambda q: b"".join(b"%d\t1\n" % i for i in range(1 << 21)),
    "endless": None,
}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        question = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(500 if mode == "refuses" else 200)
        self.end_headers()
        try:
            if b"sum(lost)" in question:
                self.wfile.write(b"18446744073709551615\n")
            elif answers[mode]:
                self.wfile.write(answers[mode](question))
            else:
                while True:
                    self.wfile.write(b"x" * 65536)
        except OSError:
            pass
    def log_message(self, *a): pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer): daemon_threads = True
server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
P
# serve MODE TEXTS COLUMNS: sets TO.
serve() {
	local port
	[ -z "$server" ] || kill_ours "$server"
	exec {answers}< <(exec python3 "$T/server.py" "$@")
	server=$!
	ON_EXIT+=("kill_ours $server")
	read -rt "$LIMIT" -u "$answers" port
	TO=http://127.0.0.1:$port
}
# What is kept without an end would be the machine's memory. A sanitizer's own takes more.
bounded() { grep -qa '__[at]san_init' "$BRACE" || ulimit -v 4000000; }
# asks WORD...: leaves out, err, STATUS.
asks() {
	(bounded; exec timeout -k 5 "$LIMIT" "$BRACE" "$@" --to "$TO") >out 2>err </dev/null
	STATUS=$?
}
is_text() { ! grep -qaP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' out err; }
ends_well() { [ "$STATUS" -le 1 ] || { [ "$STATUS" = 125 ] && [ -s err ]; }; }
refuses() { [ "$STATUS" = 125 ] && grep -qF -- "$1" err; }
server=
"$BRACE" record -q -o t.brace -- true

# NAME TEXTS COLUMNS QUESTION...
questions=('top 2 9 fleet top --no-pager' 'history 0 8 fleet history f --no-pager' 'outliers 1 8 fleet outliers f --no-pager'
	'runs 3 9 fleet runs --no-pager' 'runs 3 9 fleet runs --json' 'diff 3 9 fleet diff v=1 v=2 --no-pager' 'push 1 2 push t.brace --retry 100ms')
for mode in names large sums negative refuses late nul; do
	for q in "${questions[@]}"; do
		read -r name texts columns words <<<"$q"
		serve $mode "$texts" "$columns"
		# shellcheck disable=SC2086
		asks $words
		check_that "$mode, $words: it ends with an answer or a sentence" ends_well
		check_that "$mode, $words: a terminal gets text" is_text
	done
done
serve batches 0 2
asks push t.brace --retry 100ms
check_that 'more batches than a run has are not kept' refuses 'it has more batches than a run can have'
serve endless 0 2
asks fleet top --no-pager
check_that 'an answer without an end is not read' refuses 'answers more than 64 MB'
finish

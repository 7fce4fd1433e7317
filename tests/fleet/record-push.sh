#!/bin/bash
# `brace record --push` with a real ClickHouse: what comes to be there, whatever befalls server and brace, what waits in the spool, and
# that neither changes the program's run or its status.
. "$(dirname "$0")/../run/lib.sh"
. "$(dirname "$0")/silent.sh"
. "$(dirname "$0")/clickhouse.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need gcc
configure a
if ! start_server a; then
	not_ok 'a server starts'
	diag "$T/a/errors"
	finish
fi
TO=http://127.0.0.1:${PORT[a]}
SPOOL=$XDG_STATE_HOME/brace/spool
"$BRACE" push --create --to "$TO"

# `steps N FILE STATUS`: N times 1,111 calls; then, with a FILE, waits until it is there.
cat >"$T/steps.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline, noclone)) int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
__attribute__((noinline, noclone)) int ten(int n) { for (int i = 0; i < 10; i++) n = leaf(n); return n; }
__attribute__((noinline, noclone)) int hundred(int n) { for (int i = 0; i < 10; i++) n = ten(n); return n; }
__attribute__((noinline, noclone)) int step(int n) { for (int i = 0; i < 10; i++) n = hundred(n); return n; }
int main(int c, char **v) {
	int s = 0;
	for (int i = 0; i < atoi(v[1]); i++) s = step(s);
	while (c > 2 && *v[2] && access(v[2], F_OK)) usleep(10000);
	return c > 3 ? atoi(v[3]) : 0;
}
C
gcc -O2 -fno-optimize-sibling-calls -o "$T/steps" "$T/steps.c"
cd "$T" || exit 1

# record ARGUMENT...: leaves err and STATUS.
record() {
	timeout -k 5 "$LIMIT" "$BRACE" record --mode block "$@" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
}
says() { grep -qF -- "$1" "$T/err"; }
refuses() { [ "$STATUS" = 125 ] && says "$1" && [ ! -e "$T/ran" ]; }
spooled() { find "$SPOOL" -name "*.$1" | wc -l; }
calls_there() { sql a 'SELECT sum(calls) FROM brace.minutes WHERE run IN (SELECT run FROM brace.runs)'; }
runs_there() { sql a 'SELECT uniq(run) FROM brace.runs'; }
# calls_in FILE...: as brace report counts them.
calls_in() {
	local f
	for f; do "$BRACE" report --json "$f"; done | python3 -c 'import json, sys
print(sum(json.loads(l).get("calls") or 0 for l in sys.stdin if "\"name\":" in l))'
}
forget() { # all that was pushed
	local t
	for t in runs minutes calls functions; do sql a "DROP TABLE brace.$t"; done
	"$BRACE" push --create --to "$TO"
}

# --- what is refused, before the program runs -------------------------------------------------------

record -o t.brace --label a=b -- touch "$T/ran"
check_that 'an option of a push without a push is refused' refuses '--label is for a trace that is pushed'
record -o t.brace --push ftp://x -- touch "$T/ran"
check_that 'an address that is none, too' refuses 'a server is http://HOST:PORT'
mkdir -m 777 "$T/open"
chmod 777 "$T/open"
record -o t.brace --push "$TO" --spool "$T/open" -- touch "$T/ran"
check_that 'a spool that others may write to' refuses 'others may write to'
record -o t.brace --push "$TO" -K -- touch "$T/ran"
check_that 'and the kernel alone' refuses '--push is for the trace of a program'

# --- a server that is there -----------------------------------------------------------------------

record -o t.brace --push "$TO" --label v=1 -- "$T/steps" 20 '' 3
check_that "the status is the program's" [ "$STATUS" = 3 ]
check_that 'it says what was pushed' says "calls pushed to $TO/brace as run"
calls_in t.brace >"$T/want"
calls_there >"$T/got"
check "what is there is report's" cmp "$T/want" "$T/got"
check_that 'nothing is left in the spool' [ "$(spooled '*')" = 0 ]
timeout "$LIMIT" "$BRACE" push t.brace --to "$TO" >"$T/out" 2>"$T/err"
check_that 'brace push of the file is the same run' [ "$(runs_there)" = 1 ]
record -q -o t.brace --push "$TO" --push-calls -- "$T/steps" 20
check_that 'with -q it says nothing' [ ! -s "$T/err" ]
check_that 'each call is there with --push-calls' [ "$(sql a 'SELECT count() FROM brace.calls')" = "$(calls_in t.brace)" ]
record -o t.brace --push "$TO" -- sh -c 'kill -SEGV $$'
check_that 'a signal that ends the program ends brace, too' [ "$STATUS" = 139 ]
check_that 'and its trace is pushed' [ "$(runs_there)" = 3 ]

# --- parts, while the program runs -------------------------------------------------------------------

forget
some_runs() { [ "$(runs_there)" -ge "$1" ] 2>/dev/null; }
timeout -k 5 "$LIMIT" "$BRACE" record --mode block -o r.brace --rotate 100K --push "$TO" -- "$T/steps" 5000 "$T/go" >"$T/out" 2>"$T/err" </dev/null &
recorder=$!
check_that 'a part is there while the program runs' until_is some_runs 2
kill_server a
: >"$T/go"
wait $recorder
STATUS=$?
check_that 'the server has died: the status is still the program'"'"'s' [ "$STATUS" = 0 ]
check_that 'what is left is said' grep -q 'trace file.* wait.* in .*; brace push --spooled' "$T/err"
check_that 'and is in the spool' [ "$(spooled brace)" -gt 0 ]
start_server a
timeout -k 5 "$LIMIT" "$BRACE" push --spooled --to "$TO" >"$T/out" 2>"$T/err" &
other=$!
timeout -k 5 "$LIMIT" "$BRACE" push --spooled --to "$TO" >"$T/out" 2>"$T/err2"
STATUS=$?
wait $other
check_that 'two that empty the spool at once both end well' [ "$?$STATUS" = 00 ]
check_that 'nothing is left' [ "$(spooled '*')" = 0 ]
calls_in r.brace r.brace.* >"$T/want"
calls_there >"$T/got"
check 'each call of all parts is there once' cmp "$T/want" "$T/got"
find . -name 'r.brace*' | wc -l >"$T/want"
runs_there >"$T/got"
check 'each part is a run' cmp "$T/want" "$T/got"

forget
record -o k.brace --rotate 100K --keep 2 --push "$TO" -- "$T/steps" 5000
check_that 'parts that --keep removed are there as well' [ "$(runs_there)" -gt 2 ]
check_that 'of which two are kept' [ "$(find . -name 'k.brace*' | wc -l)" = 2 ]
check_that 'all parts are pushed' grep -Eq 'brace: ([0-9]+) of \1 trace files of this recording are pushed' "$T/err"

# --- a server that is away ---------------------------------------------------------------------------

forget
kill_server a
record -o t.brace --push "$TO" --retry 100ms -- "$T/steps" 20 '' 4
check_that 'a server is away: the status is the program'"'"'s' [ "$STATUS" = 4 ]
check_that 'its trace waits, which is said' says '1 trace file ('
rm t.brace
record -q -o t.brace --push "$TO" --retry 100ms --spool-max 1K -- "$T/steps" 20
check_that 'a spool that is full is said, even with -q' says 'the spool is full'
check_that 'the trace stays where it is' "$BRACE" report t.brace
check_that 'and the spool as it was' [ "$(spooled brace)$(spooled push)" = 11 ]
start_server a
record -q -o u.brace --push "$TO" --label which=next -- "$T/steps" 20
check_that 'the next recording pushes what had waited, too' [ "$(runs_there)$(spooled '*')" = 20 ]
check_that 'with the labels that each had' [ "$(sql a "SELECT labels FROM brace.runs WHERE labels != ''")" = which=next ]

# --- a server that says nothing ----------------------------------------------------------------------

start_silent
timeout -k 5 "$LIMIT" "$BRACE" record -o t.brace --push "http://127.0.0.1:$SILENT_PORT" -- "$T/steps" 1 '' 5 >"$T/out" 2>"$T/err" </dev/null &
recorder=$!
until_asked
# timeout hands it on.
kill_ours -TERM $recorder
wait $recorder
STATUS=$?
check_that 'a signal ends a push whose server says nothing' says 'the push is interrupted'
check_that 'and the trace waits' [ "$(spooled brace)" = 1 ]

# --- what stands in a spool is not trusted ------------------------------------------------------------

rm -r "$SPOOL"
record -q -o t.brace --push "$TO" --spool "$T/mine" -- "$T/steps" 1
cp t.brace "$T/mine/1.brace"
cp t.brace "$T/mine/2.brace"
printf 'brace push 1\nto %s\nsomething else\n' "$TO" >"$T/mine/2.push"
printf 'brace push 1\nto %s\n' "$TO" >"$T/mine/3.push"
head -c 200 t.brace >"$T/mine/3.brace"
printf 'brace push 1\nto http://127.0.0.1:9\n' >"$T/mine/4.push"
cp t.brace "$T/mine/4.brace"
: >"$T/mine/5.part"
name=00006bcd$(printf %012x 5)-$$-0
: >"$T/mine/$name.part"
printf 'brace push 1\nto %s\n' "$TO" >"$T/mine/${name%0}1.push"
printf 'brace push 1\nto %s\n' "$TO" >"$T/mine/6.push"
timeout "$LIMIT" "$BRACE" push --spooled --spool "$T/mine" --to "$TO" >"$T/out" 2>"$T/err"
STATUS=$?
check_that 'entries that are damaged stay, and are named' [ "$(grep -c 'is not pushed' "$T/err")$STATUS" = 3125 ]
check_that 'those of other servers are left alone' says '3 left (' && says '1 for other servers'
check_that 'a copy that nobody ends is removed' [ ! -e "$T/mine/$name.part" ]
check_that 'and a note whose trace never came' [ ! -e "$T/mine/${name%0}1.push" ]
check_that 'files of other names are not' [ -e "$T/mine/5.part" -a -e "$T/mine/6.push" ]
chmod 755 "$T/mine"
record -o t.brace --push "$TO" --spool "$T/mine" -- touch "$T/ran"
check_that 'a spool that others may open, and lock, is refused' refuses 'others may read'
chmod 700 "$T/mine"

# A process that stands with the lock, and one that goes on.
exec {held}<"$T/mine"
flock -x "$held"
record -o t.brace --push "$TO" --spool "$T/mine" -- "$T/steps" 1 '' 6
check_that 'a lock that another process keeps delays nobody for ever' [ "$STATUS" = 6 ]
check_that 'and is said' says 'whose lock cannot be had: another process keeps it'
exec {held}<&-
finish

#!/bin/bash
# The trace file: whose it is, that it needs nothing but itself, and that it reads up to
# wherever it was cut; and what happens to file and program when either side is killed.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"

cp "$FIXTURES/shapes-plain" "$T/program"
(cd "$T" && umask 0 && "$BRACE" record --mode block -o "$T/whole" -- "$T/program") >"$T/out" 2>"$T/err"
result "recorded" $? "$T/err"
[ "$(stat -c %a "$T/whole")" = 600 ]
result "the file is its owner's alone" $?

# graph -o writes text, and makes its file as carefully.
echo precious >"$T/other"
ln -s other "$T/link"
for command in record graph; do
	"$BRACE" "$command" -q -o "$T/link" -- /bin/true >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && [ "$(cat "$T/other")" = precious ] && grep -q "^brace: cannot write .*/link: it is a symbolic link" "$T/err"
	result "$command -o: a symbolic link is refused" $? "$T/err"
	printf old >"$T/text"
	[ "$command" = graph ] || printf bra >"$T/text" # the beginning of a trace
	chmod 644 "$T/text"
	ln -f "$T/text" "$T/kept"
	(umask 022 && "$BRACE" "$command" -q -o "$T/text" -- /bin/true) >"$T/out" 2>"$T/err"
	[ "$(stat -c %a "$T/text")" = 600 ] && grep -qx 'old\|bra' "$T/kept" && [ -s "$T/text" ]
	result "$command -o: a file of one's own is replaced by a new one, 0600" $? "$T/err"
	mkfifo "$T/fifo"
	cat "$T/fifo" >"$T/read" &
	"$BRACE" "$command" -q -o "$T/fifo" -- /bin/true >"$T/out" 2>"$T/err"
	result "$command -o: into a pipe" $? "$T/err"
	wait $!
	[ -s "$T/read" ] && [ -p "$T/fifo" ]
	result "$command -o: all comes through" $?
	rm "$T/fifo"
	if [ "$(id -u)" -eq 0 ]; then
		echo his >"$T/his"
		chown 65534 "$T/his"
		"$BRACE" "$command" -q -o "$T/his" -- /bin/true >"$T/out" 2>"$T/err"
		[ $? -eq 125 ] && [ "$(cat "$T/his")" = his ] && grep -q "belongs to another user" "$T/err"
		result "$command -o: another user's file is refused" $? "$T/err"
	fi
done

"$BRACE" record -q -o "$T/other" -- /bin/true 2>"$T/err"
[ $? -eq 125 ] && [ "$(cat "$T/other")" = precious ] && grep -q 'is no trace file' "$T/err"
result "record -o: what is no trace is not replaced" $? "$T/err"
"$BRACE" record -q -o "$T/twice" -- /bin/true && cp "$T/twice" "$T/first" && "$BRACE" record -q -o "$T/twice" -- /bin/true &&
	cmp -s "$T/first" "$T/twice.old" && ! cmp -s "$T/first" "$T/twice"
result "record -o: the trace before is kept" $?
"$BRACE" record -q -o "$T/twice" -- "$T/none" 2>"$T/err"
[ $? -eq 127 ] && cmp -s "$T/first" "$T/twice.old" && [ -s "$T/twice" ]
result "record -o: nothing changes if there is no program" $?
"$BRACE" record -o - -- /bin/true 2>"$T/err" >"$T/out"
[ $? -eq 125 ] && grep -q 'a pipe or a file' "$T/err" && [ ! -e - ]
result "record -o -: refused" $? "$T/err"

# The clock's rate is known after the file has begun.
mkfifo "$T/told"
"$BRACE" record -q --mode block -o "$T/growing" -- "$FIXTURES/answers" <"$T/told" >"$T/out" 2>"$T/err" &
exec {TOLD}>"$T/told"
knows_clock() { echo 100 >&"$TOLD" && "$BRACE" info "$T/growing" 2>"$T/err" | grep -Eq '^clock .* [1-9][0-9]+ Hz'; }
until_is knows_clock
result "a file that is being recorded has its clock's rate" $? "$T/err"
exec {TOLD}>&-
wait $!

for command in 'replay --no-pager' 'report --no-pager' 'report --json'; do
	# shellcheck disable=SC2086 # words
	"$BRACE" $command "$T/whole" >"$T/before.${command// /}" 2>"$T/err"
done
[ -s "$T/before.report--json" ]
result "it has a report" $? "$T/err"
selves() { "$BRACE" report --json "$@" "$T/whole" | sed -nE 's/.*"self_ns":([0-9]+).*/\1/p'; }
selves >"$T/selves" && [ "$(wc -l <"$T/selves")" -gt 3 ] && sort -c -r -n "$T/selves" 2>"$T/err"
result "by self times, the longest first" $? "$T/err"
selves -s total >"$T/totals" && ! cmp -s "$T/selves" "$T/totals"
result "or by what is asked for" $?
"$BRACE" record -q -t function -o "$T/function" -- "$T/program" >"$T/out" 2>"$T/err"
"$BRACE" report --no-pager "$T/function" >"$T/table"
head -n 1 "$T/table" | grep -qx ' *CALLS  FUNCTION' && [ "$(wc -l <"$T/table")" -gt 3 ] &&
	sed 1d "$T/table" | awk '{ print $1 }' | sort -c -r -n 2>>"$T/err"
result "calls without durations have no columns of times, and the most come first" $? "$T/table"
rm "$T/program"
mkdir "$T/elsewhere"
mv "$T/whole" "$T/elsewhere/moved"
for command in 'replay --no-pager' 'report --no-pager' 'report --json'; do
	# shellcheck disable=SC2086 # words
	(cd / && HOME=/nonexistent "$BRACE" $command "$T/elsewhere/moved") >"$T/after" 2>"$T/err"
	cmp -s "$T/before.${command// /}" "$T/after" && [ -s "$T/after" ]
	result "moved, program deleted: $command prints the same" $? "$T/err"
done
check "brace info reads it" "$BRACE" info "$T/elsewhere/moved"

# --- cut
"$BRACE" record --mode block -o "$T/whole" -- "$FIXTURES/tails" >/dev/null 2>"$T/err"
size=$(stat -c %s "$T/whole")
told=$(sed -nE 's/^brace: ([0-9,]+) calls.*/\1/p' "$T/err" | tr -d ,)
all=$("$BRACE" report --json "$T/whole" 2>/dev/null | sed -nE 's/.*"calls": ?([0-9]+).*/\1/p' | awk '{ n += $1 } END { print n + 0 }')
[ "${told:-0}" -gt 1000000 ] && [ "$told" -eq "$all" ] &&
	[ "$("$BRACE" info --json "$T/whole" | sed -nE '/"type":"trace"/s/.*"calls": ?([0-9]+).*/\1/p')" -eq "$all" ]
result "record, info and report tell one number of calls, without loops ($told, $all)" $? "$T/err"
"$BRACE" graph -- "$FIXTURES/tails" 2>"$T/err" >/dev/null
[ "$(sed -nE 's/^brace: ([0-9,]+) calls.*/\1/p' "$T/err" | tr -d ,)" = "$all" ]
result "and so does graph" $? "$T/err"
head -c $((size - 1)) "$T/whole" >"$T/cut"
"$BRACE" recover -o "$T/recovered" "$T/cut" >"$T/err" 2>&1
[ "$("$BRACE" info --json "$T/recovered" | sed -nE '/"type":"trace"/s/.*"calls": ?([0-9]+).*/\1/p')" = "$all" ]
result "and what recover writes" $? "$T/err"
before=0
for percent in 1 10 30 50 70 90 99; do
	head -c $((size * percent / 100)) "$T/whole" >"$T/cut"
	"$BRACE" report --json "$T/cut" >"$T/json" 2>"$T/err"
	status=$?
	calls=$(sed -nE 's/.*"calls": ?([0-9]+).*/\1/p' "$T/json" | awk '{ n += $1 } END { print n + 0 }')
	[ "$calls" -ge "$before" ] && [ "$calls" -le "$all" ] && { [ $status -eq 0 ] || [ "$percent" -lt 10 ]; }
	result "cut at $percent %: reads up to there ($calls of $all calls)" $? "$T/err"
	before=$calls
	grep -q . "$T/err"
	result "cut at $percent %: says that it was cut" $?
	check "cut at $percent %: replays without a crash" sh -c "'$BRACE' replay --no-pager '$T/cut' >/dev/null; [ \$? -lt 126 ]"
done
[ "$before" -gt $((all / 2)) ]
result "most of the calls are in 99 % of the file" $?
head -c $((size - 1)) "$T/whole" >"$T/cut"
check "one byte short: still reads" "$BRACE" report "$T/cut"

# --- damaged
for i in $(seq 40); do
	/usr/bin/python3 - "$T/whole" "$T/damaged" "$i" <<'END'
import random, sys
data = bytearray(open(sys.argv[1], "rb").read())
rnd = random.Random(int(sys.argv[3]))
for _ in range(rnd.choice((1, 5, 200))):
    data[rnd.randrange(min(len(data), rnd.choice((200, 4000, len(data)))))] ^= 1 << rnd.randrange(8)
open(sys.argv[2], "wb").write(data)
END
	for command in report replay info; do
		timeout 60 "$BRACE" $command "$T/damaged" </dev/null >/dev/null 2>"$T/err"
		status=$?
		[ $status -le 125 ] && [ $status -ne 124 ] || echo "damage $i: $command: $status"
	done
done >"$T/crashes"
[ ! -s "$T/crashes" ]
result "120 readings of damaged files: no crash, none endless" $? "$T/crashes"

# --- the tracer is killed: the program goes on, the file reads up to there
survives() { # MODE
	rm -f "$T/trace" "$T/out"
	"$BRACE" record --mode "$1" -b 256 -o "$T/trace" -- lua5.4 -e "$busy" >"$T/out" 2>"$T/err" &
	local brace=$!
	until [ "$(stat -c %s "$T/trace" 2>/dev/null || stat -c %s "$T"/trace?* 2>/dev/null || echo 0)" -gt 100000 ] || ! kill -0 $brace 2>/dev/null; do
		sleep 0.01
	done
	kill -KILL $brace 2>/dev/null
	wait $brace 2>/dev/null
	result "$1: the tracer was killed at work" $(($? != 137)) "$T/err"
	until_is grep -q "done" "$T/out"
	cmp -s "$T/out" "$T/busy.out"
	result "$1: the program went on and came to its end" $? "$T/out"
	file=$(find "$T" -maxdepth 1 -name "trace*" | head -n 1)
	check "$1: what the killed tracer had written reads" "$BRACE" report --json "$file"
}
busy='local n = 0 for i = 1, 6000000 do n = n + math.floor(i / 3) end print("done", n)'
if command -v lua5.4 >/dev/null; then
	lua5.4 -e "$busy" >"$T/busy.out"
	survives stream
	survives block
fi

# --- Ctrl-C: both get it, the file is whole
env --default-signal=INT,QUIT setsid "$BRACE" record --mode block -o "$T/trace" -- \
	/usr/bin/python3 -c 'import time; print("up", flush=True); time.sleep(60)' >"$T/out" 2>"$T/err" &
brace=$!
is_up() { grep -q up "$T/out" || ! kill -0 $brace 2>/dev/null; }
until_is is_up
kill -INT -- -$brace
wait $brace
status=$?
[ $status -eq 130 ]
result "Ctrl-C: brace ends as the program did (status $status)" $? "$T/err"
grep -q KeyboardInterrupt "$T/err"
result "Ctrl-C: the program got the signal" $? "$T/err"
check "Ctrl-C: the file is whole" sh -c "'$BRACE' report --json '$T/trace' >/dev/null 2>'$T/x' && [ ! -s '$T/x' ]"

# --- two at once
"$BRACE" record --mode block -o "$T/one" -- "$FIXTURES/tails" >/dev/null 2>&1 &
one=$!
"$BRACE" record --mode block -o "$T/two" -- "$FIXTURES/tails" >/dev/null 2>&1
wait $one
for trace in one two; do
	rm -f "$T/json"
	mv "$T/$trace" "$T/trace"
	calls_are ping 500001
done
finish

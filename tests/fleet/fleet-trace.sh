#!/bin/bash
# `brace push --trace`, `brace fleet fetch` and `brace fleet prune` with two real ClickHouse servers: a file comes back byte for byte,
# also when its server was killed while it was sent; old runs go from every table, and no other.
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
cat >"$T/program.c" <<'C'
#define ONE(n) __attribute__((noinline, noclone)) int f##n(int k) { __asm__ volatile("nop"); return k + n; }
#define FOUR(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3)
#define NAMES(n) f##n##0, f##n##1, f##n##2, f##n##3,
FOUR(1) FOUR(2) FOUR(3) FOUR(4) FOUR(5) FOUR(6) FOUR(7) FOUR(8)
int (*const all[32])(int) = { NAMES(1) NAMES(2) NAMES(3) NAMES(4) NAMES(5) NAMES(6) NAMES(7) NAMES(8) };
int main(int c, char **v)
{
	unsigned x = 1, s = 0; // an order that no compressor foresees
	for (int i = 0; i < (c > 1 ? 6000000 : 100); i++) s += all[(x = x * 1664525 + 1013904223) >> 27](i);
	return s == 1;
}
C
cc -O1 -o "$T/program" "$T/program.c"
record() { # NAME ARGUMENT...
	timeout -k 5 $((LIMIT * 3)) "$BRACE" record -q --mode block -o "$T/$1" -- "$T/program" "${@:2}" >"$T/out" 2>"$T/err" </dev/null
}
record small
record large many
push() { # ARGUMENT...: leaves err and STATUS
	timeout -k 5 $((LIMIT * 3)) "$BRACE" push "$@" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
}
fleet() { # ARGUMENT...: leaves rows, err and STATUS
	timeout -k 5 "$LIMIT" "$BRACE" fleet "$@" --to "$TO" >"$T/rows" 2>"$T/err" </dev/null
	STATUS=$?
}
says() { [ "$STATUS" != 0 ] && grep -qF -- "$1" "$T/err"; } # TEXT
run_of() { grep -o 'run [0-9a-f]\{16\}' "$T/err" | head -n 1 | cut -d' ' -f2; }
number() { printf '%d' "0x$1"; } # RUN: as the tables have it
server_of() { if [ $((16#$1 % 2)) = 0 ]; then echo a; else echo b; fi; } # RUN

# --- a file and back --------------------------------------------------------------------------------

"$BRACE" push --create --to "$TO"
push "$T/small" --to "$TO" --calls --label kept=yes
small=$(run_of)
fleet fetch "$small" -o "$T/back"
check_that 'a run whose file was not sent has none' says "no server has a trace file of run $small"
check_that 'and no file is made' [ ! -e "$T/back" ]
push "$T/small" --to "$TO" --calls --trace --label kept=yes
check_that 'the file is sent to the run that is there' [ "$STATUS$(run_of)" = "0$small" ]
check_that 'its sums and calls are not sent again' grep -q 'and the file (2 of 3 batches were there)' "$T/err"
fleet fetch "$small" -o "$T/back"
check 'it comes back byte for byte' cmp "$T/small" "$T/back"
check_that 'and is a trace' "$BRACE" info "$T/back"

size=$(stat -c %s "$T/large")
parts=$(((size + (4 << 20) - 1) / (4 << 20)))
check_that 'a large file has several parts' [ "$parts" -ge 2 ]
push "$T/large" --to "$TO" --trace --verify
large=$(run_of)
victim=$(server_of "$large")
sent() { sql "$victim" "SELECT count() FROM brace.traces WHERE run = $(number "$large")"; }
some_came() { [ "$(sent)" -ge 1 ] 2>/dev/null; }
timeout -k 5 $((LIMIT * 3)) "$BRACE" push "$T/large" --to "$TO" --trace --retry 100s >"$T/out" 2>"$T/push.err" </dev/null &
pusher=$!
until_is some_came
kill_server "$victim"
start_server "$victim"
wait $pusher
result 'a push ends well although its server was killed while parts came' $? "$T/push.err"
check_that 'each part is there once' [ "$(sent)" = "$parts" ]
fleet fetch "$large" -o "$T/back"
check 'the large file comes back byte for byte' cmp "$T/large" "$T/back"
push "$T/large" --to "$TO" --trace
check_that 'pushed again, nothing is there twice' [ "$STATUS$(sent)" = "0$parts" ]

# --- what is not whole is told ----------------------------------------------------------------------

gone() { [ "$(sent)" = $((parts - 1)) ]; }
sql "$victim" "ALTER TABLE brace.traces DELETE WHERE run = $(number "$large") AND batch = 0"
until_is gone
fleet fetch "$large" -o "$T/cut"
check_that 'a file of which a part lacks is told' says "$((parts - 1)) of $parts parts of the trace file are at"
check_that 'and not made' [ ! -e "$T/cut" ]
push "$T/large" --to "$TO" --trace --verify
check_that '--verify tells, too' [ "$STATUS" = 1 ]
push "$T/large" --to "$TO" --trace
fleet fetch "$large" -o "$T/back"
check 'the same push sends the part' cmp "$T/large" "$T/back"
sql "$victim" "INSERT INTO brace.traces SELECT day, run + 1, batch, 1, size, hash, concat('x', bytes) FROM brace.traces WHERE run = $(number "$large") AND batch = 0"
fleet fetch "$(printf '%016x' $((16#$large + 1)))" -o "$T/damaged"
check_that 'bytes that are not those that were sent are told' says 'part 0 of the trace is damaged'
check_that 'and not kept' [ ! -e "$T/damaged" ]

refused() { # TEXT COMMAND...
	timeout -k 5 "$LIMIT" "$BRACE" "${@:2}" --to "$TO" >"$T/out" 2>"$T/err" </dev/null
	[ $? = 125 ] && grep -qF -- "$1" "$T/err"
	result "refused: ${*:2}: $1" $? "$T/err"
}
refused 'sends the whole file' push "$T/small" --trace -l f10
refused 'leave --no-command out' push "$T/small" --trace --no-command
refused 'no FILE, part, label' push --spooled --trace
refused 'wants a name for the file' fleet fetch "$small"
refused 'is no run, 16 digits' fleet fetch latest -o "$T/x"
refused 'wants a run' fleet fetch -o "$T/x"

# --- old runs go ------------------------------------------------------------------------------------

# A run that is 40 days older, of the same calls, on each server: what a push had sent then.
age=$((40 * 86400))
older() { # SERVER RUN NUMBER
	sql "$1" "INSERT INTO brace.runs SELECT $3, day - 40, begin - ${age}000000000, 'old', pid, command, labels, version, calls, lost, threshold, minute_rows, call_rows
		FROM brace.runs WHERE run = $(number "$2")"
	sql "$1" "INSERT INTO brace.minutes SELECT day - 40, minute - $age, $3, batch, fn, calls, timed, durations, total, self, least, most, bucket, count
		FROM brace.minutes WHERE run = $(number "$2")"
	sql "$1" "INSERT INTO brace.calls SELECT day - 40, $3, batch, pid, tid, begin - ${age}000000000, duration, self, depth, fn FROM brace.calls WHERE run = $(number "$2")"
	sql "$1" "INSERT INTO brace.traces SELECT day - 40, $3, batch, parts, size, hash, bytes FROM brace.traces WHERE run = $(number "$2")"
}
counts() { # WHERE: rows of each table, of both servers; a run that was sent again has one row, merged or not yet
	for one in a b; do
		for table in 'runs FINAL' minutes calls traces; do
			sql "$one" "SELECT '${table% *}', count() FROM brace.$table WHERE $1"
		done
	done
}
older "$(server_of "$small")" "$small" 5
older "$victim" "$large" 6
counts 'run NOT IN (5, 6)' >"$T/kept"
counts 'run IN (5, 6)' >"$T/old"
check_that 'there are old runs in every table' [ "$(awk '$2 > 0 { print $1 }' "$T/old" | sort -u | wc -l)" = 4 ]
refused 'wants a limit' fleet prune
refused '--older TIME, not --since' fleet prune --older 30d --since 30d
refused 'one word too many' fleet prune --older 30d now
refused '--older and -n are of' fleet top --older 30d
fleet prune --older 30d -n --csv
check_that '-n lists the runs that would go' [ "$(tail -n +2 "$T/rows" | cut -d, -f1,2 | sort | tr '\n' ' ')" = '0000000000000005,old 0000000000000006,old ' ]
check_that 'and says how many' grep -q '^brace: 2 runs would go$' "$T/err"
counts 1 >"$T/after"
check 'nothing goes by it' cmp <(cat "$T/kept" "$T/old" | awk '{ n[NR > 8 ? NR - 8 : NR] += $2 } END { for (i = 1; i <= 8; i++) print n[i] }') <(cut -f2 "$T/after")
fleet prune --older 30d --label kept=no
check_that 'a label that no old run has chooses none' grep -q '^brace: 0 runs are gone$' "$T/err"
fleet prune --older 50d
check_that 'runs that are not so old stay' grep -q '^brace: 0 runs are gone$' "$T/err"
fleet prune --older 30d
check_that 'prune says how many runs are gone' grep -q '^brace: 2 runs are gone$' "$T/err"
counts 'run IN (5, 6)' >"$T/old"
check_that 'they are gone from every table' [ "$(awk '{ n += $2 } END { print NR, n }' "$T/old")" = '8 0' ]
counts 1 >"$T/after"
check 'all others are there' cmp "$T/kept" "$T/after"
fleet fetch "$large" -o "$T/back"
check 'with their files' cmp "$T/large" "$T/back"
printf 'reader:r\n' >"$T/reader"
chmod 600 "$T/reader"
older "$(server_of "$small")" "$small" 5
fleet prune --older 30d --auth "$T/reader"
check_that 'a user who may only read deletes nothing' says 'may only read'
kill_server a
fleet prune --older 30d
check_that 'of two servers one answers, and that is said' grep -q '1 of 2 servers answered' "$T/err"
finish

#!/bin/bash
# brace record --compress: smaller files with the same records, which every command reads as any other;
# beside --max-size, --rotate and --snapshot-on; cut files; the levels that there are not.
. "$(dirname "$0")/lib.sh"
cat >"$T/calls.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define STEP(name, by)                                        \
	__attribute__((noinline)) static unsigned name(unsigned n) \
	{                                                     \
		__asm__ volatile("" : "+r"(n));               \
		return n * by + n % 7;                        \
	}
STEP(a, 3) STEP(b, 5) STEP(c, 7) STEP(d, 11)
static unsigned (*const steps[])(unsigned) = { a, b, c, d };
__attribute__((noinline)) static unsigned long turn(unsigned i)
{
	unsigned long sum = 0;
	for (unsigned k = 0; k < 30; k++)
		sum += steps[(i >> k % 8 ^ k) & 3](i);
	return sum;
}
int main(int argc, char **argv)
{
	unsigned long sum = 0;
	for (unsigned i = 0; i < 20000; i++)
		sum += turn(i);
	for (unsigned i = 0; argc > 1 && access(argv[1], F_OK) && i < 60000; i++)
		usleep(1000);
	printf("%lu\n", sum);
	return 7;
}
END
cc -O1 -o "$T/calls" "$T/calls.c" 2>"$T/err" || { not_ok "the program is built"; diag "$T/err"; finish; }
"$T/calls" >"$T/plain"
only=(-l '[a-d]' -l turn -l main)
field() { "$BRACE" info "$2" | sed -nE "s/^$1 +([0-9]+)\$/\1/p"; }
sum() { # FIELD FILE...
	local all=0 file
	for file in "${@:2}"; do all=$((all + $(field "$1" "$file"))); done
	echo $all
}
of() { "$BRACE" report --json "$1" | sed -nE 's/.*"name":"([a-d]|turn|main)".*"calls":([0-9]+).*/\1 \2/p' | sort; }
bytes() { stat -c %s "$1"; }

for level in 1 6 12; do
	"$BRACE" record -q --mode block --compress $level "${only[@]}" -o "$T/at$level" -- "$T/calls" >"$T/out" 2>"$T/err"
	[ $? -eq 7 ] && cmp -s "$T/out" "$T/plain"
	result "level $level: the program computes and ends as untraced" $? "$T/err"
	of "$T/at$level" >"$T/calls$level"
	[ "$(awk '$1 != "turn" && $1 != "main" { n += $2 } END { print n }' "$T/calls$level")" = 600000 ] &&
		[ "$(field lost "$T/at$level")" = 0 ]
	result "level $level: report has all calls" $? "$T/calls$level"
	"$BRACE" replay "$T/at$level" 2>"$T/err" | grep -c ' turn() {$' >"$T/turns"
	[ "$(cat "$T/turns")" = 20000 ] && [ ! -s "$T/err" ]
	result "level $level: so has replay" $? "$T/turns"
done
check_that "level 6 counts the calls that level 1 does" cmp "$T/calls1" "$T/calls6"
check_that "so does level 12" cmp "$T/calls1" "$T/calls12"
[ "$(bytes "$T/at12")" -lt "$(bytes "$T/at1")" ]
status=$?
result "level 12 takes less room ($(bytes "$T/at12") bytes, $(bytes "$T/at1"))" "$status"
check_that "info has the option" grep -q -- '--compress 12' <("$BRACE" info "$T/at12")

# A file that was cut: what is there is read, and the cut is told.
for part in 1 3 5 7; do
	head -c $(($(bytes "$T/at12") * part / 8)) "$T/at12" >"$T/cut"
	of "$T/cut" >"$T/cutcalls" 2>/dev/null
	awk -v part=$part '$1 ~ /^[a-d]$/ { n += $2 } END { exit !(n < 600000 && (part < 5 || n > 0)) }' "$T/cutcalls" &&
		"$BRACE" info "$T/cut" >"$T/out" 2>&1 && grep -q 'ends early\|was cut\|not whole' "$T/out"
	result "$part eighths of a file are read, and told" $? "$T/out"
done

# --max-size
"$BRACE" record --mode block --compress 9 --max-size 64K "${only[@]}" -o "$T/small" -- "$T/calls" >"$T/out" 2>"$T/err"
[ $? -eq 7 ] && [ "$(bytes "$T/small")" -le 65536 ]
status=$?
result "--max-size: the file has $(bytes "$T/small") bytes" "$status" "$T/err"
kept=$(field records "$T/small") lost=$(field lost "$T/small")
[ "$kept" -gt 0 ] && [ "$lost" -gt 0 ] && [ $((kept + lost)) = "$(field records "$T/at1")" ]
result "--max-size: kept + lost = produced ($kept + $lost)" $? "$T/err"

# --rotate and --keep
"$BRACE" record -q --mode block --compress 9 --rotate 64K "${only[@]}" -o "$T/many" -- "$T/calls" >"$T/out" 2>"$T/err"
[ $? -eq 7 ] && [ -e "$T/many.1" ] && [ "$(sum records "$T"/many*)" = "$(field records "$T/at1")" ]
status=$?
result "--rotate: $(find "$T" -name 'many*' | wc -l) files have all records" "$status" "$T/err"
for file in "$T"/many*; do of "$file"; done | awk '{ n[$1] += $2 } END { for (f in n) print f, n[f] }' | sort >"$T/parts"
check_that "--rotate: each function was called as often as in one file" cmp "$T/parts" "$T/calls1"

# The flight recorder
"$BRACE" record --snapshot-on SIGUSR1 --compress 9 "${only[@]}" -o "$T/flight" -- "$T/calls" "$T/go" >"$T/out" 2>"$T/err" &
brace=$!
until_is pgrep -P $brace >"$T/log" # the handler is there before the program
kill -USR1 $brace
until_is [ -e "$T/flight.1" ]
result "--snapshot-on: a snapshot is written" $? "$T/err"
touch "$T/go"
wait $brace
check_that "--snapshot-on: the program ends as untraced" [ $? -eq 7 ]
of "$T/flight" >"$T/flightcalls"
check_that "--snapshot-on: the last file has all calls" cmp "$T/flightcalls" "$T/calls1"

for wrong in 0 20 -1 x 9x ''; do
	"$BRACE" record --compress="$wrong" -o "$T/none" -- "$T/calls" >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && [ ! -s "$T/out" ] && [ ! -e "$T/none" ] && grep -q 'a level' "$T/err"
	result "--compress='$wrong' is refused" $? "$T/err"
done
finish

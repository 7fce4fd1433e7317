#!/bin/bash
# brace record --snapshot-on: the flight recorder. A call that lasts too long, one that does not
# return, and a signal each have the newest records written, with those calls in them; what is
# written and what newer records replaced is together what the program produced.
. "$(dirname "$0")/lib.sh"
cat >"$T/stalls.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE static unsigned quick(unsigned n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
NOINLINE static unsigned handle(unsigned n, unsigned us)
{
	for (unsigned i = 0; i < 100; i++)
		n = quick(n);
	if (us)
		usleep(us);
	return n;
}
NOINLINE static int waits_for(const char *path) { for (int i = 0; access(path, F_OK) && i < 60000; i++) usleep(1000); return access(path, F_OK); }
int main(int argc, char **argv)
{
	unsigned n = 1;
	int bad = 0;
	for (unsigned i = 0; i < 500; i++)
		n = handle(n, 0);
	if (argc > 2)
		bad = waits_for(argv[2]);
	n = handle(n, (unsigned)atoi(argv[1]));
	for (unsigned i = 0; i < 500; i++)
		n = handle(n, 0);
	printf("%u\n", n);
	return bad ? 9 : 7;
}
END
cc -O1 -o "$T/stalls" "$T/stalls.c" 2>"$T/err" || { not_ok "the program is built"; diag "$T/err"; finish; }
"$T/stalls" 0 >"$T/plain"
of() { "$BRACE" report --json "$2" | sed -nE 's/.*"name":"'"$1"'".*"calls":([0-9]+).*/\1/p'; }
field() { "$BRACE" info "$2" | sed -nE "s/^$1 +([0-9]+)\$/\1/p"; }
only=(-l quick -l handle -l waits_for -l main)

# A call that is over its limit when it returns, once among a thousand.
"$BRACE" record --snapshot-on 'handle > 1s' "${only[@]}" -o "$T/slow" -- "$T/stalls" 2000000 >"$T/out" 2>"$T/err"
[ $? -eq 7 ] && cmp -s "$T/out" "$T/plain"
result "the program computes and ends as untraced" $? "$T/err"
[ -e "$T/slow.1" ] && [ ! -e "$T/slow.2" ] && [ -e "$T/slow" ]
result "one snapshot, and the trace at the end" $? "$T/err"
grep -qE "^brace: $T/slow.1 written: handle lasted [0-9]+\.[0-9]+ ms( so far)?, thread [0-9]+\$" "$T/err" && grep -q '^brace: 1 snapshot$' "$T/err"
result "brace tells why" $? "$T/err"
check_that "so does info" grep -qE 'written because handle lasted [0-9.]+ ms( and had not returned)? \(thread [0-9]+\)$' <("$BRACE" info "$T/slow.1")
check_that "the slow call and those before it are there: $(of handle "$T/slow.1")" [ "$(of handle "$T/slow.1")" -ge 501 ]
check_that "all of the program is in the last file" [ "$(of handle "$T/slow") $(of quick "$T/slow") $(of main "$T/slow")" = "1001 100100 1" ]

# A call that has not returned: it waits for the snapshot itself.
"$BRACE" record --snapshot-on 'waits_for > 50ms' "${only[@]}" -o "$T/hung" -- "$T/stalls" 0 "$T/hung.1" >"$T/out" 2>"$T/err"
[ $? -eq 7 ] && [ -e "$T/hung.1" ]
result "a call that does not return is noticed" $? "$T/err"
check_that "it is open there" grep -q 'written because waits_for lasted .* and had not returned' <("$BRACE" info "$T/hung.1")
check_that "with all calls before it" [ "$(of handle "$T/hung.1") $(of quick "$T/hung.1") $(of waits_for "$T/hung.1")" = "500 50000 1" ]

# A signal.
"$BRACE" record --snapshot-on SIGUSR1 "${only[@]}" -o "$T/signal" -- "$T/stalls" 0 "$T/go" >"$T/out" 2>"$T/err" &
brace=$!
until_is pgrep -P $brace >"$T/log" # the handler is there before the program
kill -USR1 $brace
until_is [ -e "$T/signal.1" ]
result "SIGUSR1 has a snapshot written" $? "$T/err"
touch "$T/go"
wait $brace
check_that "the program ends as untraced" [ $? -eq 7 ]
check_that "info tells the signal" grep -q 'written on SIGUSR1$' <("$BRACE" info "$T/signal.1")

# A small memory: the newest, and a count of the others.
"$BRACE" record -q "${only[@]}" --mode block -o "$T/whole" -- "$T/stalls" 0 >"$T/out" 2>"$T/err"
"$BRACE" record --snapshot-on 'handle > 1h' -b 128K "${only[@]}" -o "$T/small" -- "$T/stalls" 0 >"$T/out" 2>"$T/err"
gone=$("$BRACE" info "$T/small" | sed -nE 's/^note +([0-9]+) older records are not in it.*/\1/p')
kept=$(field records "$T/small") lost=$(field lost "$T/small") all=$(field records "$T/whole")
[ "${gone:-0}" -gt 0 ] && [ "$kept" -gt 0 ] && [ $((kept + gone + lost)) = "$all" ]
result "kept + replaced + lost = produced ($kept + ${gone:-?} + $lost, $all)" $? "$T/err"
check_that "by thread, too" grep -qE ", $kept records, $lost lost\$" <("$BRACE" info "$T/small")

# Many: the newest are kept.
"$BRACE" record --snapshot-on 'handle > 1ns' --keep 2 -b 1M "${only[@]}" -o "$T/many" -- "$T/stalls" 300000 >"$T/out" 2>"$T/err"
n=$(find "$T" -name 'many.*' | wc -l)
[ "$n" -ge 1 ] && [ "$n" -le 2 ]
result "--keep 2: $n files" $? "$T/err"

refuses() { # SENTENCE OPTION...
	"$BRACE" record "${@:2}" -o "$T/none" -- "$T/stalls" 0 >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && [ ! -s "$T/out" ] && [ ! -e "$T/none" ] && grep -q -- "$1" "$T/err"
	result "${*:2}: $1" $? "$T/err"
}
refuses "a snapshot is taken on" --snapshot-on handle
refuses "a snapshot is taken on" --snapshot-on '> 10ms'
refuses "a snapshot is taken on" --snapshot-on SIGSEGV
refuses "ns, us, ms or s" --snapshot-on 'handle > soon'
refuses "longer than 0" --snapshot-on 'handle > 0ms'
refuses "not with --rotate" --snapshot-on 'handle > 1ms' --rotate 1M
refuses "not with --mode" --snapshot-on 'handle > 1ms' --mode block
"$BRACE" record --snapshot-on 'nosuch > 1ms' "${only[@]}" -o "$T/typo" -- "$T/stalls" 0 >"$T/out" 2>"$T/err"
check_that "a function that nobody traces is told" grep -q 'no function of that name was traced' "$T/err"
finish

#!/bin/bash
# brace record --rotate and --keep: files of a size or a time, each a whole trace; what all files have
# and what was removed with some of them is what the program produced, by one file that has all.
. "$(dirname "$0")/lib.sh"
cat >"$T/calls.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include "steps.h"
int main(void)
{
	pthread_t thread;
	void *sum;
	if (pthread_create(&thread, NULL, work, (void *)300000))
		return 1;
	work((void *)400000);
	if (pthread_join(thread, &sum))
		return 1;
	printf("%lu\n", (unsigned long)sum);
	return 7;
}
END
cc -O1 -pthread -I "$(dirname "$0")/../targets" -o "$T/calls" "$T/calls.c" 2>"$T/err" || { not_ok "the program is built"; diag "$T/err"; finish; }
"$T/calls" >"$T/plain"
field() { "$BRACE" info "$2" | sed -nE "s/^$1 +([0-9]+)\$/\1/p"; }
sum() { # FIELD FILE...
	local all=0 file
	for file in "${@:2}"; do all=$((all + $(field "$1" "$file"))); done
	echo $all
}
of() { "$BRACE" report --json "$@" | sed -nE 's/.*"name":"([a-h]|work|main)".*"calls":([0-9]+).*/\1 \2/p'; }

"$BRACE" record -q --mode block -l '[a-h]' -l work -l main -o "$T/whole" -- "$T/calls" >/dev/null 2>"$T/err"
all=$(field records "$T/whole")
[ "${all:-0}" -gt 1000000 ] && [ "$(field lost "$T/whole")" = 0 ]
result "one file has all" $? "$T/err"

"$BRACE" record --mode block --rotate 128K -l '[a-h]' -l work -l main -o "$T/many" -- "$T/calls" >"$T/out" 2>"$T/err"
[ $? -eq 7 ] && cmp -s "$T/out" "$T/plain"
result "the program computes and ends as untraced" $? "$T/err"
n=$(find "$T" -name 'many*' | wc -l)
[ "$n" -ge 3 ] && [ -e "$T/many" ] && [ -e "$T/many.1" ] && [ -e "$T/many.2" ]
result "$n files" $? "$T/err"
grep -q "^brace: the trace is in $n files, $T/many and $T/many.N; " "$T/err"
result "brace tells how many" $? "$T/err"
[ "$(find "$T" -name 'many*' -size +300k | wc -l)" = 0 ]
result "none is much larger than was asked for" $? <(ls -l "$T")
[ "$(sum records "$T"/many*)" = "$all" ] && [ "$(sum lost "$T"/many*)" = 0 ]
result "the files together have all records" $?
for file in "$T"/many*; do of "$file"; done | awk '{ n[$1] += $2 } END { for (f in n) print f, n[f] }' | sort >"$T/parts"
of "$T/whole" | sort >"$T/one"
check_that "each function was called as often as in one file" cmp "$T/parts" "$T/one"
for file in "$T"/many*; do
	"$BRACE" replay "$file" >"$T/graph" 2>"$T/said" && [ -s "$T/graph" ] && [ ! -s "$T/said" ] || echo "$file"
done >"$T/unread"
check_that "replay reads each" test ! -s "$T/unread"
check_that "the first knows of no other" bash -c "! '$BRACE' info '$T/many.1' | grep 'the recording began'"
check_that "the second does" grep -q 'the recording began in 1 file before this one$' <("$BRACE" info "$T/many.2")

"$BRACE" record --mode block --rotate 128K --keep 2 -l '[a-h]' -l work -l main -o "$T/few" -- "$T/calls" >"$T/out" 2>"$T/err"
[ $? -eq 7 ] && [ "$(find "$T" -name 'few*' | wc -l)" = 2 ] && [ ! -e "$T/few.1" ]
result "--keep 2: two files, the newest" $? "$T/err"
tr -d , <"$T/err" >"$T/said"
gone=$(sed -nE 's/^brace: [0-9]+ of [0-9]+ trace files were removed \(--keep\) with ([0-9]+) of [0-9]+ records$/\1/p' "$T/said")
kept=$(sum records "$T"/few*)
[ "${gone:-0}" -gt 0 ] && [ "$kept" -gt 0 ] && [ $((kept + gone)) = "$all" ]
result "kept + removed = produced ($kept + ${gone:-?}, $all)" $? "$T/err"
check_that "the last file says so" grep -qE "removed \(--keep\), with $gone records\$" <("$BRACE" info "$T/few")
check_that "to programs, too" grep -q "\"rotated\".*\"$gone\"" <("$BRACE" info --json "$T/few")

# Calls that repeat take a sixteenth of a byte a word: files are of the size all the same.
cat >"$T/same.c" <<'END'
#include <stdlib.h>
#define N __attribute__((noinline, noclone))
N long inner(long i) { __asm__ volatile("" ::: "memory"); return i + 1; }
N long middle(long i) { return inner(i) + inner(i + 1) + 1; }
N long outer(long i) { return middle(i) + middle(i + 1) + 1; }
int main(void)
{
	long sum = 0;
	for (long i = 0; i < 300000; i++)
		sum += outer(i);
	return sum == 0;
}
END
cc -O1 -o "$T/same" "$T/same.c" 2>"$T/err" &&
	"$BRACE" record -q --mode block --rotate 64K -l inner -l middle -l outer -o "$T/even" -- "$T/same" 2>"$T/err"
result "calls that repeat are recorded" $? "$T/err"
check_that "their files that ended are no smaller than half of what was asked for" \
	[ -e "$T/even.1" -a "$(find "$T" -name 'even.*' -size -32k | wc -l)" = 0 ]

# Losses are of the file in whose time they fall.
"$BRACE" record --mode stream -b 128K --rotate 128K -l '[a-h]' -l work -l main -o "$T/lossy" -- "$T/calls" >"$T/out" 2>"$T/err"
kept=$(sum records "$T"/lossy*) lost=$(sum lost "$T"/lossy*)
[ $((kept + lost)) = "$all" ]
result "kept + lost = produced ($kept + $lost, $all)" $? "$T/err"

# An earlier run's files stay.
cp "$T/many.1" "$T/first" && cp "$T/many" "$T/latest"
"$BRACE" record -q --mode block --rotate 128K --keep 2 -l '[a-h]' -l work -l main -o "$T/many" -- "$T/calls" >"$T/out" 2>"$T/err"
cmp -s "$T/first" "$T/many.1" && cmp -s "$T/latest" "$T/many.old"
result "files of an earlier run stay" $? "$T/err"

# By time: the program goes on until there is a second file.
cat >"$T/waits.c" <<'END'
#include <unistd.h>
__attribute__((noinline)) static int look(const char *path) { __asm__ volatile(""); return access(path, F_OK) + 1; }
int main(int argc, char **argv) { for (unsigned i = 0; !look(argv[argc - 1]) && i < 60000; i++) usleep(1000); return !look(argv[1]); }
END
cc -O1 -o "$T/waits" "$T/waits.c" 2>"$T/err"
"$BRACE" record --rotate 200ms -l look -o "$T/timed" -- "$T/waits" "$T/timed.2" >"$T/out" 2>"$T/err"
[ $? -eq 0 ] && [ -e "$T/timed.2" ] && [ "$(field records "$T/timed.1")" -gt 0 ]
result "--rotate 200ms: files by time" $? "$T/err"

refuses() { # SENTENCE OPTION...
	"$BRACE" record "${@:2}" -- "$T/calls" >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && [ ! -s "$T/out" ] && grep -q -- "$1" "$T/err"
	result "${*:2}: $1" $? "$T/err"
}
refuses 'say whether a size' --rotate 10 -o "$T/none"
refuses 'say whether a size' --rotate 10m -o "$T/none"
refuses 'say whether a size' --rotate much -o "$T/none"
refuses '64K or more' --rotate 1K -o "$T/none"
refuses '100ms or more' --rotate 1us -o "$T/none"
refuses 'a number of files' --rotate 1M --keep 0 -o "$T/none"
refuses "is for files of --rotate" --keep 3 -o "$T/none"
refuses 'exclude each other' --rotate 1M --max-size 1M -o "$T/none"
refuses 'exclude each other' --rotate 1M --mode overwrite -o "$T/none"
refuses 'needs a file of its own' --rotate 1M -o /dev/null
check_that "nothing is left of what was refused" test ! -e "$T/none"
finish

#!/bin/bash
# A trace that is larger than its disk: the program computes and ends as untraced, brace says how
# many records are lost, and the file has an end that says so, too. kept + lost = produced, by a
# file that had room.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
[ "$(id -u)" -eq 0 ] || { echo '1..0 # SKIP only root mounts a small disk'; exit 0; }
mkdir "$T/disk"
mount -t tmpfs -o size=256k none "$T/disk" 2>"$T/err" || { echo "1..0 # SKIP $(head -n 1 "$T/err")"; exit 0; }
ON_EXIT+=("umount -l '$T/disk'")
cat >"$T/calls.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "steps.h"
int main(int argc, char **argv)
{
	pthread_t thread;
	void *sum;
	work((void *)400000);
	if (pthread_create(&thread, NULL, work, (void *)50000) || pthread_join(thread, &sum))
		return 1;
	printf("%lu\n", (unsigned long)sum);
	fflush(stdout);
	if (argc > 1)
		abort();
	return 7;
}
END
cc -O1 -pthread -I "$(dirname "$0")/../targets" -o "$T/calls" "$T/calls.c" 2>"$T/err" || { not_ok "the program is built"; diag "$T/err"; finish; }
"$T/calls" >"$T/plain"
field() { "$BRACE" info "$2" | sed -nE "s/^$1 +([0-9]+)\$/\1/p"; }
threads() { "$BRACE" info --json "$1" | sed -nE 's/.*"type":"thread".*"records":([0-9]+),"lost":([0-9]+).*/\1 \2/p'; }

for mode in block overwrite; do
	"$BRACE" record --mode $mode -b 64M -o "$T/whole" -- "$T/calls" >/dev/null 2>"$T/err"
	all=$(field records "$T/whole")
	[ "$(field lost "$T/whole")" = 0 ]
	result "$mode: a disk with room: nothing is lost" $? "$T/err"
	"$BRACE" record --mode $mode -b 64M -o "$T/disk/trace" -- "$T/calls" >"$T/out" 2>"$T/err"
	[ $? -eq 7 ] && cmp -s "$T/out" "$T/plain"
	result "$mode: a full disk: the program computes and ends as untraced" $? "$T/err"
	kept=$(field records "$T/disk/trace") lost=$(field lost "$T/disk/trace")
	[ "$lost" -gt 0 ] && [ "$kept" -gt 0 ] && [ $((kept + lost)) -eq "$all" ]
	result "$mode: kept + lost = produced ($kept + $lost, $all)" $? "$T/err"
	tr -d , <"$T/err" | grep -q "^brace: cannot write trace file $T/disk/trace: No space left on device: $lost of $all records are lost\$"
	result "$mode: brace says so" $? "$T/err"
	[ "$(threads "$T/disk/trace" | awk '{ print $1 + $2 }')" = "$(threads "$T/whole" | awk '{ print $1 + $2 }')" ]
	result "$mode: by thread" $?
	for command in report replay info; do
		"$BRACE" $command "$T/disk/trace" >"$T/out" 2>"$T/said"
		[ $? -eq 0 ] && [ ! -s "$T/said" ] &&
			grep -q "$lost of $all records .* were lost.*the trace file could not take all: No space left on device" "$T/out"
		result "$mode: $command reads the file, and says so" $? "$T/out"
	done
	"$BRACE" report --json "$T/disk/trace" | grep -q "\"lost\":$lost[,}]"
	result "$mode: report --json has the number" $?
	[ "$("$BRACE" replay "$T/disk/trace" | sed -nE 's/.*\[LOST ([0-9]+) EVENTS\].*/\1/p' | awk '{ n += $1 } END { print n }')" = "$lost" ]
	result "$mode: replay has the losses in their places" $?
	rm "$T/disk/trace"
done

# --- a file that may not be larger, on a disk that has room
"$BRACE" record --mode block --max-size 256K -o "$T/small" -- "$T/calls" >"$T/out" 2>"$T/err"
[ $? -eq 7 ] && cmp -s "$T/out" "$T/plain"
result "--max-size: the program computes and ends as untraced" $? "$T/err"
kept=$(field records "$T/small") lost=$(field lost "$T/small")
[ "$lost" -gt 0 ] && [ "$kept" -gt 0 ] && [ $((kept + lost)) -eq "$(field records "$T/whole")" ]
result "--max-size: kept + lost = produced ($kept + $lost)" $? "$T/err"
size=$(stat -c %s "$T/small")
[ "$size" -le 262144 ] && [ "$size" -gt 131072 ]
result "--max-size: the file has $size bytes" $?
tr -d , <"$T/err" | grep -q "^brace: trace file $T/small may have no more than 262144 bytes: $lost of $((kept + lost)) records are lost\$" &&
	"$BRACE" report "$T/small" 2>&1 | grep -q "$lost of $((kept + lost)) records .* were lost"
result "--max-size: brace and report say so" $? "$T/err"
"$BRACE" record -q --max-size 1G -o "$T/large" -- "$T/calls" >"$T/out" 2>"$T/err"
[ $? -eq 7 ] && [ ! -s "$T/err" ]
result "--max-size: a limit that is not met" $? "$T/err"
for wrong in '--max-size 63' '--max-size x' '--max-size 1M -R traceoff -e a:b'; do
	# shellcheck disable=SC2086 # words
	"$BRACE" record $wrong -o "$T/none" -- "$T/calls" >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && [ ! -e "$T/none" ] && [ ! -s "$T/out" ]
	result "$wrong is refused" $? "$T/err"
done

"$BRACE" record -q -o "$T/disk/trace" -- "$T/calls" abort >/dev/null 2>"$T/err"
[ $? -eq 134 ] && grep -q 'records are lost' "$T/err"
result "a program that dies: so does brace, and a quiet one says it, too" $? "$T/err"
printf x >"$T/disk/rest" && head -c 1M /dev/zero >>"$T/disk/rest" 2>/dev/null
"$BRACE" record -o "$T/disk/other" -- "$T/calls" >"$T/out" 2>"$T/err"
[ $? -eq 125 ] && [ ! -s "$T/out" ]
result "a disk that is full before: nothing is run" $? "$T/err"
finish

#!/bin/bash
# Every reader of a trace says how much was lost, and every figure of it is the same: the total, the
# sum over threads, and what the graph marks. Many runs of a program whose threads are through
# before anything can be taken from them.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
RUNS=8 CALLS=20000 ALL=320000 # records: 8 threads, entry and exit

# figures FILE: total, sum over threads, sum over `[LOST n EVENTS]`, report's, and what was kept.
figures() {
	"$BRACE" info "$1" >"$T/info"
	"$BRACE" replay --no-pager "$1" >"$T/replay"
	"$BRACE" report --json "$1" >"$T/json"
	awk '$1 == "lost" { print $2 }' "$T/info"
	awk '$1 == "thread" { n += $(NF - 1) } END { print n + 0 }' "$T/info"
	awk '$2 == "[LOST" { n += $3 } END { print n + 0 }' "$T/replay"
	sed -n '1s/.*"lost":\([0-9]*\),"lost_by".*/\1/p' "$T/json"
	awk '$1 == "records" { print $2 }' "$T/info"
}

agree=0 lossy=0
for mode in stream overwrite; do
	for ((i = 0; i < RUNS; i++)); do
		record --mode $mode -b 64 -l step -- "$FIXTURES/storm" $CALLS
		figures "$T/trace" >"$T/figures"
		{ read -r total; read -r threads; read -r marked; read -r told; read -r kept; } <"$T/figures"
		lossy=$((lossy + (total > 0)))
		if [ "$total" = "$threads" ] && [ "$total" = "$marked" ] && [ "$total" = "$told" ] && [ $((total + kept)) -eq $ALL ] &&
			[ "$total" = "$(summary_number lost)" ]; then
			agree=$((agree + 1))
		else
			echo "# $mode: total $total, threads $threads, [LOST] $marked, report $told, kept $kept"
		fi
	done
done
[ $agree -eq $((2 * RUNS)) ]
result "total, threads, graph, report and summary agree, and are what is missing ($agree of $((2 * RUNS)) runs)" $?
[ $lossy -ge $RUNS ]
result "and there was something to lose ($lossy runs)" $?

"$BRACE" report --no-pager "$T/trace" >"$T/report"
sed -n 1p "$T/report" | grep -qE "^# $total of $ALL records \([0-9.]+ %\) were lost: counts and times are too low.*--mode block"
result "report begins with it" $? "$T/report"
sed -n '2,9p' "$T/report" | grep -cE '^#   storm-[0-9]+: [0-9]+ of [0-9]+ ' >"$T/check.log"
[ "$(cat "$T/check.log")" -eq "$(awk '$1 == "thread" && $(NF - 1) > 0' "$T/info" | wc -l)" ]
result "and says of which threads" $? "$T/report"
tail -n 12 "$T/replay" | grep -q "^# $total of $ALL records"
result "replay ends with it" $? "$T/replay"
grep -A1 '^lost ' "$T/info" | grep -q -- '--mode block'
result "info says what helps" $? "$T/info"
python3 - "$T/json" <<'P' >"$T/check.log" 2>&1
import json, sys
head = json.loads(open(sys.argv[1]).readline())
assert head["lost"] == sum(t["lost"] for t in head["lost_by"]) > 0, head
assert all(t["tid"] and t["comm"] == "storm" for t in head["lost_by"]), head
P
result "report --json has them by thread" $? "$T/check.log"

record --mode block -b 64 -l step -- "$FIXTURES/storm" $CALLS
"$BRACE" report --no-pager "$T/trace" | grep -q '^#'
[ $? -eq 1 ] && "$BRACE" report --json "$T/trace" | sed -n 1p | grep -q '"lost":0,"lost_by":\[\],'
result "nothing is said where nothing was lost" $?

# --- the graph: its lines and its marks are all -------------------------------------------------
# An exit that is the first record of a thread that was kept has no line.
for mode in stream overwrite; do
	"$BRACE" graph --mode $mode -b 64 -l step -o "$T/graph" -- "$FIXTURES/storm" $CALLS 2>"$T/summary" >/dev/null
	marked=$(awk '$2 == "[LOST" { n += $3 } END { print n + 0 }' "$T/graph")
	shown=$(awk '/step\(\);$/ { n += 2 } /step\(\) \{$/ || /^[^{]*\} *(\/\*.*)?$/ { n++ } END { print n + 0 }' "$T/graph")
	[ "$marked" -gt 0 ] && [ "$marked" = "$(summary_number lost)" ]
	result "graph, mode $mode: what is marked is what the summary says ($marked)" $? "$T/summary"
	[ $((shown + marked)) -le $ALL ] && [ $((shown + marked)) -ge $((ALL - 8)) ]
	result "and with the lines that is all ($shown)" $? "$T/summary"
done

# --- the call in which the program ends: no record comes after it
cat >"$T/leaves.c" <<'C'
#include <unistd.h>
__attribute__((noinline)) void leave(int status) { _exit(status); }
int main(void) { leave(0); }
C
gcc -O1 -o "$T/leaves" "$T/leaves.c" 2>"$T/err" || not_ok "gcc" "$T/err"
for options in "" "-O userstacktrace" "--mode overwrite"; do
	# shellcheck disable=SC2086 # words of options
	"$BRACE" graph $options -l leave -o "$T/graph" -- "$T/leaves" 2>"$T/summary"
	grep -q ' leave() {$' "$T/graph"
	result "the last call has its line${options:+, $options}" $? "$T/graph"
done

# --- behind a tree: a reader that comes when the program has ended -------------------------------
"$BRACE" graph -t function -b 64 -l step -e task:task_newtask -R 'traceoff if clone_flags == 1' -- "$FIXTURES/storm" $CALLS 2>"$T/summary" | {
	read -r
	while pgrep -f "^$FIXTURES/storm $CALLS" >/dev/null; do read -rt 0.01 <> <(:); done
	cat
} >"$T/graph"
lost=$(summary_number lost)
marked=$(awk '/^CPU:[0-9]+ \[LOST / { n += $3 } END { print n + 0 }' "$T/graph")
[ "${lost:-0}" -gt 0 ] && [ "$lost" -eq "$marked" ]
result "what the buffer dropped is in the graph and in the summary ($marked, ${lost:-none})" $? "$T/summary"
# a record for each call, and for each of the 8 threads that were made
[ $(($(grep -cE 'step|task_newtask' "$T/graph") + marked)) -eq $((ALL / 2 + 8)) ]
result "and with the lines that is all" $? "$T/summary"

# --- a thread that ends while it loses: told when it is gone, before what others do afterwards -----
cat >"$T/ends.c" <<'C'
#include <pthread.h>
#include <stdio.h>
__attribute__((noinline)) void step(void) { __asm__ volatile(""); }
__attribute__((noinline)) void after(void) { __asm__ volatile(""); }
static void say(const char *what)
{
	puts(what);
	fflush(stdout);
	getchar();
}
static void *flood(void *unused)
{
	step();
	say("began");
	for (int i = 0; i < 6000000; i++) /* 96 MB of records */
		step();
	return unused;
}
int main(void)
{
	pthread_t thread;

	say("ready");
	pthread_create(&thread, NULL, flood, NULL);
	pthread_join(thread, NULL);
	say("joined");
	after();
	say("done");
	return 0;
}
C
gcc -O1 -pthread -o "$T/ends" "$T/ends.c" 2>"$T/err" || not_ok "gcc" "$T/err"
D=$T/tree
mkdir "$D"
mkfifo "$T/to" "$T/from"
"$T/ends" <"$T/to" >"$T/from" &
ENDS=$!
exec {TO}>"$T/to" {FROM}<"$T/from"
goes_on() { # until it says WORD
	echo >&"$TO"
	read -rt "$LIMIT" -u "$FROM" SAID
	[ "$SAID" = "$1" ]
}
read -rt "$LIMIT" -u "$FROM" SAID
if "$BRACE" mount "$D" -p "$ENDS" 2>"$T/err"; then
	mapfile -t SERVER < <(pgrep -f "^$BRACE mount $D") # and its watchdog
	ON_EXIT+=("$BRACE umount --lazy $D" "kill $ENDS" "builtin kill -CONT ${SERVER[*]}")
	printf '%s\n' step after >"$D/set_ftrace_filter"
	echo function_graph >"$D/current_tracer"
	goes_on began
	until_is grep -q step "$D/trace" # the thread has been seen
	builtin kill -STOP "${SERVER[@]}" # nobody takes what it records
	goes_on joined
	builtin kill -CONT "${SERVER[@]}"
	until_is grep -q 'LOST [0-9]* EVENTS' "$D/trace"
	result "a thread that has ended: its losses are in the trace while the program runs" $? "$T/err"
	goes_on done
	until_is grep -q 'after();' "$D/trace"
	awk '/LOST/ { lost = NR } /after\(\);/ { exit !(lost && lost < NR) }' "$D/trace"
	result "and before what others do afterwards" $?
	"$BRACE" umount --lazy "$D"
	echo >&"$TO"
	wait "$ENDS"
	result "the program goes on when the tree is unmounted" $?
else
	skip "a thread that has ended" "$(cat "$T/err")"
fi
finish

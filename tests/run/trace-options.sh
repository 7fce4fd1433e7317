#!/bin/bash
# ftrace's options over a running program, in the mounted tree: what each does to what is recorded
# and printed. The program (tests/targets/kin.c) says who did what.
. "$(dirname "$0")/lib.sh"
ANSWERS=kin
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
mkdir "$D"
# reads NAME FILE LINE...
reads() {
	[ $# -gt 2 ] && printf '%s\n' "${@:3}" >"$T/wanted" || : >"$T/wanted"
	cat "$D/$2" >"$T/got"
	cmp -s "$T/wanted" "$T/got"
	result "$1" $? "$T/got"
}
wanted() { for one; do echo "$one"; done | sort >"$T/wanted"; }
# met NAME TID=N...: the trace has so many events of each of these threads, and of no others.
met() {
	wanted "${@:2}"
	sed -n 's/^ *[^ ]*-\([0-9]*\) .*: met: who=\([0-9]*\) .*/\1 \2/p' "$D/trace" |
		awk '$1 != $2 { print "wrong:", $0 } { n[$2]++ } END { for (t in n) print t "=" n[t] }' | sort >"$T/got"
	diff "$T/wanted" "$T/got" >"$T/differences"
	result "$1" $? "$T/differences"
}
# called NAME TID=N...: the same of calls of leaf.
called() {
	wanted "${@:2}"
	sed -n 's/^ *[^ ]*-\([0-9]*\) .*: leaf <-.*/\1/p' "$D/trace" | awk '{ n[$1]++ } END { for (t in n) print t "=" n[t] }' | sort >"$T/got"
	diff "$T/wanted" "$T/got" >"$T/differences"
	result "$1" $? "$T/differences"
}
on() { taskset -pc "$1" "$PID" >"$T/taskset"; } # the program's main thread, and those it makes, run there
afresh() { echo >"$D/trace"; ALL=(); }
# tell, and what was done is added to ALL.
tells() {
	local line
	for line; do
		tell "$line"
		# shellcheck disable=SC2206 # words
		ALL+=(${SAID#done})
	done
}

need taskset
start_program
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")

# --- event-fork
echo 1 >"$D/events/kin/met/enable"
echo "$PID" >"$D/set_event_pid"
tells 5 t5 o5
met "set_event_pid alone is of one thread" "$PID=5"
echo 1 >"$D/options/event-fork"
afresh
tells 3 t7 t8
met "event-fork: its children, and theirs" "${ALL[@]}"
reads "which have ended, and gone out of the list" set_event_pid "$PID"
tell o9
met "not those of others" "${ALL[@]}"
tells s
STAYS=${SAID#done } STAYS=${STAYS%=1}
printf '%s\n' "$PID" "$STAYS" | sort -n >"$T/wanted"
cmp -s "$T/wanted" "$D/set_event_pid"
result "one that stays stands in the list" $? "$D/set_event_pid"
tell e
reads "until it ends" set_event_pid "$PID"
met "and all of that was recorded" "${ALL[@]}"
! grep -q 'sched_process' "$D/trace"
result "who made whom is not in the trace" $?
echo 1 >"$D/events/sched/sched_process_fork/enable"
afresh
tells t1
[ "$(grep -c ': sched_process_fork: ' "$D/trace")" = 3 ]
result "but for who enables it" $? "$D/trace"
echo 0 >"$D/events/sched/sched_process_fork/enable"
echo 0 >"$D/options/event-fork"
afresh
tell t3
met "off again: only who is listed"
echo >"$D/set_event_pid"
echo "$PID" >"$D/set_event_notrace_pid"
echo 1 >"$D/options/event-fork"
afresh
tell 3
tell t4
tells o6
met "set_event_notrace_pid: not its children" "${ALL[@]}"
echo >"$D/set_event_notrace_pid"
echo 0 >"$D/options/event-fork"

# --- function-fork
echo 0 >"$D/events/enable"
echo leaf >"$D/set_ftrace_filter"
echo function >"$D/current_tracer"
echo "$PID" >"$D/set_ftrace_pid"
afresh
tells 6
tell t7
called "set_ftrace_pid alone is of one thread" "${ALL[@]}"
echo function-fork >"$D/trace_options"
afresh
tells 5 t30 s
tell o8
tell e
called "function-fork: its children, and theirs" "${ALL[@]}"
reads "set_ftrace_pid has lost them again" set_ftrace_pid "$PID"
mkdir "$D/instances/all"
reads "an instance does not inherit it" instances/all/options/function-fork 0
echo nofunction-fork >"$D/trace_options"
echo >"$D/set_ftrace_pid"
rmdir "$D/instances/all"

# --- a listed thread that ends leaves a list that means nobody
tell s
STAYS=${SAID#done } STAYS=${STAYS%=1}
echo "$STAYS" >"$D/set_ftrace_pid"
echo 1 >"$D/options/function-fork"
tell e
afresh
tell 4
called "the last of the list has ended: nobody is left"
reads "and the list is empty" set_ftrace_pid
echo >"$D/set_ftrace_pid"
reads "until it is written" set_ftrace_pid "no pid"
echo 0 >"$D/options/function-fork"
afresh
tells 4
called "then it is everybody" "${ALL[@]}"

# --- record-cmd
echo 0 >"$D/options/record-cmd"
afresh
tell s
STAYS=${SAID#done } STAYS=${STAYS%=1}
grep -q "^ *<\.\.\.>-$STAYS .*: leaf <-" "$D/trace" && ! grep -q "^$STAYS " "$D/saved_cmdlines"
result "record-cmd 0: a new thread has no name" $? "$D/trace"
tell 1
grep -q "^ *kin-$PID .*: leaf <-" "$D/trace"
result "one that was known keeps its own" $? "$D/trace"
echo 1 >"$D/options/record-cmd"
grep -q "^ *kin-$STAYS .*: leaf <-" "$D/trace" && grep -qx "$STAYS kin" "$D/saved_cmdlines"
result "record-cmd 1: it has one" $? "$D/trace"
tell e

# --- pause-on-trace
afresh
tells 3
echo 1 >"$D/options/pause-on-trace"
exec {HELD}<"$D/trace"
exec {AGAIN}<"$D/per_cpu/cpu0/trace"
tell 100
tell t100
reads "pause-on-trace: tracing_on says nothing of it" tracing_on 1
! echo lost 2>/dev/null >"$D/trace_marker"
result "what is written by hand finds no buffer" $?
exec {HELD}<&-
tell 100
exec {AGAIN}<&-
# The kernel tells of a close a moment after it.
until echo again 2>/dev/null >"$D/trace_marker" || [ "$SECONDS" -gt "$LIMIT" ]; do :; done
tells 4
echo 0 >"$D/options/pause-on-trace"
called "it stood still as long as somebody had it open" "$PID=7"
tells 5
called "and 0 is as before" "$PID=12"

# --- markers
echo 0 >"$D/options/markers"
echo no 2>"$T/err" >"$D/trace_marker"
grep -q 'Invalid argument' "$T/err"
result "markers 0: EINVAL" $? "$T/err"
printf 'abcdefgh' 2>"$T/err" >"$D/trace_marker_raw"
grep -q 'Invalid argument' "$T/err" && grep -q 'trace_marker_raw: error: the option markers is off' "$D/error_log"
result "the raw one too, and error_log says why" $? "$D/error_log"
echo 1 >"$D/options/markers"
echo function >"$D/current_tracer"
echo nop >"$D/current_tracer"
afresh
echo "one two" >"$D/trace_marker"
grep -q ' tracing_mark_write: one two$' "$D/trace"
result "markers 1" $? "$D/trace"

# --- copy_trace_marker
writes() { printf '%s' "$1" 2>"$T/err" >"$D/trace_marker"; }
marks() { grep -c "tracing_mark_write: $1\$" "$D/trace" "$D/instances/a/trace" "$D/instances/b/trace" | sed 's/.*://' | tr '\n' ' '; }
mkdir "$D/instances/a" "$D/instances/b"
reads "copy_trace_marker: the top has it" options/copy_trace_marker 1
reads "and nobody else" instances/a/options/copy_trace_marker 0
writes first
echo 1 >"$D/instances/a/options/copy_trace_marker"
writes second
printf '\1\0\0\0abcd' >"$D/trace_marker_raw"
echo own >"$D/instances/a/trace_marker"
[ "$(marks first)" = '1 0 0 ' ] && [ "$(marks second)" = '1 1 0 ' ] && [ "$(marks own)" = '0 1 0 ' ]
result "an instance that has it gets the top's markers" $? "$D/instances/a/trace"
[ "$(grep -c '# 1 buf: 61 62 63 64' "$D/instances/a/trace")" = 1 ]
result "raw ones too" $? "$D/instances/a/trace"
echo 0 >"$D/options/copy_trace_marker"
writes third
[ "$(marks third)" = '0 1 0 ' ]
result "without it the top has none" $? "$D/trace"
echo 0 >"$D/instances/a/tracing_on"
writes fourth
grep -q 'Bad file descriptor' "$T/err"
result "EBADF if all who have it are off" $? "$T/err"
echo 1 >"$D/instances/b/options/copy_trace_marker"
writes fifth && [ "$(marks fifth)" = '0 0 1 ' ]
result "one that is off keeps nothing from the others" $? "$T/err"
rmdir "$D/instances/a" "$D/instances/b"
writes sixth
grep -q 'No such device' "$T/err" && grep -q 'trace_marker: error: no instance takes what is written here' "$D/error_log"
result "ENODEV if nobody has it" $? "$T/err"
echo 1 >"$D/options/copy_trace_marker"
writes seventh
afresh
echo "one two" >"$D/trace_marker"

# --- printk-msg-only
echo 1 >"$D/options/printk-msg-only"
[ "$(grep -v '^#' "$D/trace")" = "one two" ]
result "printk-msg-only: the text alone" $? "$D/trace"
echo notrace_printk >"$D/trace_options"
grep -q ' tracing_mark_write: one two$' "$D/trace"
result "but with trace_printk only, as ftrace has it" $? "$D/trace"
echo trace_printk >"$D/trace_options"
echo 0 >"$D/options/printk-msg-only"

# --- annotate: what one CPU did first is gone
echo 1 >"$D/events/kin/met/enable"
echo 64 >"$D/buffer_size_kb"
mapfile -t CPUS < <(taskset -pc $$ | sed 's/.*: //' | tr , '\n' | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done)
if [ "${#CPUS[@]}" -gt 1 ]; then
	on "${CPUS[0]}"
	tell t20000
	on "${CPUS[1]}"
	tell t50
	[ "$(grep '^#####' "$D/trace")" = "##### CPU ${CPUS[1]} buffer started ####" ] &&
		grep -A1 '^#####' "$D/trace" | tail -n 1 | grep -q "\[0*${CPUS[1]}\].*met: who="
	result "annotate: where the records of the other CPU begin" $? "$D/trace"
	echo 0 >"$D/options/annotate"
	! grep -q '^##### CPU' "$D/trace"
	result "not with 0" $?
	echo 1 >"$D/options/annotate"
	echo >"$D/trace"
	on "${CPUS[0]}"
	tell t5
	on "${CPUS[1]}"
	tell t5
	on "${CPUS[0]},${CPUS[1]}"
	! grep -q '^##### CPU' "$D/trace"
	result "nor of a buffer that has lost nothing" $?
fi

# --- the manual's table has each option once
sed -n '/^## Options/,/^## The session/s/^| \([a-z].*[a-z0-9)]\) |.*/\1/p' "$HERE/../../docs/tree.md" |
	sed 's/ ([^)]*)//g; s/ | .*//; s/, /\n/g' | grep -v '^option$' | sort >"$T/told"
ls "$D/options" | sort >"$T/there"
[ -s "$T/there" ] && diff "$T/told" "$T/there" >"$T/out"
result "docs/tree.md tells of each option" $? "$T/out"

# --- what is kept, what is refused
for o in trace_printk hash-ptr function-trace; do
	echo 0 >"$D/options/$o" && [ "$(cat "$D/options/$o")" = 0 ] && echo 1 >"$D/options/$o"
	result "$o has no object, and is kept" $?
done
for o in display-graph test_nop_accept; do
	echo 1 >"$D/options/$o" && [ "$(cat "$D/options/$o")" = 1 ] && echo 0 >"$D/options/$o"
	result "$o too" $?
done
echo 1 2>"$T/err" >"$D/options/test_nop_refuse"
grep -q 'Invalid argument' "$T/err" && grep -q 'options/test_nop_refuse: error: this option is there to be refused' "$D/error_log"
result "test_nop_refuse" $? "$D/error_log"
echo 0 2>"$T/err" >"$D/options/trace_printk_dest"
grep -q 'Invalid argument' "$T/err" && [ "$(cat "$D/options/trace_printk_dest")" = 1 ]
result "trace_printk_dest is the top's" $? "$T/err"
echo sym-addr >"$D/trace_options"
mkdir "$D/instances/i"
[ "$(cat "$D/instances/i/options/trace_printk_dest" "$D/instances/i/options/sym-addr")" = "0
1" ]
result "an instance inherits the rest" $?
echo 1 >"$D/instances/i/options/trace_printk_dest"
[ "$(cat "$D/instances/i/options/trace_printk_dest" "$D/options/trace_printk_dest")" = "1
0" ]
result "it may take it over" $?
rmdir "$D/instances/i"
reads "and when it goes the top has it again" options/trace_printk_dest 1
echo nosym-addr >"$D/trace_options"

# --- trace_clock
echo 0 >"$D/events/enable"
echo 1 >"$D/events/kin/met/enable"
echo nop >"$D/current_tracer"
times() { sed -n 's/^ *[^ ]*-[0-9]* *\[[0-9]*\] ..... *\([0-9.]*\): met:.*/\1/p' "$D/trace"; }
tell 2
echo counter >"$D/trace_clock"
[ -z "$(times)" ]
result "trace_clock: another one clears the buffer" $? "$D/trace"
tell 3
[ "$(times | tr '\n' ' ')" = '1 2 3 ' ]
result "counter" $? "$D/trace"
# clock NAME NOW SECOND: a record's time is between NOW before and after it, in units of SECOND to a
# second.
clock() {
	local before after
	echo "$1" >"$D/trace_clock"
	before=$($2)
	tell 1
	after=$($2)
	times | awk -v before="$before" -v after="$after" '{ n++; if ($1 < before - 0.02 * '"$3"' || $1 > after + 0.02 * '"$3"') bad = 1 } END { exit n != 1 || bad }'
	result "$1: the time that it is" $? "$D/trace"
}
now() { /usr/bin/python3 -c "import time; print(time.clock_gettime(time.CLOCK_$1))"; }
mono() { now MONOTONIC; }
raw() { now MONOTONIC_RAW; }
boot() { now BOOTTIME; }
tai() { now TAI; }
ticks() { /usr/bin/python3 -c "import time; print(time.clock_gettime(time.CLOCK_MONOTONIC) * 100)"; }
clock mono mono 1
clock mono_raw raw 1
clock boot boot 1
clock tai tai 1
clock uptime ticks 100
echo x86-tsc >"$D/trace_clock"
tell 2
times | awk '{ n++; if ($1 !~ /^[0-9]+$/ || $1 <= last) bad = 1; last = $1 } END { exit n != 2 || bad }'
result "x86-tsc" $? "$D/trace"
grep -qE '^oldest event ts: [0-9]+$' "$D"/per_cpu/cpu*/stats
result "and stats" $? "$D/per_cpu/cpu0/stats"
echo local >"$D/trace_clock"

end_program
[ "$STATUS" -eq 0 ]
result "the program ends as it would" $?
"$BRACE" umount "$D"
D=$T/launched
mkdir "$D"

# --- a launched program: those that it executes are followed too
mkfifo "$T/to" "$T/from"
exec {TO}<>"$T/to" {FROM}<>"$T/from"
"$BRACE" mount "$D" -- "$A" <"$T/to" >"$T/from" 2>"$T/err" &
MOUNT=$!
ON_EXIT+=("$BRACE umount --lazy $D")
until [ -e "$D/tracing_on" ] || ! kill -0 "$MOUNT" 2>/dev/null; do :; done
read -rt "$LIMIT" -u "$FROM" _ _ PID
echo 1 >"$D/options/event-fork"
echo "$PID" >"$D/set_event_pid"
echo 1 >"$D/events/kin/met/enable"
afresh
tells 3 t7 v4 s
tell o5
STAYS=${SAID#done } STAYS=${STAYS%=1}
met "launched: children, and a program that one executes" "${ALL[@]}"
tells e t2
met "and after some have ended" "${ALL[@]}"
reads "whom the list has lost" set_event_pid "$PID"
echo q >"$T/to"
while kill -0 "$PID" 2>/dev/null && [ "$SECONDS" -lt "$LIMIT" ]; do :; done
kill -TERM "$MOUNT" 2>/dev/null
wait "$MOUNT"
finish

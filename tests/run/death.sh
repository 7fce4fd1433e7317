#!/bin/bash
# Nothing lost: programs that die in every way, tracers that die, test points, storms. What must be
# in a file is known from the program's own ledger, which is mapped shared and outlives it
# (tests/targets/ledger.h).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ledger.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
LIMIT=60
SCENARIOS=${SCENARIOS:-600} # for the killer
victim=$FIXTURES/victim
ledger=$T/ledger

deep() { od -An -v -tu8 -w8 -j 24 -N 8 "$ledger" | tr -d ' '; }
begun() { [ -s "$ledger" ] && [ "$(field 12)" = 1 ]; }
has_made() { [ "$(made)" -gt $((before + $1)) ]; } # more than so many calls since `before`

# adds_up NAME FILE RECORDS: kept + lost are so many.
adds_up() {
	local kept lost
	kept=$(figure records "$2")
	lost=$(figure lost "$2")
	[ $((kept + lost)) -eq "$3" ] && [ "$kept" -gt 0 ]
	result "$1: $kept kept and $lost lost are the $3 that were made" $? "$T/summary"
}

# --- the program dies: all it did is in the file
dies() { # WAY STATUS
	local mode
	for mode in stream overwrite block; do
		prepare() { rm -f "$ledger"; }
		record --mode $mode -q -- "$victim" "$ledger" 4 3000 "$1" 7
		[ "$(cat "$T/traced.status")" = "$2" ]
		status=$?
		result "$1, $mode mode: ends by status $2 ($(cat "$T/traced.status"))" $status "$T/traced.err"
		calls_are step "$(made)"
	done
}
dies kill 137
dies abort 134
dies _exit 7
dies fault 139
dies trap 132
dies overflow 139
n=$(json_calls deeper)
# The last entry is in the trace, or its trampoline already found no stack.
[ "$n" -eq "$(deep)" ] || [ "$n" -eq $(($(deep) + 1)) ]
status=$?
result "a stack overflow, $(deep) calls deep, is in the trace ($n)" $status "$T/summary"

# Killed from outside, in the middle of everything: each thread is in one call at most.
for threads in 1 4 16; do
	for mode in block stream; do
		prepare() { rm -f "$ledger"; }
		rm -f "$ledger"
		"$BRACE" record -q --mode $mode -l step -b 256M -o "$T/trace" -- "$victim" "$ledger" $threads 1000000000 \
			>"$T/out" 2>&1 &
		pid=$!
		before=0
		until_is begun && until_is has_made 100000
		kill -9 "$(field 0)"
		wait $pid 2>/dev/null
		n=$(($(figure records "$T/trace") + $(figure lost "$T/trace")))
		[ "$n" -le $((2 * $(made) + threads)) ] && [ "$n" -ge $((2 * ($(made) - threads))) ]
		status=$?
		result "SIGKILL from outside, $threads threads, $mode mode: $n records of $(made) calls" $status
	done
done

# --- the machine's memory killer
memory_group() { # BYTES: a control group with so much memory; prints its directory
	local root=/sys/fs/cgroup group
	if grep -qw memory $root/cgroup.controllers 2>/dev/null; then
		echo +memory >$root/cgroup.subtree_control 2>/dev/null
		group=$root/brace-test.$$
		mkdir $group 2>/dev/null && echo "$1" >$group/memory.max 2>/dev/null || return 1
		echo 0 >$group/memory.swap.max 2>/dev/null
	else
		group=$root/memory/brace-test.$$
		mkdir $group 2>/dev/null && echo "$1" >$group/memory.limit_in_bytes 2>/dev/null || return 1
	fi
	echo $group
}

if group=$(memory_group 50331648); then
	ON_EXIT+=("rmdir $group")
	for mode in stream overwrite block; do
		prepare() { rm -f "$ledger"; }
		# shellcheck disable=SC2016 # for the shell inside
		record --mode $mode -- sh -c 'echo $$ >"$1"; shift; exec "$@"' - "$group/cgroup.procs" \
			"$victim" "$ledger" 4 30000 memory
		[ "$(cat "$T/traced.status")" = 137 ]
		result "the memory killer, $mode mode: ends by SIGKILL" $? "$T/traced.err"
		calls_are step "$(made)"
	done
else
	skip "the memory killer" "no control group with a limit on memory can be made"
fi

# --- the black box
for way in 'fault SEGV' 'abort ABRT' 'trap ILL' 'overflow SEGV'; do
	prepare() { rm -f "$ledger"; }
	record --mode overwrite --last 5 -- "$victim" "$ledger" 3 50000 "${way% *}"
	grep -q "^brace: SIG${way#* } (" "$T/summary"
	result "${way% *}: the summary names SIG${way#* }" $? "$T/summary"
	grep -m 1 '^brace: thread' "$T/summary" | grep -q "thread $(field 16) .*most likely"
	result "${way% *}: the thread that was hit comes first" $? "$T/summary"
	[ "$(grep -c '^brace: thread' "$T/summary")" -eq 3 ] && grep -q "open since then *by_${way% *}" "$T/summary"
	result "${way% *}: shows every thread, and the call it died in" $? "$T/summary"
	check "${way% *}: replay reads it" "$BRACE" replay --no-pager "$T/trace"
done
[ "$(grep -c '  took ' "$T/summary")" -le 15 ]
result "--last 5 shows five calls a thread" $? "$T/summary"
record --mode overwrite --last 0 -- "$victim" "$ledger" 1 10 kill
! grep -q '^brace: thread' "$T/summary"
result "--last 0 shows none" $? "$T/summary"
record -- "$victim" "$ledger" 1 10 kill
! grep -q '^brace: thread' "$T/summary"
result "stream mode shows none" $? "$T/summary"
record --mode overwrite -q -- "$victim" "$ledger" 1 10 kill
[ ! -s "$T/summary" ]
result "quiet is quiet" $? "$T/summary"

# --- brace dies
rm -f "$ledger"
"$victim" "$ledger" 4 200000 >"$T/untraced" # twice as many when it waits
for mode in stream overwrite block; do
	rm -f "$ledger" "$T/trace" "$T/whole"
	"$BRACE" record -q --mode $mode -l step -o "$T/trace" -- "$victim" "$ledger" 4 200000 wait >"$T/out" 2>&1 &
	pid=$!
	until_is stands_still
	program=$(field 0)
	"$BRACE" recover -p "$program" -o "$T/whole" "$T/trace" 2>"$T/summary"
	[ $? -eq 125 ] && grep -q 'the tracer of process .* lives' "$T/summary" && [ ! -e "$T/whole" ]
	result "$mode mode: recover leaves a living tracer alone" $? "$T/summary"
	kill -9 $pid
	wait $pid 2>/dev/null
	check "$mode mode: recover" "$BRACE" recover -p "$program" -o "$T/whole" "$T/trace"
	adds_up "$mode mode, the file and the memory" "$T/whole" $((2 * $(made)))
	"$BRACE" recover -p "$program" -o "$T/whole2" 2>"$T/summary"
	adds_up "$mode mode, the memory alone" "$T/whole2" $((2 * $(made)))
	"$BRACE" report --json "$T/whole2" | grep -q '"name":"step","module":"victim"'
	result "$mode mode: names without a file" $? "$T/summary"
	check "$mode mode: recover from the file alone" "$BRACE" recover -o "$T/whole3" "$T/trace"
	"$BRACE" replay --no-pager "$T/whole" 2>&1 | grep -q 'ends early'
	[ "${PIPESTATUS[1]}" -ne 0 ]
	result "$mode mode: what was recovered is whole" $?
	let_go
	until_is is_gone "$program"
	result "$mode mode: the program goes on and ends" $?
	[ -s "$T/out" ]
	result "$mode mode: with its result" $? "$T/out"
done

# In block mode it waits for a tracer that is gone for a moment, then goes on without one.
rm -f "$ledger" "$T/trace"
"$BRACE" record -q --mode block -b 1M -l step -o "$T/trace" -- "$victim" "$ledger" 2 100000000000 >"$T/out" 2>&1 &
pid=$!
before=0
until_is begun && until_is has_made 10000
kill -9 $pid
wait $pid 2>/dev/null
before=$(made)
until_is has_made 1000000 # much more than there was room for
status=$?
kill -9 "$(field 0)"
result "block mode: brace killed, the program calls on ($(($(made) - before)) times since)" $status

# Without a file, the memory tells the tracer.
for tracer in function_graph function nop; do # those that record programs
	rm -f "$ledger" "$T/trace" "$T/whole"
	"$BRACE" record -q --tracer $tracer -l step -e task:task_newtask -o "$T/trace" -- "$victim" "$ledger" 4 200 wait \
		>"$T/out" 2>&1 &
	pid=$!
	until_is stands_still
	program=$(field 0)
	kill -9 $pid
	wait $pid 2>/dev/null
	check "$tracer: recover from the memory alone" "$BRACE" recover -p "$program" -o "$T/whole"
	"$BRACE" info --json "$T/whole" >"$T/summary" 2>&1
	grep -q "\"tracer\":\"$tracer\"" "$T/summary"
	result "$tracer: the memory tells it" $? "$T/summary"
	let_go
	until_is is_gone "$program"
done

# A program that was attached to: its tracer dies, it goes on, what is left is recovered, and
# another tracer comes.
rm -f "$ledger" "$T/trace" "$T/whole"
"$victim" "$ledger" 2 100000000000 >"$T/out" 2>&1 &
program=$!
ON_EXIT+=("kill -9 $program")
until_is test -s "$ledger" && until_is test "$(field 12)" = 1
"$BRACE" record -q -l step -o "$T/trace" -p $program >"$T/summary" 2>&1 &
pid=$!
written() { [ "$(stat -c %s "$T/trace" 2>/dev/null || echo 0)" -gt 100000 ]; }
until_is written
result "attached: records are written" $? "$T/summary"
kill -9 $pid
wait $pid 2>/dev/null
check "attached: recover" "$BRACE" recover -p $program -o "$T/whole" "$T/trace"
[ "$(figure records "$T/whole")" -gt 100000 ]
status=$?
result "attached: $(figure records "$T/whole") records were recovered" $status
# The program waits for a brace that has no processor: how much of a tight loop is recorded is not
# its speed's affair.
check "attached: another tracer comes" "$BRACE" record --mode block -l step --duration 300ms -o "$T/again" -p $program
grep -q ' no records lost' "$T/check.log" && [ "$("$BRACE" info --json "$T/again" | sed -nE 's/.*"type":"trace".*"calls":([0-9]+).*/\1/p')" -gt 1000 ]
result "attached: and records" $? "$T/check.log"
before=$(made)
until_is has_made 0
result "attached: the program goes on" $?
kill -9 $program

# --- recover refuses
prepare() { rm -f "$ledger"; }
record -- "$victim" "$ledger" 1 10
says_no() { # NAME WORD ARG...
	local name=$1 word=$2
	shift 2
	"$BRACE" recover -o "$T/none" "$@" >"$T/check.log" 2>&1
	[ $? -eq 125 ] && grep -q -- "$word" "$T/check.log" && [ ! -e "$T/none" ]
	result "recover refuses $name" $? "$T/check.log"
}
says_no "a whole file" 'is whole' "$T/trace"
says_no "nothing at all" 'needs a FILE'
says_no "a process that is not traced" 'no session memory' -p $$
says_no "a process that is not there" 'No such' -p 4194000
says_no "what is no trace" 'is not a brace trace' "$victim"
head -c 100 "$T/trace" >"$T/stub"
says_no "a file that holds nothing" 'cut before anything was recorded' "$T/stub"
cp "$T/trace" "$T/none"
"$BRACE" recover -o "$T/none" "$T/none" >"$T/check.log" 2>&1
[ $? -eq 125 ] && cmp -s "$T/trace" "$T/none"
result "recover refuses to write over what it reads" $? "$T/check.log"
rm -f "$T/none"

# --- at every test point
mkdir "$T/killer"
timeout "${KILLER_SECONDS:-300}" "$FIXTURES/../death/killer" "$BRACE" "$(dirname "$BRACE")/libbrace-agent.so" "$victim" "$T/killer" "$SCENARIOS" \
	>"$T/killer.tap" 2>"$T/killer.err"
result "the killer ends" $? "$T/killer.err"
while read -r line; do
	case $line in
	'ok '*) ok "${line#* - }" ;;
	'not ok '*) not_ok "${line#* - }" ;;
	'# '*) echo "$line" ;;
	esac
done <"$T/killer.tap"
reached=$(sed -nE 's/^# .* ([0-9]+) of them reached.*/\1/p' "$T/killer.tap")
[ "${reached:-0}" -ge "${REACHED_LEAST:-$((SCENARIOS * 3 / 4))}" ]
result "$reached scenarios reached their point" $?

# --- storms: what is lost is counted
for storm in '1 10000 30' '4 1000 400' '16 64 2000' '40 8 3000'; do
	for mode in stream overwrite block; do
		export TRUTH=$T/truth
		prepare() { rm -f "$TRUTH"; }
		# shellcheck disable=SC2086 # three numbers
		record --mode $mode -b 128K -l step -- "$FIXTURES/crowd" $storm
		unset TRUTH
		n=$(sed -n 's/^step //p' "$T/truth")
		adds_up "a storm of $storm, $mode mode" "$T/trace" $((2 * n))
		[ $mode != block ] || nothing_lost "a storm of $storm, block mode"
	done
done
finish

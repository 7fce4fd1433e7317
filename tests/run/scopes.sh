#!/bin/bash
# Scopes of events, --within and set_event_scope: the records are those that the program itself counts while a call of the function is open
# (tests/targets/scoped.cc): in recursion, on threads, past longjmp and exceptions, in handlers, in children, in coroutines; with each
# tracer, of each kind of event, in a tree with several instances; what cannot be is refused with a sentence.
. "$(dirname "$0")/lib.sh"
A=$FIXTURES/scoped
[ -x "$A" ] || { printf '1..0 # SKIP no C++ compiler\n'; exit 0; }
ALL=()
for name in outer throws leaps raises yields tail forks; do ALL+=(--within "$name"); done

# said COLUMN FILE: "PLACE COUNT" by the program's account: 3 of outer and its like, 4 of other.
said() { awk -v c="$1" 'NF == 4 && $c { n[$1] += $c } END { for (i in n) print i, n[i] }' "$2" | sort -n; }
# seen EVENT FILE: the same by the records.
seen() { sed -n "s/.* $1: ([^)]*) place=\([0-9]*\).*/\1/p" "$2" | sort -n | uniq -c | awk '{ print $2, $1 }'; }
# equal NAME COLUMN ACCOUNT EVENT RECORDS
equal() {
	said "$2" "$3" >"$T/said"
	seen "$4" "$5" >"$T/seen"
	[ -s "$T/said" ] && cmp -s "$T/said" "$T/seen"
	result "$1" $? <(diff "$T/said" "$T/seen")
}
# recorded NAME COLUMN OPTION...
recorded() {
	local name=$1 column=$2
	shift 2
	record -e 'p:hit point place:s32' "$@" -- "$A"
	"$BRACE" replay "$T/trace" >"$T/replay" 2>"$T/err"
	equal "$name" "$column" "$T/traced.out" hit "$T/replay"
}
recorded "events alone" 3 "${ALL[@]}"
check_that "nothing else is recorded" grep -q '^brace: 0 calls, ' "$T/summary"
recorded "another scope" 4 --within other
recorded "beside function_graph" 3 "${ALL[@]}" -p function_graph
recorded "beside a graph of one level" 3 "${ALL[@]}" -p function_graph --max-graph-depth 1
recorded "beside a graph of one function" 4 --within other -g outer
recorded "beside functions that are none of the scope's" 3 "${ALL[@]}" -p function_graph -l point
recorded "beside function" 3 "${ALL[@]}" -p function
check_that "which records as many calls as ever" [ "$(grep -c ' other <-' "$T/replay")" = 3000 ]

# --- levels: other() is 1, inner() 2, point() 3
hits() { "$BRACE" probe "$@" -- "$A" 2>/dev/null | grep -c ' place='; }
check_that "two levels do not reach the third" [ "$(hits --within other:2 'point place')" = 0 ]
check_that "three do" [ "$(hits --within other:3 'point place')" = 3000 ]
check_that "nor one the second" [ "$(hits --within other:1 'inner place')" = 0 ]
check_that "two do" [ "$(hits --within other:2 'inner place')" = 3000 ]
check_that "a function's first instruction is of its call" [ "$(hits --within other:1 'other place')" = 3000 ]

# --- events of other kinds
record -e syscalls:sys_enter_wait4 --within forks -- "$A"
check_that "a system call in its scope" grep -q '^brace: 0 calls, 1 event,' "$T/summary"
record -e syscalls:sys_enter_wait4 --within other -- "$A"
check_that "and out of it" grep -qE '^brace: 0 calls, [0-9,]+ bytes' "$T/summary"

# --- answers
"$BRACE" hist --within other 'inner place' -- "$A" >"$T/out" 2>"$T/err"
check_that "brace hist" grep -qE 'place: +2 .* hitcount: +3000' "$T/out"
"$BRACE" sql --within other 'SELECT f.place, count(*) FROM calls.inner AS f GROUP BY f.place' -- "$A" >"$T/out" 2>"$T/err"
check_that "brace sql" grep -qE '^ +2 +3000$' "$T/out"
"$BRACE" latency --within other:2 inner 'inner%return' -- "$A" >"$T/out" 2>"$T/err"
check_that "brace latency" grep -q 'Hits: 3000' "$T/out"

# --- a tree
D=$T/tree
mkdir "$D"
coproc PROGRAM { exec "$A" wait 2>/dev/null; }
exec {TO}>&"${PROGRAM[1]}" {FROM}<&"${PROGRAM[0]}"
PID=$PROGRAM_PID
# round: the program's account is in $T/account.
round() {
	local line
	: >"$T/account"
	echo >&"$TO"
	while read -rt "$LIMIT" -u "$FROM" line && [ "$line" != . ]; do echo "$line" >>"$T/account"; done
}
read -rt "$LIMIT" -u "$FROM"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D" "kill $PID")
echo 16384 >"$D/buffer_size_kb"
mkdir "$D/instances/a"
echo 16384 >"$D/instances/a/buffer_size_kb"
echo 'p:hit point place=$arg1:s32' >"$D/kprobe_events"
echo 'p:hat point place=$arg1:s32' >>"$D/kprobe_events"
echo outer throws >"$D/set_event_scope"
for name in leaps raises yields tail forks; do echo "$name" >>"$D/set_event_scope"; done
check_that "the file shows its words" cmp "$D/set_event_scope" <(printf '%s\n' outer throws leaps raises yields tail forks)
echo other >"$D/instances/a/set_event_scope"
echo 1 >"$D/events/kprobes/hit/enable"
echo 1 >"$D/instances/a/events/kprobes/hat/enable"
echo 'hist:keys=place' >"$D/events/kprobes/hit/trigger"
for tracer in nop function_graph; do
	echo "$tracer" >"$D/current_tracer"
	: >"$D/trace"
	: >"$D/instances/a/trace"
	echo 'hist:keys=place:clear' >>"$D/events/kprobes/hit/trigger"
	round
	equal "$tracer: the top's scope" 3 "$T/account" hit "$D/trace"
	equal "$tracer: an instance's scope" 4 "$T/account" hat "$D/instances/a/trace"
	said 3 "$T/account" >"$T/said"
	sed -n 's/^{ place: *\([0-9]*\) } hitcount: *\([0-9]*\)$/\1 \2/p' "$D/events/kprobes/hit/hist" | sort -n >"$T/seen"
	check_that "$tracer: a hist in the scope" cmp "$T/said" "$T/seen"
done
echo nop >"$D/current_tracer"

# refused NAME FILE TEXT SENTENCE: the write fails, the log says so, and the file is as before.
refused() {
	local before after
	before=$(<"$D/$2")
	! echo "$3" 2>/dev/null >>"$D/$2" && cat "$D"/{,instances/a/}error_log | grep -qF -- "$4"
	result "refused: $1" $? "$D/error_log"
	after=$(<"$D/$2")
	check_that "and nothing has changed" [ "$before" = "$after" ]
}
refused "levels beyond reason" set_event_scope 'f:256' 'a scope reaches 1 to 255 levels of calls down'
refused "a removal" set_event_scope '!outer' '`!` takes none out'
refused "a condition" set_event_scope 'f if x > 1' 'condition'
refused "too many" set_event_scope 'a b' 'at most 8 scopes'
refused "one event in two scopes" instances/a/events/kprobes/hit/enable 1 'kprobes:hit is recorded in another instance with another scope'
refused "an event of the kernel's" events/sched/sched_switch/enable 1 'the kernel tells of sched:sched_switch, and knows no calls'
: >"$D/set_event_scope"
: >"$D/trace"
round
said 2 "$T/account" >"$T/said"
check_that "without a scope all are recorded" cmp "$T/said" <(seen hit "$D/trace")
"$BRACE" umount "$D" >"$T/left" 2>&1
round
check_that "the program goes on" [ -s "$T/account" ]
"$BRACE" record -o "$T/trace" -e sched:sched_switch --within other -- "$A" >"$T/out" 2>"$T/err"
check_that "the command line refuses it, too" grep -qF 'the kernel tells of sched:sched_switch' "$T/err"
for word in nosuch '['; do
	"$BRACE" record -o "$T/trace" -e syscalls:sys_enter_getppid --within "$word" -- "$A" >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && grep -q 'no function' "$T/err"
	result "--within $word: it selects nothing, which is said" $? "$T/err"
done
for word in other:x other: :2; do
	"$BRACE" record -o "$T/trace" -e syscalls:sys_enter_getppid --within "$word" -- "$A" >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && grep -q 'a number of levels' "$T/err" && grep -q '^ *^$' "$T/err"
	result "--within $word: what stands behind the colon, with a caret" $? "$T/err"
done

# --- an empty word is no scope
for command in "record -o $T/trace" graph hist latency; do
	# shellcheck disable=SC2086 # words
	! "$BRACE" $command --within ' ' inner 'inner%return' -- "$A" >"$T/out" 2>"$T/err" && grep -q '^brace: --within: a function is wanted' "$T/err"
	result "${command%% *} --within '': one sentence" $? "$T/err"
done
finish

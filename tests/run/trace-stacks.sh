#!/bin/bash
# The options that make records of others: stacktrace, userstacktrace, func_stack_trace,
# func-no-repeats. The program (tests/targets/kin.c) calls leaf() and emits kin:met as often as it
# says, in work(), which main() or a thread's function calls.
. "$(dirname "$0")/lib.sh"
need addr2line readelf
ANSWERS=kin
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
mkdir "$D"
# shape FILE: what is recorded, without who and when. Of stacks the program's own functions: what is
# called to emit an event, and what calls main, is the compiler's and libc's.
shape() { sed -n '/^ => \(brace__hit_\|_start\|[^ ]*\.so\)/d; s/^\( => [a-z_]*\)\.cold$/\1/; s/^[^#]*\] ..... *[0-9.]*: //p; /^ => /p' "$1" | sed 's/met: who=.*/met/; s/last_ts: *[0-9]*\.[0-9]*/last_ts/'; }
# leaves NAME LINE...: the trace has these, and no others.
leaves() {
	printf '%s\n' "${@:2}" >"$T/wanted"
	shape "$D/trace" >"$T/got"
	diff "$T/wanted" "$T/got" >"$T/differences"
	result "$1" $? "$T/differences"
}
afresh() { echo >"$D/trace"; }

start_program
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")

# --- stacktrace: of each event, whatever the tracer
echo 1 >"$D/events/kin/met/enable"
echo 1 >"$D/options/stacktrace"
tell 2
leaves "stacktrace, tracer nop" met '<stack trace>' ' => work' ' => main' met '<stack trace>' ' => work' ' => main'
[ ! -s "$D/enabled_functions" ]
result "no function is hooked for it" $? "$D/enabled_functions"
echo 'n == 1' >"$D/events/kin/met/filter"
afresh
tell 3
leaves "one that a filter leaves out has none" met '<stack trace>' ' => work' ' => main'
echo 0 >"$D/events/kin/met/filter"
afresh
echo "by hand" >"$D/trace_marker"
tell t1
leaves "nor has what was written by hand; a thread, and its child" 'tracing_mark_write: by hand' met '<stack trace>' ' => work' \
	' => work_and_fork' met '<stack trace>' ' => work' ' => work_and_fork' met '<stack trace>' ' => work' ' => work_only'
echo sym-offset >"$D/trace_options"
grep -qE '^ => work(\.cold)?\+0x[1-9a-f][0-9a-f]*/0x[0-9a-f]+$' "$D/trace"
result "sym-offset" $? "$D/trace"
echo nosym-offset >"$D/trace_options"
echo function >"$D/current_tracer"
echo 'leaf work' >"$D/set_ftrace_filter"
tell 1
leaves "with the function tracer: its records have none" 'work <-main' 'leaf <-work' met '<stack trace>' ' => work' ' => main'
echo function_graph >"$D/current_tracer"
tell 1
sed -n 's/^[^|]*| *//p' "$D/trace" | sed 's/met: who=.*/met *\//' >"$T/got"
sed -n '/<stack/,/\*\//p' "$D/trace" | tail -n 1 >>"$T/got"
printf '%s\n' 'work() {' 'leaf();' '/* met */' '/* <stack trace>' '}' ' => _start */' | diff - <(grep -v '^[| ]*$' "$T/got") >"$T/differences"
result "function_graph: a comment behind the event's" $? "$T/differences"
echo nop >"$D/current_tracer"
echo 0 >"$D/options/stacktrace"
afresh
tell 1
leaves "off again" met
[ ! -s "$D/enabled_functions" ]
result "and nothing is hooked" $? "$D/enabled_functions"

# --- userstacktrace, sym-userobj: what addr2line says of the addresses
# named NAME MAPPED PATTERN: the program's calls on the stack are met's, work's, main's. Their
# addresses are what PATTERN leaves of the lines; MAPPED: where address 0 of the file is among them.
named() {
	sed -n "s/$3/\\1/p" "$D/trace" | while read -r at; do printf '%x\n' $((16#$at - $2 - 1)); done |
		addr2line -f -i -e "$A" | sed -n '/^\//d; s/\.cold$//; /^\(brace__hit_kin_met\|work\|main\)$/p' >"$T/got"
	[ "$(tr '\n' ' ' <"$T/got")" = 'brace__hit_kin_met work main ' ]
	result "$1" $? "$D/trace"
}
echo 1 >"$D/options/userstacktrace"
afresh
tell 1
base=$(awk -v f="$A" '$6 == f && !n++ { sub("-.*", "", $1); print $1 }' "/proc/$PID/maps")
code=$(readelf -lW "$A" | awk '$1 == "LOAD" && / R E / { print $3 }')
named "userstacktrace: addresses" $((16#$base)) '^ =>  <\([0-9a-f]*\)>$'
echo 1 >"$D/options/sym-userobj"
named "sym-userobj: files" $((-(code / 4096 * 4096))) "^ => ${A//\//\\/}\[+0x\([0-9a-f]*\)\]$"
grep -qE '^ => /.*/libc\.so\.6\[\+0x[0-9a-f]+\]$' "$D/trace"
result "whichever they are" $? "$D/trace"
echo 1 >"$D/options/stacktrace"
afresh
tell 1
named "both: addresses" $((-(code / 4096 * 4096))) "^ => ${A//\//\\/}\[+0x\([0-9a-f]*\)\]$"
[ "$(shape "$D/trace" | sed '/user stack/,$d' | tr '\n' ' ')" = 'met <stack trace>  => work  => main ' ]
result "both: names" $? "$D/trace"
echo 0 >"$D/options/sym-userobj"
echo 0 >"$D/options/userstacktrace"
echo 0 >"$D/options/stacktrace"

# --- where no call stands that is known of: no stack, rather than an empty one
if echo 1 2>"$T/err" >"$D/events/sched/sched_switch/enable"; then
	echo 1 >"$D/options/stacktrace"
	afresh
	tell 3
	grep -q ': sched_switch: ' "$D/trace" && grep -q ' => work' "$D/trace" &&
		awk '/<stack trace>/ { head = 1; next } head && !/^ => / { bad = 1 } { head = 0 } END { exit bad || head }' "$D/trace"
	result "sched_switch: no empty stacks" $? "$D/trace"
	echo 0 >"$D/options/stacktrace"
	echo 0 >"$D/events/sched/sched_switch/enable"
fi

# --- func_stack_trace
echo 0 >"$D/events/enable"
echo 1 >"$D/options/func_stack_trace"
echo function >"$D/current_tracer"
tell 2
leaves "func_stack_trace" 'work <-main' '<stack trace>' ' => work' ' => main' 'leaf <-work' '<stack trace>' ' => leaf' ' => work' \
	'leaf <-work' '<stack trace>' ' => leaf' ' => work'
echo leaf >"$D/set_ftrace_filter"
afresh
tell 1
leaves "of functions that are not traced, only the caller" 'leaf <-work' '<stack trace>' ' => leaf' ' => work'
mkdir "$D/instances/i"
echo 1 >"$D/instances/i/events/kin/met/enable"
afresh
tell 1
leaves "an instance has its own options" 'leaf <-work' '<stack trace>' ' => leaf' ' => work'
[ "$(shape "$D/instances/i/trace")" = met ]
result "and no stacks of another's" $? "$D/instances/i/trace"
rmdir "$D/instances/i"
echo 0 >"$D/options/func_stack_trace"
afresh
tell 1
leaves "off again, while it runs" 'leaf <-work'

# --- func-no-repeats
echo 1 >"$D/options/func-no-repeats"
echo 'leaf work' >"$D/set_ftrace_filter"
afresh
tell 5 1 2 1000
tell 1
leaves "func-no-repeats: what comes again is counted" 'work <-main' 'leaf <-work' 'leaf <-work (repeats: 4, last_ts)' 'work <-main' \
	'leaf <-work' 'work <-main' 'leaf <-work' 'leaf <-work (repeats: 1, last_ts)' 'work <-main' 'leaf <-work' \
	'leaf <-work (repeats: 999, last_ts)' 'work <-main' 'leaf <-work'
awk '/last_ts/ { last = $NF; sub(/[)]/, "", last); now = $3; sub(":", "", now); if (last > now || last < before) bad = 1 }
	/^ / { before = $3; sub(":", "", before) } END { exit bad }' <(sed 's/\[\([0-9]*\)\]/\1/; s/^ *\([^ ]*\) *\([0-9]*\) ...../ \1 \2/' "$D/trace")
result "the last one was between the record before and this one" $? "$D/trace"
afresh
tell 70000
tell 1
leaves "as many as a record counts" 'work <-main' 'leaf <-work' 'leaf <-work (repeats: 65535, last_ts)' 'leaf <-work' \
	'leaf <-work (repeats: 4463, last_ts)' 'work <-main' 'leaf <-work'
echo 0 >"$D/options/func-no-repeats"
afresh
tell 3
leaves "off again: each" 'work <-main' 'leaf <-work' 'leaf <-work' 'leaf <-work'
echo nop >"$D/current_tracer"
[ ! -s "$D/error_log" ] || grep -qx '(null)' "$D/error_log"
result "nothing was refused" $? "$D/error_log"
end_program
[ "$STATUS" -eq 0 ]
result "the program ends as it would" $?

# --- without a tree: record, graph
run() { timeout "$LIMIT" "$@" >"$T/out" 2>"$T/err"; }
run "$BRACE" record -o "$T/t" -O stacktrace -t nop -e kin:met -- "$A" work 2 &&
	run "$BRACE" replay --no-pager "$T/t" && mkdir -p "$T/d" && cp "$T/out" "$T/d/trace"
D=$T/d
leaves "brace record -O stacktrace" met '<stack trace>' ' => work' ' => main' met '<stack trace>' ' => work' ' => main'
run "$BRACE" record -o "$T/t" -O func-no-repeats -t function -l leaf -l work -- "$A" work 7 &&
	run "$BRACE" replay --no-pager "$T/t" && cp "$T/out" "$T/d/trace"
leaves "brace record -O func-no-repeats: the last are not told, as in ftrace" 'work <-main' 'leaf <-work'
run "$BRACE" graph -O func_stack_trace -t function -l leaf -- "$A" work 1 && cp "$T/out" "$T/d/trace"
leaves "brace graph -O func_stack_trace" 'leaf <-work' '<stack trace>' ' => leaf' ' => work'
ON_EXIT+=("$BRACE reset")
run "$BRACE" start -t nop -O stacktrace -e kin:met -- "$A" work 2
until run "$BRACE" show && [ "$(grep -c ': met: ' "$T/out")" = 2 ]; do
	[ "$SECONDS" -lt "$LIMIT" ] || break
done
cp "$T/out" "$T/d/trace"
leaves "brace start -O stacktrace" met '<stack trace>' ' => work' ' => main' met '<stack trace>' ' => work' ' => main'
run "$BRACE" set -O nostacktrace && ! run "$BRACE" set -O test_nop_refuse && grep -q 'this option is there to be refused' "$T/err"
result "brace set -O" $? "$T/err"
run "$BRACE" reset
finish

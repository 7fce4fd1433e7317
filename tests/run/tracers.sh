#!/bin/bash
# Several instances trace the functions of one program at once, each with a tracer and filters of
# its own, and each sees what it would see alone.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
mkdir "$D"
count() { grep -c -- "$1" "$D/$2"; }
# has N PATTERN FILE: so many lines.
has() { [ "$(count "$2" "$3")" = "$1" ]; }
# holds N PATTERN INSTANCE [FILE]
holds() { has "$1" "$2" "instances/$3/${4:-trace}"; }
empty() { for i in . instances/*; do echo >"$D/$i/trace"; done; }
# Every call that opens closes again, but for the one in which the program has answered, or waits.
pairs() {
	local open=$(($(count '{$' "$1") - $(count '|  *}' "$1")))
	[ "$(count '|  *}' "$1")" -gt 0 ] && [ $open -ge 0 ] && [ $open -le 1 ]
}

start_program
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
cd "$D" || exit 1
mkdir instances/{a,b,c}

# --- two function tracers
echo leaf >instances/a/set_ftrace_filter
echo request >instances/b/set_ftrace_filter
echo function >instances/a/current_tracer
result "function in one" $?
echo function >instances/b/current_tracer
result "and in another" $?
tell 100 20
check_that "the first has its function" holds 120 ': leaf <-request$' a
check_that "and no other" holds 0 ': request' a
check_that "the second its own" holds 2 ': request <-main$' b
check_that "and no other" holds 0 ': leaf' b
check_that "the top directory has none" has 0 'leaf\|request' trace
grep -qx 'leaf (1)' enabled_functions && grep -qx 'request (1)' enabled_functions
result "enabled_functions has both" $? enabled_functions

# --- function and function_graph
echo function_graph >instances/c/current_tracer
empty
tell 50 t5
check_that "function beside function_graph: every call" holds 55 ': leaf <-request$' a
check_that "function_graph beside function: every call" holds 55 ' leaf();$' c
check_that "within its caller" holds 2 'request() {$' c
check_that "and each ends" pairs instances/c/trace
check_that "with callers that are told by one record" holds 1 ': request <-in_thread$' b
echo request >instances/c/set_ftrace_filter
empty
tell 9
check_that "function_graph has its own filter" holds 1 ' request();$' c
check_that "leaves out what others have" holds 0 leaf c
check_that "who have it" holds 9 ': leaf <-request$' a
echo function_graph >current_tracer
empty
tell 30
check_that "and the top directory has all" has 30 ' leaf();$' trace
check_that "with what leads there" has 1 'request() {$' trace
check_that "within the loop's own calls" pairs trace
check_that "a filter of another's stays" holds 1 ' request();$' c

# --- depth is of the top directory, and of all
echo 1 >max_graph_depth
empty
tell 8
check_that "max_graph_depth is of all: no leaf" has 0 'leaf' trace
check_that "function knows no depth" holds 8 ': leaf <-request$' a
echo 0 >max_graph_depth

# --- back to one
empty
tell 4
echo nop >current_tracer
echo nop >instances/a/current_tracer
echo nop >instances/b/current_tracer
tell 3
check_that "the last one goes on alone" holds 2 ' request();$' c
echo >instances/c/set_ftrace_filter
tell 6
check_that "with all functions again" holds 6 ' leaf();$' c
check_that "and its ends" pairs instances/c/trace
timeout 20 head -12 instances/c/trace_pipe >"$T/pipe" 2>/dev/null
[ "$(grep -c 'leaf();\|request();\|request() {' "$T/pipe")" -ge 6 ]
result "trace_pipe" $? "$T/pipe"
rmdir instances/{a,b,c}
result "rmdir" $?
tell 2
check_that "nobody traces any more" has 0 leaf trace

cd /
check "unmount" "$BRACE" umount "$D"
tell 5
end_program
[ "$STATUS" = 0 ]
result "the program ends as ever" $?
finish

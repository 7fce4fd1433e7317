#!/bin/bash
# Programs behind the mounted tree, as an ftrace user has them: echo and cat. The program does what
# it is told and says how often it called what, so counts are exact.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
mkdir "$D"
count() { grep -c -- "$1" "$D/${2:-trace}"; }
# has N PATTERN: so many lines of the trace.
has() { [ "$(count "$2")" = "$1" ]; }
# fails_with NAME WORDS TEXT FILE: what is written is refused, and error_log says why.
fails_with() {
	! echo "$3" 2>/dev/null >"$D/$4" && grep -q -- "$2" "$D/error_log"
	result "$1" $? "$D/error_log"
}

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")

# --- nop
tell 1000
check_that "nop records nothing" has 0 leaf
grep -qx '# tracer: nop' "$D/trace"
result "and its header is there" $?
check_that "available_filter_functions" grep -qx leaf "$D/available_filter_functions"

# --- function
echo function >"$D/current_tracer"
tell 1000 1
check_that "function: every call" has 1001 ': leaf <-request$'
check_that "and of its caller" has 2 ': request <-main$'
check_that "and reading took nothing away" has 1001 ': leaf <-request$'
echo >"$D/trace"
check_that "> trace empties it" has 0 leaf
tell 7
check_that "and it fills again" has 7 leaf

# --- tracing_on
echo 0 >"$D/tracing_on"
tell 500
check_that "tracing_on 0: nothing" has 7 leaf
echo 1 >"$D/tracing_on"
tell 5
check_that "tracing_on 1: again" has 12 leaf

# --- function_graph
echo function_graph >"$D/current_tracer"
check_that "another tracer begins with an empty trace" has 0 leaf
tell 3
check_that "function_graph: nested" has 3 '|    leaf();$'
check_that "within its caller" has 1 '|  request() {$'
echo 1 >"$D/max_graph_depth"
echo >"$D/trace"
tell 3
check_that "max_graph_depth" has 0 leaf
check_that "max_graph_depth 1" has 1 'request();$'
echo 0 >"$D/max_graph_depth"

# --- filters
echo leaf >"$D/set_ftrace_filter"
echo >"$D/trace"
tell 9
check_that "set_ftrace_filter: what it names" has 9 'leaf();$'
check_that "and nothing else" has 0 request
echo request >>"$D/set_ftrace_filter"
tell 1
check_that ">> adds" has 1 'request() {$'
echo '!leaf' >>"$D/set_ftrace_filter"
echo >"$D/trace"
tell 4
check_that "! removes" has 0 leaf
check_that "and only that" has 1 'request();$'
fails_with "a function that is not there is refused" 'no function that can be traced matches nonesuch' nonesuch set_ftrace_filter
check_that "and changes nothing" [ "$(cat "$D/set_ftrace_filter")" = request ]
echo >"$D/set_ftrace_filter"
echo 'lea*' >"$D/set_ftrace_notrace"
echo >"$D/trace"
tell 6
check_that "set_ftrace_notrace" has 0 leaf
check_that "leaves the others" has 1 'request();$'
echo >"$D/set_ftrace_notrace"
echo request >"$D/set_graph_function"
echo >"$D/trace"
tell 6
check_that "set_graph_function: inside of it" has 6 'leaf();$'
check_that "and not outside" has 0 fgets
echo >"$D/set_graph_function"

# --- threads and children
echo >"$D/trace"
tell t11
check_that "a thread's calls" has 11 'leaf();$'
tell f13
check_that "a child's calls" has 24 'leaf();$'

# --- trace_pipe
echo >"$D/trace"
exec {PIPE}<"$D/trace_pipe"
tell 21
n=0
while [ "$n" -lt 21 ] && read -rt "$LIMIT" -u "$PIPE" line; do
	[[ $line != *"leaf();"* ]] || n=$((n + 1))
done
[ "$n" -eq 21 ]
result "trace_pipe gives what comes" $?
check_that "and takes it away" has 0 leaf
! (exec 2>/dev/null; cat "$D/trace_pipe")
result "a second reader is told EBUSY" $?
! (exec 2>/dev/null; cat "$D/per_cpu/cpu0/trace_pipe")
result "one of a CPU's too" $?
exec {PIPE}<&-
touch -d '2001-02-03 04:05:06 UTC' "$D/trace_pipe"
[ "$(TZ=UTC stat -c %y "$D/trace_pipe")" = '2001-02-03 04:05:06.000000000 +0000' ]
result "a time that touch gave stays" $?

# --- its end: once something was read, when recording is off and all of it was read
mkdir "$D/instances/pipe"
for in in "$D" "$D/instances/pipe"; do
	echo nop >"$in/current_tracer"
	echo >"$in/trace"
	echo one >"$in/trace_marker"
	echo two >"$in/trace_marker"
	echo 0 >"$in/tracing_on"
	timeout 30 cat "$in/trace_pipe" >"$T/pipe"
	[ $? -eq 0 ] && [ "$(grep -c 'tracing_mark_write: ' "$T/pipe")" -eq 2 ]
	result "cat trace_pipe ends where tracing_on is 0" $? "$T/pipe"
	echo 1 >"$in/tracing_on"
	echo three >"$in/trace_marker"
	echo 0 >"$in/tracing_on"
	timeout 30 /usr/bin/python3 -c 'import os, sys
pipe, out = os.open(sys.argv[1], os.O_RDONLY), sys.stdout.fileno()
try:
    print("sendfile", os.sendfile(out, pipe, 0, 65536))
except OSError as e:
    sys.stdout.buffer.write(os.read(pipe, 65536))' "$in/trace_pipe" >"$T/pipe" # as busybox cat does
	grep -q 'tracing_mark_write: three' "$T/pipe"
	result "who would splice it is told to read it" $? "$T/pipe"
	timeout 1 cat "$in/trace_pipe"
	[ $? -eq 124 ]
	result "and waits if it has read nothing" $?
	echo 1 >"$in/tracing_on"
	echo function_graph >"$in/current_tracer"
	: >"$T/pipe"
	timeout 30 cat "$in/trace_pipe" >"$T/pipe" &
	reader=$!
	tell 5
	until grep -q request "$T/pipe"; do read -rt 0.05 _ <> <(:); done
	tell 7
	echo 0 >"$in/tracing_on"
	wait "$reader"
	[ $? -eq 0 ] && [ "$(grep -c 'leaf();' "$T/pipe")" -eq 12 ]
	result "a reader that waits sees all, and the end" $? "$T/pipe"
	echo nop >"$in/current_tracer"
	echo 1 >"$in/tracing_on"
done
rmdir "$D/instances/pipe"

# --- the buffer's size
echo 64 >"$D/buffer_size_kb"
echo function >"$D/current_tracer"
tell 200000
n=$(count ': leaf <-request$')
[ "$n" -gt 1000 ] && [ "$n" -lt 200000 ]
result "a small buffer keeps some ($n)" $?
grep -q "^# entries-in-buffer/entries-written: [0-9]*/20[0-9][0-9][0-9][0-9] " "$D/trace"
result "and counts what it had to let go" $? "$D/trace"
tail -1 "$D/trace" | grep -qE ': (leaf|fgets|request|puts|.*printf.*) <-'
result "the newest it is" $?
echo nooverwrite >"$D/trace_options"
echo >"$D/trace"
tell 1 200000
check_that "nooverwrite: the oldest stays" grep -q ': request <-main$' "$D/trace"
echo overwrite >"$D/trace_options"
echo 4096 >"$D/buffer_size_kb"

# --- threads that are recorded
echo function >"$D/current_tracer"
echo 999999 >"$D/set_ftrace_pid"
echo >"$D/trace"
tell 3
check_that "set_ftrace_pid: nobody else" has 0 leaf
echo "$PID" >"$D/set_ftrace_pid"
tell 3
check_that "set_ftrace_pid" has 3 ': leaf <-request$'
echo >"$D/set_ftrace_pid"

# --- trace_marker
echo >"$D/trace"
tell 1
echo 'hello marker' >"$D/trace_marker"
tell 1
check_that "trace_marker" has 1 ': tracing_mark_write: hello marker$'
sed -n '/leaf\|hello/p' "$D/trace" | sed 's/.*: //' | tr '\n' , >"$T/order"
grep -qx 'leaf <-request,hello marker,leaf <-request,' "$T/order"
result "stands where it was written" $? "$T/order"
printf '%02000d' 7 >"$D/trace_marker"
[ "$(grep -o 'tracing_mark_write: .*' "$D/trace" | grep -v hello | cut -d' ' -f2 | tr -d '\n' | wc -c)" -eq 2000 ]
result "a long one is kept whole" $?
echo 0 >"$D/tracing_on"
! echo more 2>/dev/null >"$D/trace_marker"
result "and refused while tracing is off" $?
echo 1 >"$D/tracing_on"
echo function_graph >"$D/current_tracer"
echo 'in a graph' >"$D/trace_marker"
check_that "in a graph it is a comment" has 1 '/\* in a graph \*/$'
echo function >"$D/current_tracer"

# --- per_cpu, snapshot, tables
tell 4
n=0
for cpu in "$D"/per_cpu/cpu*; do
	n=$((n + $(grep -c ': leaf <-request$' "$cpu/trace")))
done
[ "$n" -eq 4 ]
result "each record is of one CPU" $?
[ "$(sed -n 's/^entries: //p' "$D"/per_cpu/cpu*/stats | awk '{ n += $1 } END { print n }')" -ge 4 ]
result "and counted in its stats" $?
echo 1 >"$D/snapshot"
[ "$(count ': leaf <-request$' snapshot)" = 4 ] && has 0 leaf
result "snapshot: what was recorded is put aside" $?
tell 2
[ "$(count ': leaf <-request$' snapshot)" = 4 ] && has 2 ': leaf <-request$'
result "and recording goes on" $?
echo 0 >"$D/snapshot"
[ "$(count leaf snapshot)" = 0 ] && grep -q 'Snapshot is freed' "$D/snapshot"
result "until it is freed" $?
echo leaf >"$D/set_ftrace_filter"
[ "$(cat "$D/enabled_functions")" = 'leaf (1)' ] && grep -qx 'request (1)' "$D/touched_functions"
result "enabled_functions, touched_functions" $? "$D/enabled_functions"
echo >"$D/set_ftrace_filter"
grep -qx "$PID answers" "$D/saved_cmdlines" && grep -qx "$PID $PID" "$D/saved_tgids"
result "saved_cmdlines, saved_tgids" $? "$D/saved_cmdlines"

# --- tracing_cpumask
ALL=$(cat "$D/tracing_cpumask")
echo 0 >"$D/tracing_cpumask"
echo >"$D/trace"
tell 9
check_that "tracing_cpumask: what other processors did is left out" has 0 leaf
echo "$ALL" >"$D/tracing_cpumask"
tell 6
check_that "what these do is kept" has 6 ': leaf <-request$'

# --- instances
mkdir "$D/instances/mine"
echo nop >"$D/current_tracer"
echo leaf >"$D/instances/mine/set_ftrace_filter"
echo function >"$D/instances/mine/current_tracer"
tell 8
has_in_mine() { [ "$(count "$1" instances/mine/trace)" = "$2" ]; }
check_that "an instance's tracer and filter" has_in_mine ': leaf <-request$' 8
check_that "and only its" has_in_mine ': request <-' 0
check_that "its records are its own" has 0 leaf
timeout 20 head -3 "$D/instances/mine/trace_pipe" >"$T/pipe" 2>/dev/null
[ "$(grep -c leaf "$T/pipe")" = 3 ]
result "and its trace_pipe" $? "$T/pipe"
check "rmdir" rmdir "$D/instances/mine"
echo function >"$D/current_tracer"
tell 2
check_that "its tracer is gone with it" has 2 ': leaf <-request$'

# --- the end
echo nop >"$D/current_tracer"
tell 5
check_that "nop again" has 0 leaf
[ "$SAID" = "done $((1000 + 1001 + 7 + 500 + 5 + 3 + 3 + 9 + 1 + 4 + 6 + 6 + 11 + 21 + 200000 + 200001 + 3 + 3 + 2 + 4 + 2 + 8 + 2 + 5 + 9 + 6 + 5 + 7 + 5 + 7))" ]
result "the program computed what it would have" $?
echo function >"$D/current_tracer"
tell 2
end_program
[ "$STATUS" -eq 0 ]
result "and ended as it would have" $?
check_that "what it recorded is there when it has ended" has 2 leaf
echo function_graph >"$D/current_tracer"
result "and files still take what is written" $?
check "umount" "$BRACE" umount "$D"

# --- detached by umount
start_program
check "attached once more" "$BRACE" mount "$D" -p "$PID" -t function_graph
tell 2
check_that "the option -t traces from the beginning" has 2 'leaf();$'
check "umount while it runs" "$BRACE" umount "$D"
for ((i = 0; i < 600; i++)); do
	grep -qE 'brace-(session|code|image)' "/proc/$PID/maps" || break
	read -rt 0.05 _ <> <(:)
done
! grep -qE 'brace-(session|code|image)' "/proc/$PID/maps"
result "leaves the process as it was" $?
tell 3
end_program
[ "$STATUS" -eq 0 ] && [ "$SAID" = "done 5" ]
result "which goes on" $?

# --- launched
printf '4\nq\n' >"$T/in"
timeout "$LIMIT" "$BRACE" mount "$D" -t function -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
result "mount -- PROGRAM" $? "$T/err"
for ((i = 0; i < 600; i++)); do
	has 4 ': leaf <-request$' && break
	read -rt 0.05 _ <> <(:)
done
check_that "traces it" has 4 ': leaf <-request$'
printf 'ready\ndone 4\n' | cmp -s - "$T/out"
result "and its output is its own" $? "$T/out"
check "umount" "$BRACE" umount "$D"
timeout "$LIMIT" "$BRACE" mount "$D" -e truth:tick -f 'who == 77 && n < 10' -R 'traceoff:1 if who == 77 && n == 5' -- "$FIXTURES/events" >"$T/out" 2>"$T/err" </dev/null
result "mount -e -f -R" $? "$T/err"
for ((i = 0; i < 600; i++)); do
	[ "$(cat "$D/tracing_on")" = 0 ] && break
	read -rt 0.05 _ <> <(:)
done
[ "$(grep -c 'tick: n=' "$D/trace")" = 5 ]
result "holds from the program's first event, up to the trigger's" $? "$D/trace"
"$BRACE" umount "$D"
timeout "$LIMIT" "$BRACE" mount "$D" -- "$T/none" >"$T/out" 2>"$T/err" </dev/null
[ $? -eq 127 ] && [ "$(wc -l <"$T/err")" -eq 1 ] && ! grep -q " $D " /proc/self/mountinfo
result "a program that is not there: a sentence, and no mount" $? "$T/err"
finish

#!/bin/bash
# function_profile_enabled and trace_stat/ over running programs: hits are the program's own
# account, callgrind's, and those of `brace report`. In mode block, where nothing is lost, but for
# the case that says what is.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
mkdir "$D"
ON_EXIT+=("$BRACE umount --lazy $D")

# The sum over the processors: lines of "HITS NAME".
counted() { awk 'FNR > 2 && !/^#/ { hits[$1] += $2 } END { for (f in hits) print hits[f], f }' "$D"/trace_stat/function* | LC_ALL=C sort -k2; }
hits() { [ "$(counted | awk -v f="$1" '$2 == f { print $1 }')" = "$2" ]; }
# Microseconds in a function, on all processors, as whole nanoseconds.
time_of() { awk -v f="$1" '$1 == f { ns += 1000 * $3 } END { printf "%d\n", ns }' "$D"/trace_stat/function*; }

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount --mode block "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("kill $PID")

# --- on and off
[ "$(cat "$D/function_profile_enabled")" = 0 ] && [ -z "$(counted)" ]
result "off at first, and nothing is counted" $?
echo 1 >"$D/function_profile_enabled"
check_that "1: on" [ "$(cat "$D/function_profile_enabled")" = 1 ]
tell 1000 t11 f13
check_that "each call, of threads and children too" hits leaf 1024
check_that "and of their callers" hits request 3
check_that "current_tracer is nop still" grep -q '^nop$' "$D/current_tracer"
! grep -q leaf "$D/trace"
result "and nothing is in the trace" $?
echo 1 >"$D/function_profile_enabled"
tell 1
check_that "1 once more changes nothing" hits leaf 1025
echo 0 >"$D/tracing_on"
tell 10
check_that "tracing_on is about the buffer alone" hits leaf 1035
echo 1 >"$D/tracing_on"
echo 0 >"$D/function_profile_enabled"
tell 100
check_that "0: nothing more is counted, what was stays" hits leaf 1035
echo 1 >"$D/function_profile_enabled"
check_that "1 after 0 begins anew" [ -z "$(counted)" ]
tell 5
check_that "from nothing" hits leaf 5

# --- the table
awk 'FNR == 1 && $0 != "  Function                               Hit    Time            Avg             s^2" { bad = 1 }
	FNR == 2 && $0 != "  --------                               ---    ----            ---             ---" { bad = 1 }
	FNR > 2 && !/^  .{30}  [ 0-9]{9}[0-9]    [0-9.]+ us {1,8}    [0-9.]+ us {1,8}    [0-9.]+ us *$/ { bad = 1; print }
	FNR > 3 && $3 + 0 > last { bad = 1; print "not sorted: " $0 }
	FNR > 2 { last = $3 + 0; if ($3 / $2 - $5 > 0.0011 || $5 - $3 / $2 > 0.0011) { bad = 1; print "average: " $0 } }
	END { exit bad }' "$D"/trace_stat/function* >"$T/table"
result "the table: the kernel's columns, the longest time first, averages" $? "$T/table"
whole=$(time_of request)
echo 0 >"$D/options/graph-time"
self=$(time_of request)
leaves=$(time_of leaf)
[ "$whole" -gt "$self" ] && [ $((whole - self - leaves)) -le 8 ] && [ $((self + leaves - whole)) -le 8 ]
result "graph-time 0: without the calls it made ($whole = $self + $leaves ns)" $?
echo 1 >"$D/options/graph-time"

# --- filters
echo leaf >"$D/set_ftrace_filter"
tell 7
check_that "set_ftrace_filter: what it names" hits leaf 12
check_that "and nothing else" hits request 1
echo >"$D/set_ftrace_filter"
echo leaf >"$D/set_ftrace_notrace"
tell 8
check_that "set_ftrace_notrace" hits leaf 12
check_that "leaves the others" hits request 2
echo >"$D/set_ftrace_notrace"
echo 999999 >"$D/set_ftrace_pid"
tell 9
check_that "set_ftrace_pid: nobody else" hits leaf 12
echo "$PID" >"$D/set_ftrace_pid"
tell 9 t9
check_that "set_ftrace_pid: not its other threads" hits leaf 21
echo >"$D/set_ftrace_pid"

# --- beside a tracer
echo function_graph >"$D/current_tracer"
tell 20
check_that "beside function_graph: the profile" hits leaf 41
check_that "and the trace" [ "$(grep -c 'leaf();$' "$D/trace")" = 20 ]
echo nop >"$D/current_tracer"
tell 1
check_that "and when that ends" hits leaf 42

# --- reading while it runs
echo 0 >"$D/function_profile_enabled"
echo 1 >"$D/function_profile_enabled"
echo 3000000 >&"$TO"
last=0
reads=0
until read -t 0 -u "$FROM"; do
	now=$(counted | awk '$2 == "leaf" { print $1 }')
	[ "${now:-0}" -ge "$last" ] || { last=less; break; }
	last=${now:-0}
	reads=$((reads + 1))
done
read -rt "$LIMIT" -u "$FROM" SAID
[[ $SAID == done* && $last != less ]]
result "it can be read while it runs ($reads times)" $?
check_that "and every call is counted" hits leaf 3000000
end_program
check_that "the program ends as it would" [ "$STATUS" = 0 ]
check_that "and what was counted stays" hits leaf 3000000
"$BRACE" umount "$D"

# --- what is lost is told
# The tracer stands still while the program writes more than the session's memory holds.
start_program
"$BRACE" mount "$D" -p "$PID"
echo 1 >"$D/function_profile_enabled"
mapfile -t SERVER < <(pgrep -f -- "mount $D -p $PID")
kill -STOP "${SERVER[@]}"
tell 4000000
kill -CONT "${SERVER[@]}"
counted >/dev/null # there is room then,
tell 1000          # and what a thread has lost is told when it has some
lost=$(awk '/^# .* records were lost/ { n += $2 } END { print n + 0 }' "$D"/trace_stat/function*)
seen=$(counted | awk '$2 == "leaf" { print $1 }')
away=$((8002000 - 2 * seen - lost))
[ "$lost" -gt 0 ] && [ "${away#-}" -lt 100 ]
result "what was lost is told: $seen calls counted, $lost records lost" $?
end_program
"$BRACE" umount "$D"

# --- whole runs of programs, from their first call on
AS=() # what brace runs under
# whole COMMAND...: gate waits for the profile, and becomes it.
whole() {
	rm -f "$T/gate" "$T/end"
	mkfifo "$T/gate" "$T/end"
	"${AS[@]}" "$BRACE" mount --mode block "$D" -- "$FIXTURES/gate" "$T/gate" "$T/end" "$@" >"$T/profiled.out" 2>"$T/profiled.err" || return
	echo 1 >"$D/function_profile_enabled"
	echo go >"$T/gate"
	timeout "$LIMIT" cat "$T/end"
	# Three calls are gate's own.
	counted | awk '$2 == "execv" || $2 == "open64" || $2 == "read" { $1-- } $1' >"$T/counted"
	"$BRACE" umount "$D"
}
# as_report NAME COMMAND...: `brace report` has the same functions, as often.
as_report() {
	local name=$1 status
	shift
	whole "$@"
	"$BRACE" record -q --mode block -o "$T/trace" -- "$@" >/dev/null 2>"$T/record.err" </dev/null
	"$BRACE" report --json "$T/trace" 2>/dev/null | grep -o '"name":"[^"]*".*"calls":[0-9]*' |
		sed 's/"name":"\([^"]*\)".*"calls":\([0-9]*\)/\2 \1/' |
		awk '{ name = substr($0, index($0, " ") + 1); gsub(/ .*/, "", name); hits[name] += $1 }
			END { for (f in hits) print hits[f], f }' | LC_ALL=C sort -k2 >"$T/reported"
	[ -s "$T/counted" ] && diff "$T/reported" "$T/counted" >"$T/diff"
	status=$?
	result "$name: hits as in brace report ($(wc -l <"$T/counted") functions)" $status "$T/diff"
}
# as_callgrind MODULE COMMAND...: the program's own functions, as often as callgrind counts them
# (tests/run/counts.sh).
as_callgrind() {
	local environment=(env -i "PATH=/usr/bin:/bin" LC_ALL=C HOME=/) valgrind preload status module=$1
	shift
	valgrind=$(command -v valgrind.bin || command -v valgrind)
	# shellcheck disable=SC2016 # of the shell inside
	preload=$("${environment[@]}" "$valgrind" -q --tool=callgrind --callgrind-out-file=/dev/null /bin/sh -c 'echo "$LD_PRELOAD"' 2>/dev/null)
	"${environment[@]}" "$valgrind" --tool=callgrind --dump-instr=yes --collect-jumps=yes --skip-plt=no --compress-pos=no \
		--compress-strings=no --callgrind-out-file="$T/callgrind" "$@" >"$T/plain.out" 2>"$T/plain.err" </dev/null
	AS=("${environment[@]}" "LD_PRELOAD=${preload%so}no")
	whole "$@"
	AS=()
	awk -v m="$module" '{ printf "{\"name\":\"%s\",\"module\":\"%s\",\"calls\":%d}\n", $2, m, $1 }' "$T/counted" >"$T/json"
	"$BRACE" list -f "$module" --json >"$T/list" 2>&1
	cmp -s "$T/plain.out" "$T/profiled.out"
	result "${module##*/}: same output" $?
	"$HERE/callcounts.py" "$module" "$T/callgrind" "$T/json" "$T/list" >"$T/check.log" 2>&1
	status=$?
	result "${module##*/}: hits as callgrind's: $(tail -n 1 "$T/check.log")" $status "$T/check.log"
}
if command -v valgrind >/dev/null; then
	as_callgrind /usr/bin/gawk /usr/bin/gawk -f "$WORK/count.awk"
else
	skip "hits as callgrind's" "valgrind is not installed"
fi
for name in recursion tails jumps threads forks; do
	as_report "$name" "$FIXTURES/$name"
done
finish

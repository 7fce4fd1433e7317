#!/bin/bash
# Triggers and function commands over a running program, in the mounted tree. The program
# (tests/targets/steps.c) numbers its events in the order of time, whichever of its threads emits
# them: what each trigger has to leave is known to the record.
. "$(dirname "$0")/lib.sh"
ANSWERS=steps
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
E=$D/events/steps
mkdir "$D"
# numbers EVENT [FILE]: of the event's records, one a line, in the order of the trace.
numbers() { sed -n "s/.*: $1: n=\([0-9]*\) .*/\1/p" "$D/${2:-trace}"; }
# holds NAME EVENT FILE NUMBER...: the trace has these records, and no others.
holds() {
	numbers "$2" "$3" >"$T/got"
	[ $# -lt 4 ] || printf '%s\n' "${@:4}" >"$T/wanted"
	[ $# -ge 4 ] || : >"$T/wanted"
	cmp -s "$T/wanted" "$T/got"
	result "$1" $? "$T/got"
}
# reads NAME FILE LINE...
reads() {
	printf '%s\n' "${@:3}" >"$T/wanted"
	cat "$D/$2" >"$T/got"
	cmp -s "$T/wanted" "$T/got"
	result "$1" $? "$T/got"
}
# Nothing set, an empty trace.
afresh() {
	echo 0 >"$D/events/enable"
	echo 1 >"$D/tracing_on"
	echo >"$D/trace"
}

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")

# --- traceoff, traceon: four threads, to the record (steps 1 to 3000)
echo 1 >"$E/step/enable"
echo 'traceoff:1 if n == 1000' >"$E/step/trigger"
reads "an event with a trigger is armed" events/steps/step/enable '1*'
tell t3000
reads "traceoff" tracing_on 0
mapfile -t want < <(seq 1000)
holds "leaves what was before it of every thread, and its own record" step trace "${want[@]}"
reads "its count has gone down" events/steps/step/trigger 'traceoff:count=0 if n == 1000'
[ "$(sed -n 's/.*step: n=.*who=//p' "$D/trace" | sort -u | wc -l)" -eq 4 ]
result "and they are of four threads" $? "$D/trace"
echo '!traceoff' >"$E/step/trigger"
reads "!traceoff takes it away" events/steps/step/enable 1

afresh # 3001 to 3010
echo 1 >"$E/step/enable"
echo traceoff >"$E/step/trigger"
tell 10
holds "without a filter it is done before the record is made" step trace
echo '!traceoff' >"$E/step/trigger"

afresh # 3011 to 6010
echo 0 >"$D/tracing_on"
echo 1 >"$E/step/enable"
echo 'traceon:1 if n == 5000' >"$E/step/trigger"
echo 'traceoff:1 if n == 5020' >"$E/stepped/trigger"
tell t3000
reads "traceon, and another event's traceoff" tracing_on 0
mapfile -t want < <(seq 5001 5020)
holds "between them it is recorded" step trace "${want[@]}"
holds "and an event that is only armed is not" stepped trace
echo '!traceon' >"$E/step/trigger"
echo '!traceoff' >"$E/stepped/trigger"

# --- enable_event, disable_event (6011 to 8010)
afresh
echo 'enable_event:steps:stepped:1 if n == 7000' >"$E/step/trigger"
echo 'disable_event:steps:stepped:1 if n == 7007' >"$E/stepped/trigger"
reads "what is not enabled and triggers" events/steps/step/enable '0*'
reads "what triggers switch" events/steps/stepped/enable '0*'
tell t2000
mapfile -t want < <(seq 7000 7006)
holds "enable_event and disable_event" stepped trace "${want[@]}"
holds "the event that triggers is not recorded by that" step trace
reads "it is off again" events/steps/stepped/enable '0*'
echo '!enable_event:steps:stepped' >"$E/step/trigger"
echo 'enable_event:steps:stepped' >"$E/step/trigger"
tell 3 # to 8013
mapfile -t want < <(seq 7000 7006) && want+=(8011 8012 8013)
holds "without a count, again" stepped trace "${want[@]}"
reads "it is on" events/steps/stepped/enable '1*'
echo '!enable_event:steps:stepped' >"$E/step/trigger"
echo '!disable_event:steps:stepped' >"$E/stepped/trigger"
reads "and stays so without triggers" events/steps/stepped/enable 1

# --- the event's own filter comes after its triggers (8014 to 8113)
afresh
echo 1 >"$E/step/enable"
echo 'n >= 8050' >"$E/step/filter"
echo 'enable_event:steps:stepped if n == 8020' >"$E/step/trigger"
echo 'n == 8030 || n == 8060' >"$E/stepped/filter"
tell t100
mapfile -t want < <(seq 8050 8113)
holds "an event's filter" step trace "${want[@]}"
holds "a trigger sees what it leaves out" stepped trace 8030 8060
echo '!enable_event:steps:stepped' >"$E/step/trigger"
echo 0 >"$E/step/filter"
echo 0 >"$E/stepped/filter"

# --- snapshot (8114 to 8213)
afresh
echo 1 >"$E/step/enable"
echo 'snapshot:1 if n == 8150' >"$E/step/trigger"
tell t100
mapfile -t want < <(seq 8114 8150)
holds "snapshot: all up to the record" step snapshot "${want[@]}"
mapfile -t want < <(seq 8151 8213)
holds "and the buffer has the rest" step trace "${want[@]}"
echo '!snapshot' >"$E/step/trigger"
echo 0 >"$D/snapshot"

# --- stacktrace (8214 to 8223)
afresh
echo function_graph >"$D/current_tracer"
echo 1 >"$E/stepped/enable"
echo 'stacktrace:1 if n == 8220' >"$E/stepped/trigger"
tell 10
sed -n '/<stack trace>/,/pthread_cond_broadcast/p' "$D/trace" >"$T/got"
# as the kernel's: first the event's own function; its call may have been moved out of pace's way
[ "$(sed -n 's/ \*\/$//; s/\.cold$//; s/^ => //p' "$T/got" | head -4 | tr '\n' ' ')" = "brace__hit_steps_stepped pace walk main " ]
result "stacktrace: the calls that stand on the stack" $? "$T/got"
[ "$(grep -c '<stack trace>' "$D/trace")" = 1 ] && grep -B1 '<stack trace>' "$D/trace" | grep -q 'stepped: n=8220 '
result "behind the event, once" $? "$D/trace"
echo '!stacktrace' >"$E/stepped/trigger"
echo nop >"$D/current_tracer"

# --- two instances, the same event (8224 to 8323)
afresh
mkdir "$D/instances/mine"
M=$D/instances/mine
echo 1 >"$E/step/enable"
echo 1 >"$M/events/steps/step/enable"
echo 'traceoff:1 if n == 8240' >"$E/step/trigger"
echo 'traceoff:1 if n == 8250' >"$M/events/steps/step/trigger"
tell t100
mapfile -t want < <(seq 8224 8240)
holds "two instances: the top's trigger is its own" step trace "${want[@]}"
mapfile -t want < <(seq 8224 8250)
holds "and the other's" step instances/mine/trace "${want[@]}"
reads "each has its tracing_on" instances/mine/tracing_on 0
rmdir "$M"
echo '!traceoff' >"$E/step/trigger"

# --- in trace_pipe, as it comes (8324 to 8423)
afresh
echo 1 >"$E/step/enable"
echo 'traceoff:1 if n == 8333' >"$E/step/trigger"
exec {PIPE}<"$D/trace_pipe"
tell t100
n=0
while [ "$n" -lt 10 ] && read -rt "$LIMIT" -u "$PIPE" line; do n=$((n + 1)); done
[[ $line == *"step: n=8333 "* ]]
result "trace_pipe gives what was before, and in order" $?
reads "and no more" tracing_on 0
exec {PIPE}<&-
echo '!traceoff' >"$E/step/trigger"

# --- function commands (8424 ...)
afresh
echo function >"$D/current_tracer"
echo pace >"$D/set_ftrace_filter"
echo 'pace:traceoff:1' >>"$D/set_ftrace_filter"
tell 5 # to 8428
reads "function commands: traceoff" tracing_on 0
check_that "is done before the call is recorded" [ "$(grep -c 'pace <-walk$' "$D/trace")" = 0 ]
echo 1 >"$D/tracing_on"
tell 5 # to 8433
check_that "and as often as it says" [ "$(grep -c 'pace <-walk$' "$D/trace")" = 5 ]
reads "set_ftrace_filter shows what is left" set_ftrace_filter pace 'pace:traceoff:count=0'
echo '!pace:traceoff:0' >>"$D/set_ftrace_filter"
echo 'pace:enable_event:steps:stepped:1' >>"$D/set_ftrace_filter"
echo 'pace:snapshot:1' >>"$D/set_ftrace_filter"
echo >"$D/trace"
tell 3 # to 8436
holds "enable_event" stepped trace 8434 8435 8436
check_that "snapshot, before the call" [ "$(grep -c 'pace <-walk$' "$D/trace")" = 3 ]
echo '!pace:enable_event:steps:stepped:0' >>"$D/set_ftrace_filter"
echo '!pace:snapshot:0' >>"$D/set_ftrace_filter"
echo 0 >"$D/events/enable"
echo 'pace:stacktrace:2' >>"$D/set_ftrace_filter"
echo >"$D/trace"
tell 3 # to 8439
[ "$(grep -A2 '<stack trace>$' "$D/trace" | grep '^ =>' | tr '\n' ' ')" = ' => pace  => walk  => pace  => walk ' ]
result "stacktrace: under the function tracer, the call and its caller" $? "$D/trace"
echo '!pace:stacktrace:0' >>"$D/set_ftrace_filter"
echo >"$D/trace"
tell 2 # to 8441
echo 'pace:dump' >>"$D/set_ftrace_filter"
tell 2 # to 8443
[ "$(grep -c 'pace <-walk$' "$D/dump")" = 2 ] && [ "$(grep -c -- '---' "$D/dump")" = 2 ] && grep -qx 'Dumping ftrace buffer:' "$D/dump"
result "dump: what had been recorded" $? "$D/dump"
reads "and recording is off" tracing_on 0
echo 1 >"$D/tracing_on"
echo '!pace:dump' >>"$D/set_ftrace_filter"
reads "commands can be taken away" set_ftrace_filter pace

# --- beside other tracers: a call is one call, whoever records it
echo >"$D/trace"
echo nop >"$D/current_tracer"
mkdir "$D/instances/f" "$D/instances/g"
echo walk >"$D/instances/f/set_ftrace_filter"
echo function >"$D/instances/f/current_tracer"
echo 'pace:traceoff:1' >>"$D/set_ftrace_filter"
echo 'pace:stacktrace:7' >>"$D/instances/f/set_ftrace_filter"
echo function_graph >"$D/instances/g/current_tracer"
tell 10 # to 8453
reads "function and function_graph at once: a command of the one" instances/f/set_ftrace_filter walk 'pace:stacktrace:count=0'
reads "a command of who has no tracer" tracing_on 0
[ "$(grep -c 'walk <-main$' "$D/instances/f/trace")" = 1 ] && ! grep -q 'pace <-' "$D/instances/f/trace"
result "the tracer's own filter holds" $? "$D/instances/f/trace"
[ "$(grep '^ =>' "$D/instances/f/trace" | head -2 | tr '\n' ' ')" = ' => pace  => walk ' ]
result "the stack is the graph's" $? "$D/instances/f/trace"
[ "$(grep -c '  pace() {\|  pace();' "$D/instances/g/trace")" = 10 ]
result "the graph is whole" $? "$D/instances/g/trace"
check_that "and the top directory has nothing" [ "$(grep -vc '^#' "$D/trace")" = 0 ]
echo 'pace:traceoff:1' >>"$D/instances/g/set_ftrace_filter"
tell 10 # to 8463
[ "$(grep -c '  pace() {\|  pace();' "$D/instances/g/trace")" = 10 ]
result "a graph that is cut" $? "$D/instances/g/trace"
rmdir "$D/instances/f" "$D/instances/g"
echo '!pace:traceoff:0' >>"$D/set_ftrace_filter"
echo 1 >"$D/tracing_on"

# --- what is written by hand (8464 ...)
afresh
echo 1 >"$E/step/enable"
echo 'traceoff:1 if buf ~ "*enough*"' >"$D/events/ftrace/print/trigger"
echo 'first word' >"$D/trace_marker"
tell 2
echo 'it is enough' >"$D/trace_marker"
tell 2 # to 8467
[ "$(sed -n 's/.*tracing_mark_write: //p' "$D/trace" | tr '\n' ,)" = 'first word,it is enough,' ]
result "a marker's text" $? "$D/trace"
holds "triggers" step trace 8464 8465
echo '!traceoff' >"$D/events/ftrace/print/trigger"
echo 1 >"$D/tracing_on"

# --- what cannot be
! echo 'snapshot:x' 2>/dev/null >"$E/step/trigger" && ! echo hist:keys=nosuch 2>/dev/null >"$E/step/trigger"
result "a trigger that is none" $?
! echo 'pace:enable_event:steps:nonesuch' 2>/dev/null >>"$D/set_ftrace_filter"
result "a command for an event that is none" $?
end_program
[ "$STATUS" -eq 0 ] && [ "$SAID" = "done 8467" ]
result "the program ended as it would have" $?
check "umount" "$BRACE" umount "$D"
finish

#!/bin/bash
# Triggers by the command line: brace record, start and set with -R, and trace-cmd -R in brace
# shell. The program is that of triggers.sh.
. "$(dirname "$0")/lib.sh"
ANSWERS=steps
. "$(dirname "$0")/answers-lib.sh"
export XDG_RUNTIME_DIR=$T/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
# record NAME INPUT ARGUMENTS...: the program does what INPUT says; its trace as text in $T/got.
record() {
	printf '%s\nq\n' "$2" | timeout -k 5 "$LIMIT" "$BRACE" record -q -o "$T/t.brace" "${@:3}" -- "$A" >"$T/out" 2>"$T/err"
	result "$1" $? "$T/err"
	"$BRACE" replay --no-pager "$T/t.brace" >"$T/got" 2>&1
}
# holds NAME EVENT NUMBER...: $T/got has these records of the event.
holds() {
	[ $# -lt 3 ] || printf '%s\n' "${@:3}" >"$T/wanted"
	[ $# -ge 3 ] || : >"$T/wanted"
	sed -n "s/.* $2: n=\([0-9]*\) .*/\1/p" "$T/got" | cmp -s - "$T/wanted"
	result "$1" $? "$T/got"
}
# refused NAME WORDS ARGUMENTS...
refused() {
	timeout -k 5 "$LIMIT" "$BRACE" record -o "$T/none.brace" "${@:3}" -- "$A" </dev/null >"$T/out" 2>"$T/err"
	[ $? -eq 125 ] && grep -q -- "$2" "$T/err" && [ ! -e "$T/none.brace" ] && [ ! -s "$T/out" ]
	result "$1" $? "$T/err"
}

# --- record
record "record -R" t2000 -e steps:step -R 'traceoff:1 if n == 700'
mapfile -t want < <(seq 700)
holds "traceoff: up to the record, of all threads" step "${want[@]}"
grep -qx 'done 2000' "$T/out"
result "the program goes on" $? "$T/out"
record "several triggers, several events" 100 -e steps:step -f 'n < 4' -R 'enable_event:steps:stepped if n == 50' -e steps:stepped -f 'n < 60' \
	-R 'disable_event:steps:stepped if n == 55' -R 'traceoff if n == 90'
holds "the one is filtered" step 1 2 3
mapfile -t want < <(seq 54)
holds "the other switched and filtered" stepped "${want[@]}"
record "stacktrace" 5 -l pace -l walk -e steps:stepped -R 'stacktrace:2 if n > 2'
[ "$(sed 's/ \*\/$//; s/\.cold$//' "$T/got" | sed -n 's/^ => \(pace\|walk\|main\)$/\1/p' | tr '\n' ' ')" = 'pace walk main pace walk main ' ]
result "is in the file" $? "$T/got"
printf 'q\n' | "$BRACE" record -q -o "$T/t.brace" -e steps:step -R traceoff -- sh -c "cat; exit 7" >/dev/null 2>"$T/err"
[ $? -eq 125 ] && grep -q 'no event has this name' "$T/err"
result "an event that the program has not" $? "$T/err"
printf '9\nq\n' | timeout -k 5 "$LIMIT" "$BRACE" graph -q -o "$T/got" -l pace -e steps:step -R 'traceoff if n == 3' -- "$A" >"$T/out" 2>"$T/err"
[ $? -eq 0 ] && [ "$(grep -c 'pace() {' "$T/got")" = 3 ] && head -1 "$T/got" | grep -qx '# tracer: function_graph'
result "graph -R prints what is left" $? "$T/got"
holds "up to the record" step 1 2 3
refused "a trigger that is none" 'no trigger' -e steps:step -R nonesuch
refused "a filter of a field that is none" 'Field not found' -e steps:step -R 'traceoff if q == 1'
refused "a trigger without an event" 'name one before it' -R traceoff -e steps:step
refused "a snapshot, for which a file has no place" 'has no snapshot' -e steps:step -R snapshot

# --- a session
start_program
if ! "$BRACE" start -p "$PID" -e steps:step -R 'traceoff:1 if n == 8' -R 'snapshot:1 if n == 3' 2>"$T/err"; then
	grep -q ptrace "$T/err" || { not_ok start; diag "$T/err"; finish; }
	printf '1..%d # %s\n' "$TAP_N" "$(cut -d' ' -f2- "$T/err")"
	exit 0
fi
ON_EXIT+=("$BRACE reset" "kill $PID")
tell t20
"$BRACE" show snapshot >"$T/got"
holds "start -R: snapshot" step 1 2 3
"$BRACE" show >"$T/got"
holds "and traceoff" step 4 5 6 7 8
[ "$("$BRACE" show tracing_on)" = 0 ]
result "which show says" $?
"$BRACE" set -e steps:stepped -R 'traceoff:1 if n == 22' && "$BRACE" clear && "$BRACE" restart
result "set -R" $?
tell 20
"$BRACE" show >"$T/got"
holds "while it runs" stepped 21 22
holds "instead of what was set" step
"$BRACE" reset
end_program

# --- unmodified trace-cmd
if ! command -v trace-cmd >/dev/null; then
	skip "trace-cmd start -R" "no trace-cmd"
	finish
fi
if ! "$BRACE" shell -- true 2>"$T/err"; then
	skip "trace-cmd start -R" "$(head -1 "$T/err" | cut -d' ' -f2-)"
	finish
fi
start_program
mkfifo "$T/begun" "$T/stepped"
# in_shell SCRIPT: with $0 for $T; it says on $0/begun when the program is to take 10 steps, and
# reads $0/stepped when it has.
in_shell() {
	timeout -k 5 "$LIMIT" "$BRACE" shell -p "$PID" -- bash -c "$1" "$T" >"$T/got" 2>"$T/err" &
	read -rt "$LIMIT" _ <>"$T/begun"
	tell 10
	timeout "$LIMIT" sh -c 'echo >"$0"' "$T/stepped"
	wait $!
}
in_shell 'trace-cmd start -e steps:step -R "traceoff:1 if n == 5"; echo >"$0/begun"; read -r _ <"$0/stepped"
	trace-cmd show && trace-cmd stat && trace-cmd reset'
result "trace-cmd start -R" $? "$T/err"
holds "leaves what was before" step 1 2 3 4 5
grep -qx 'Tracing is disabled' "$T/got" && grep -q 'steps:step "traceoff:count=0 if n == 5"' "$T/got"
result "trace-cmd stat shows both" $? "$T/got"
in_shell 'trace-cmd record -q -o "$0/t.dat" -p function_graph -e steps:step -R "stacktrace:1 if n == 13" -e steps:stepped -R "traceoff:1 if n == 15" \
	bash -c "echo >$0/begun; read -r _ <$0/stepped" >"$0/out" 2>&1 && trace-cmd report "$0/t.dat"'
result "trace-cmd record -R" $? "$T/out"
sed -i 's/^\(.* step\): *n=/\1: n=/' "$T/got"
holds "in its pages, too" step 11 12 13 14 15
[ "$(sed -n '/kernel_stack:/,/stepped/p' "$T/got" | sed -n 's/\.cold / /; s/^=> \(brace__hit_[^ ]*\|pace\|walk\|main\) .*/\1/p' | tr '\n' ' ')" = \
	'brace__hit_steps_step pace walk main ' ]
result "with the stack, by name" $? "$T/got"
end_program
[ "$STATUS" -eq 0 ]
result "the program ends as it would have" $?
finish

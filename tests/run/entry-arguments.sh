#!/bin/bash
# Arguments of a call at its return, r: and f:...%return with $argN: each record has what the program says that it called with and got
# back: in recursion, on threads, in children, on a signal's stack, where longjmp leaves calls behind; arguments on the stack that the
# function writes over; memory as it is at the return. What could not be kept is counted, and never another call's.
. "$(dirname "$0")/lib.sh"
ANSWERS=entered
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
mkdir "$D"
E=$D/events/kprobes
NAMES="plain recurse leaves forks interrupted"

# seen NAME...: "NAME A B VALUE" of each record, sorted.
seen() {
	local name
	for name; do
		sed -n "s/.* $name: ([^)]*) a=\([-0-9]*\) b=\([-0-9]*\) v=\([-0-9]*\)\( \*\/\)*\$/$name \1 \2 \3/p" "$D/trace"
	done | sort
}
# said NAME...: the program's own lines.
said() {
	local name
	for name; do
		grep "^$name " "$T/program.err"
	done | sort
}
# equal NAME WHAT...: the records are what the program says.
equal() {
	local name=$1
	shift
	said "$@" >"$T/said"
	seen "$@" >"$T/seen"
	[ -s "$T/said" ] && cmp -s "$T/said" "$T/seen"
	result "$name" $? "$T/said" "$T/seen"
}
# profile EVENT: its hits and those missed.
profile() { awk -v e="$1" '$1 == e { print $2, $3 }' "$D/kprobe_profile"; }
again() {
	: >"$D/trace"
	: >"$T/program.err"
}

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
echo 16384 >"$D/buffer_size_kb"
for name in $NAMES deep hold; do
	echo "r:$name $name a=\$arg1:s64 b=\$arg2:s64 v=\$retval:s64"
done >"$D/kprobe_events"
result "arguments at a return are taken" $? "$D/error_log"
check_that "and listed as they were written" grep -qxF 'r:kprobes/plain plain a=$arg1:s64 b=$arg2:s64 v=$retval:s64' "$D/kprobe_events"
echo 'r:eight eight one=$arg1:s64 g=$arg7 h=$arg8:s32 v=$retval' >>"$D/kprobe_events" &&
	echo 'f:fill fill%return s=+0($arg1):string n=$arg2:s32' >>"$D/dynamic_events"
result "one on the stack, and f:" $? "$D/error_log"
! echo 'r:all eight $arg1 $arg2 $arg3 $arg4 $arg5 $arg6 $arg7 $arg8' 2>/dev/null >>"$D/kprobe_events" &&
	grep -qF 'too many arguments of the function: 7 are kept from its entry' "$D/error_log"
result "eight are too many" $? "$D/error_log"

for tracer in nop function_graph; do
	echo "$tracer" >"$D/current_tracer"
	again
	echo 1 >"$E/enable"
	echo 1 >"$D/events/fprobes/enable"
	tell r40 j30 s5 f7 a b
	echo 0 >"$E/enable"
	echo 0 >"$D/events/fprobes/enable"
	equal "$tracer: recursion, longjmp, children, a signal's stack" $NAMES
	check_that "$tracer: arguments on the stack" grep -qE ' eight: .* one=1 g=0x7 h=8 v=729( |$)' "$D/trace"
	check_that "$tracer: memory is as it is at the return" grep -qE ' fill: .* s="abcde" n=5( |$)' "$D/trace"
done
echo nop >"$D/current_tracer"
again
echo 1 >"$E/plain/enable"
tell t2000
echo 0 >"$E/plain/enable"
equal "on four threads" plain
read -r hits missed < <(profile plain)
check_that "none was missed" [ "$missed" = 0 ]
check_that "the profile has as many hits" [ "$hits" -ge 8000 ]

# --- what cannot be kept
again
echo 1 >"$E/deep/enable"
tell d9999
echo 0 >"$E/deep/enable"
read -r hits missed < <(profile deep)
check_that "deeper than there is room: each return is a record or counted ($hits + $missed)" [ $((hits + missed)) = 10000 ]
check_that "most of what there is room for is kept" [ "$hits" -ge 3000 ]
sed -n 's/.* deep: ([^)]*) a=\([0-9]*\) b=0 v=\([0-9]*\)$/\1 \2/p' "$D/trace" >"$T/deep"
check_that "and each record is of its own call" awk '$1 != $2 { bad = 1 } END { exit bad || !NR }' "$T/deep"

# A call that began before is missed; so is one whose place has words of a call that was left in another time of the event.
again
tell h5
echo 1 >"$E/hold/enable"
tell x
check_that "a call that began before the event was switched on" [ "$(profile hold)" = "0 1" ]
tell h6
echo 0 >"$E/hold/enable"
tell x
tell h7
echo 1 >"$E/hold/enable"
tell x
check_that "words of another call are never taken" [ "$(profile hold)" = "0 2" ]
tell h8
echo 1 >"$E/plain/enable"
tell x
equal_hold=$(seen hold)
check_that "an open call survives that another event is switched on" [ "$equal_hold" = "hold 8 1 9" ]
echo 0 >"$E/enable"
"$BRACE" umount "$D" >"$T/left" 2>&1
end_program
check_that "the program ends as ever" [ "$STATUS" = 0 ]

# --- the command line
printf '%s\n' r3 q >"$T/commands"
"$BRACE" probe 'recurse%return a b $retval' -- "$A" <"$T/commands" >"$T/out" 2>"$T/err"
seen_by_name=$(grep -c 'recurse.* a=[0-3] b=[0-6] ' "$T/out")
[ "$seen_by_name" = 4 ]
result "brace probe, by the names of the source" $? "$T/out" "$T/err"
"$BRACE" hist 'recurse%return $arg1 $retval' -- "$A" <"$T/commands" >"$T/out" 2>"$T/err"
for n in 0 1 2 3; do
	grep -qE "\{ arg1: +$n, retval: +$((n + 1)) \} hitcount: +1\$" "$T/out" || break
done
result "brace hist of arguments and value" $? "$T/out" "$T/err"
printf '%s\n' d9999 q >"$T/commands"
"$BRACE" hist 'deep%return $arg1.log2' -- "$A" <"$T/commands" >"$T/out" 2>"$T/err"
check_that "its summary tells what is missing" grep -qE '[0-9,]+ returns of uprobes:deep__return are not recorded' "$T/err"
finish

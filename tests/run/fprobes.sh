#!/bin/bash
# Events at functions by `f:` in dynamic_events: one function's begin and its return, many functions
# by a pattern, with arguments; listed, refused, removed. The program says how often it was there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
mkdir "$D"
E=$D/events/fprobes

define() { printf '%s\n' "$1" >>"$D/dynamic_events"; }
# refused NAME SENTENCE COLUMN TEXT: it is not taken, and error_log says why, with the caret.
refused() {
	: >"$D/error_log"
	! define "$4" 2>"$T/err" && printf '%s\n' "  Command: $4" "$(printf '%*s^' $((11 + $3)) '')" >"$T/wanted" &&
		head -n 1 "$D/error_log" | grep -qF -- "trace_fprobe: error: $2" && tail -n +2 "$D/error_log" | cmp -s - "$T/wanted"
	result "$1" $? "$D/error_log"
}
count() { [ "$(grep -c -- "$2" "$D/trace")" = "$1" ]; }
listed() { [ "$(cat "$D/dynamic_events")" = "$1" ]; }

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
L='f:fprobes/request__entry request n=$arg1:s32
f:fprobes/request__exit request%return arg1=$retval:x64
f:fprobes/many [lr]e[aq]* first=$arg1:s32'
while read -r line; do define "$line"; done <<'LINES'
f request n=$arg1:s32
f request $retval:x64
f:many [lr]e[aq]* first=$arg1:s32
LINES
check_that "a function's begin, its return, and many functions are defined" listed "$L"
check_that "and are no kprobes" [ ! -s "$D/kprobe_events" ]

# --- refused
refused "an instruction inside of a function" 'Failed to register probe event' 2 'f request+4'
refused "a register" 'Invalid $-variable specified' 10 'f request %di'
refused "a number before an event's name" 'Maxactive is only for function exit' 1 'f10 request'
refused "many without a name" 'an event at several functions wants a name' 0 'f re*'
refused "none of that pattern" 'no function matches' 6 'f:any absent*'
refused "an argument that none can have" 'Unknown type is specified' 25 'f:any [lr]e[aq]* a=$arg1:u8:u32'
refused "a function that the event has" 'There is already the exact same probe event' 0 'f:many leaf first=$arg1:s32'
refused "of another kind" 'Probe type is different from existing probe' 0 'f:many main%return first=$retval:s32'
refused "the value of a function that returns nothing, by its manual" "This function returns 'void' type" 17 'f libc.so.6:free $retval'
check_that "nothing of these is left" listed "$L"
define 'f:closed libc.so.6:close $retval'
define 'f:read libc.so.6:read n=$retval'
grep -qP '\tfield:s32 arg1;' "$E/closed/format" && grep -qP '\tfield:s64 n;' "$E/read/format"
result "the C library's functions return what their manuals say" $? "$E/closed/format"
define '-:closed'
define '-:read'

# --- recorded
echo 1 >"$E/enable"
tell 3
count 1 'request__entry: (request+0x0) n=3$' && count 1 'request__exit: ([a-z_]*+0x[0-9a-f]* <- request) arg1='
result "one function" $? "$D/trace"
count 1 'many: (request+0x0) first=3$' && count 3 'many: (leaf+0x0) first='
result "many functions, each with its place" $? "$D/trace"
! define '-:many' 2>/dev/null
result "what is enabled is not removed" $?
echo 0 >"$E/enable"

# --- removed
define 'f:many main first=$arg1:s32'
define '-:many [lr]e[aq]*'
check_that "one line is removed, whatever it matched" [ "$(tail -n 1 "$D/dynamic_events")" = 'f:fprobes/many main first=$arg1:s32' ]
define '-:fprobes/'
check_that "the group is" listed ''
"$BRACE" umount "$D" 2>"$T/err"
end_program
check_that "the program ends as ever" [ "$STATUS" = 0 ]
finish

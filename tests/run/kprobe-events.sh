#!/bin/bash
# kprobe_events of the mounted tree: events defined at functions of a program that runs by their
# symbols, at their begin, inside of them and when they return, with arguments; listed, in
# dynamic_events too, and removed. The program says how often it was there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
mkdir "$D"
E=$D/events/kprobes

# refused NAME SENTENCE COLUMN TEXT: it is not taken, and error_log says why, with the caret.
refused() {
	: >"$D/error_log"
	! printf '%s\n' "$4" 2>"$T/err" >>"$D/kprobe_events" &&
		printf '%s\n' "  Command: $4" "$(printf '%*s^' $((11 + $3)) '')" >"$T/wanted" &&
		head -n 1 "$D/error_log" | grep -qF -- "trace_kprobe: error: $2" && tail -n +2 "$D/error_log" | cmp -s - "$T/wanted"
	result "$1" $? "$D/error_log"
}
listed() { [ "$(cat "$D/kprobe_events")" = "$1" ]; }
count() { [ "$(grep -c "$2" "$D/trace")" = "$1" ]; }

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")

# --- defined
check_that "nothing is defined at first" listed ''
echo 'p:asked request n=$arg1:u64 s=$comm d=+0($stack):x64' >"$D/kprobe_events"
result "an event at a function's begin" $? "$D/error_log"
echo 'r10:grp/said request $retval:s32' >>"$D/kprobe_events"
result "one when it returns" $? "$D/error_log"
echo 'p request%return' >>"$D/kprobe_events"
result "one that gets its name" $? "$D/error_log"
L='p:kprobes/asked request n=$arg1:u64 s=$comm d=+0($stack):x64
r10:grp/said request arg1=$retval:s32
r:kprobes/r_request_0 request'
check_that "they are listed as they were written" listed "$L"
check_that "in dynamic_events too" [ "$(cat "$D/dynamic_events")" = "$L" ]
check_that "and not in uprobe_events" [ ! -s "$D/uprobe_events" ]
check_that "the format names a function" grep -qF 'print fmt: "(%pS) n=%Lu s=\"%s\" d=0x%Lx"' "$E/asked/format"

# --- refused, in the kernel's words
refused "no such function" 'Invalid probed address or symbol' 2 'p absent'
refused "no function of that module" 'Invalid probed address or symbol' 2 'p libc.so.6:request'
refused "a return inside of a function" 'Retprobe address must be an function entry' 2 'r request+4'
refused "a wrong suffix" 'Invalid probed address suffix' 9 'p request%back'
refused "a number before a probe's name" 'Maxactive is only for function exit' 1 'p10 request'
refused "a number that is none" 'Invalid maxactive number' 1 'r1a:x request'
refused "a number that is too large" 'Maxactive is too big' 1 'r100000 request'
refused "an argument inside of a function" '$arg* can be used only on function entry or exit' 12 'p request+1 $arg1'
refused "a symbol that the file does not have" 'the probed file has no such symbol' 10 'p request @absent'
refused "an offset in the file" 'File offset is not available with kprobe' 10 'p request @+10'
! echo "p $A:0x10" 2>/dev/null >>"$D/kprobe_events"
result "a place in a file is not one of kprobe_events" $?
refused "a second one of that name: another kind" 'Probe type is different from existing probe' 0 'r:asked request'
refused "another argument" 'Argument type or name is different from existing probe' 28 'p:asked request n=$arg1:u64 s=$stack1 d=$stack'
refused "the same" 'There is already the exact same probe event' 0 'p:asked request n=$arg1:u64 s=$comm d=+0($stack):x64'
refused "another way to print it" 'Argument type or name is different from existing probe' 13 'p:asked leaf n=$arg1:x64 s=$comm d=$stack'
check_that "nothing of these is left" listed "$L"

# --- recorded
tell 1
check_that "nothing is recorded before it is enabled" [ "$(grep -cE 'asked|said' "$D/trace")" -eq 0 ]
echo 1 >"$E/asked/enable"
echo 1 >"$D/events/grp/said/enable"
tell 3 t4 5
count 3 ' asked: (request+0x0) n=[345] s="answers" d=0x[0-9a-f]*$' && grep -q ' n=3 s=' "$D/trace"
result "each call with its argument" $? "$D/trace"
count 3 ' said: ([A-Za-z_]*+0x[0-9a-f]* <- request) arg1=-\?[0-9]*$'
result "and its return" $? "$D/trace"
printf '  %-44s %15s %15s\n' asked 3 0 said 3 0 r_request_0 0 0 >"$T/wanted"
cmp -s "$D/kprobe_profile" "$T/wanted"
result "kprobe_profile counts them" $? "$D/kprobe_profile"
refused "what is enabled is not removed" 'kprobes:asked is in use: disable it first' 0 '-:asked'
echo 0 >"$E/asked/enable"
echo 0 >"$D/events/grp/said/enable"

# --- several places of one event
L='p:kprobes/places request n=%di:u64
p:kprobes/places leaf n=$stack:u64'
echo "$L" >"$D/kprobe_events"
check_that "a second definition is another place" listed "$L"
refused "once" 'There is already the exact same probe event' 0 'p:places leaf n=$stack:u64'
: >"$D/trace"
echo 1 >"$E/places/enable"
tell 3
count 1 'places: (request+0x0) n=3$' && count 3 'places: (leaf+0x0) n='
result "each place is recorded" $? "$D/trace"
refused "none is added to an event that is enabled" 'kprobes:places is in use: disable it before it gets another place' 0 'p:places main n=%di:u64'
refused "and none removed" 'kprobes:places is in use: disable it first' 0 '-:places leaf'
echo 0 >"$E/places/enable"
echo '-:places request' >>"$D/kprobe_events" && listed "${L#*$'\n'}" && [ -e "$E/places" ]
result "one place is removed" $? "$D/error_log"
echo 1 >"$E/places/enable"
tell 2
count 1 'places: (request+0x0)' && count 5 'places: (leaf+0x0) n='
result "and recorded no more" $? "$D/trace"
echo 0 >"$E/places/enable"
echo "${L%$'\n'*}" >>"$D/kprobe_events" && echo '-:places' >>"$D/kprobe_events" && listed '' && [ ! -e "$E/places" ]
result "a name removes all" $? "$D/error_log"
# --- an address, as kallsyms has it
address=$(sed -n 's/^0*\([0-9a-f]*\) t leaf$/\1/p' "$D/kallsyms")
L="p:kprobes/p_0x$address 0x$address n=\$arg1:u64"
echo "p 0x0000$address n=\$arg1:u64" >"$D/kprobe_events"
check_that "an address in place of a function" listed "$L"
refused "one that no program has" 'Failed to register probe event' 2 'p 0x123'
refused "an address within a function has no return" 'Retprobe address must be an function entry' 2 "r $((0x$address + 1))"
: >"$D/trace"
echo 1 >"$E/p_0x$address/enable"
tell 3
count 3 "p_0x$address: (leaf+0x0) n="
result "its place is the function" $? "$D/trace"
echo 0 >"$E/p_0x$address/enable"
echo >"$D/kprobe_events"
echo 'r10:grp/said request $retval:s32' >>"$D/kprobe_events"

# --- variables, as nm has them
nm -S "$A" | sed -n 's/^\([0-9a-f]*\) 0*[1-9a-f][0-9a-f]* \([dDbBrR]\) \([^@]*\).*/\1 \2 \3/p' | while read -r at rest; do
	printf '%016x %s\n' $((0x$at + 0x$address - 0x$(nm "$A" | sed -n 's/ [tT] leaf$//p'))) "$rest"
done | sort >"$T/wanted"
grep ' [dDbBrR] [^[:space:]]*$' "$D/kallsyms" | grep -v '\[unknown\]$' | sort >"$T/variables"
[ "$(wc -l <"$T/wanted")" -ge 3 ] && cmp "$T/wanted" "$T/variables" >>"$T/err" 2>&1
result "kallsyms has the program's variables, their places and kinds" $? "$T/variables"
check_that "and those of libraries" grep -q ' [BV] _*environ'$'\t''\[libc\.so\.6\]$' "$D/kallsyms"
check_that "which no list of functions has" [ -z "$(grep -wF -f <(awk '{ print $3 }' "$T/variables") "$D/available_filter_functions_addrs")" ]

# --- removed
echo '-:grp/said request arg1=$retval:s32' >>"$D/kprobe_events" && [ ! -e "$D/events/grp" ]
result "an event is removed by its place and arguments" $? "$D/error_log"
echo "p:other $A:0x$(nm "$A" | sed -n 's/^0*\([0-9a-f]*\) t request$/\1/p')" >>"$D/uprobe_events"
: >"$D/kprobe_events"
check_that "and > removes those that functions have" [ "$(cat "$D/dynamic_events")" = "$(cat "$D/uprobe_events")" ]
check "umount" "$BRACE" umount "$D"
end_program
[ "$STATUS" -eq 0 ]
result "the program ends as it should" $?
finish

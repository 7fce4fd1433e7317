#!/bin/bash
# uprobe_events and dynamic_events of the mounted tree: events defined at an instruction of a
# program that runs, with what is fetched there, their directories, a filter, a trigger, removal.
# The program says how often it was there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
need readelf nm
D=$T/tree
mkdir "$D"
E=$D/events/uprobes/request

# refused NAME ERRNO-SENTENCE SENTENCE TEXT: uprobe_events does not take it, and error_log says why.
refused() {
	! printf '%s\n' "$4" 2>"$T/err" >>"$D/uprobe_events" && grep -q "$2" "$T/err" && grep -qF -- "$3" "$D/error_log"
	result "$1" $? "$D/error_log"
}
listed() { [ "$(cat "$D/uprobe_events")" = "$1" ] && [ "$(cat "$D/dynamic_events")" = "$1" ]; }
count() { [ "$(grep -c "$2" "$D/trace")" = "$1" ]; }

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
O=$(offset request 0x%x)
L="p:uprobes/request $A:$(printf '0x%016x' "$O") n=%di:u64 s=\$comm"

# --- defined
check_that "nothing is defined at first" listed ''
echo "p:request $A:$O n=%di:u64 s=\$comm" >"$D/uprobe_events"
result "an event is defined" $? "$D/error_log"
check_that "and listed, as the kernel lists it" listed "$L"
check_that "and has its directory" [ "$(cd "$E" && echo enable filter for* id trig*)" = "enable filter format id trigger" ]
check_that "and its format" grep -qF 'field:u64 n;	offset:16;	size:8;	signed:0;' "$E/format"
check_that "and is among all events" grep -qx uprobes:request "$D/available_events"
mkdir "$D/instances/i"
check_that "and in an instance" [ -e "$D/instances/i/events/uprobes/request/enable" ]
refused "a second one of that name" 'File exists' 'Argument type or name is different' "p:request $A:$O"
refused "twice the same" 'File exists' 'There is already the exact same probe event' "$L"
refused "no such file" 'No such file' 'Failed to find the given file' "p:x $T/absent:$O"
refused "no regular file" 'Invalid' 'Not a regular file' "p:x $T/:$O"
refused "no such register" 'Invalid' 'Invalid register name' "p:x $A:$O %zz"
refused "where no code is" 'Invalid' 'no probe fits at this offset' "p:x $A:0x1"
refused "no such event to remove" 'No such file' 'there is no such event' "-:absent"
refused "a group that a file is named as" 'File exists' 'a file in events has this name already' "p:enable/x $A:$O"
refused "an event that a file is named as" 'File exists' 'a file in events has this name already' "p:x/filter $A:$O"
check_that "nothing of these is left" listed "$L"
check_that "and the files are there" [ -f "$D/events/enable" ]

# --- recorded
tell 1
check_that "it records nothing before it is enabled" count 0 request:
echo 1 >"$E/enable"
tell 3 t4 5
count 3 'request: (' && grep -q 'request: (0x[0-9a-f]*) n=3 s="answers"' "$D/trace" && grep -q ' n=4 s=' "$D/trace"
result "each time, in each thread, with its values" $? "$D/trace"
# The kernel's lines of five hits each (golden/k6.12-own.uprobe_profile.after.txt) are of the form that is wanted here.
profile_of() { printf '  %s %-44s %15d\n' "$@"; }
{ profile_of /usr/lib/x86_64-linux-gnu/libc.so.6 w 5 && profile_of /usr/lib/x86_64-linux-gnu/libc.so.6 wr 5; } |
	cmp -s - "$HERE/golden/k6.12-own.uprobe_profile.after.txt" && [ "$(cat "$D/uprobe_profile")" = "$(profile_of "$A" request 3)" ]
result "uprobe_profile counts them, in the kernel's form" $? "$D/uprobe_profile"
echo 'n > 5' >"$E/filter"
tell 5 6
check_that "a filter" count 4 'request: ('
refused "what is enabled is not removed" 'busy' 'is in use' '-:request'
! (: >"$D/uprobe_events") 2>/dev/null
result "nor by >" $?
echo 0 >"$E/enable"
echo 0 >"$E/filter"
echo 'traceoff if n == 8' >"$E/trigger"
refused "nor what has a trigger" 'busy' 'is in use' '-:request'
tell 7 8
check_that "a trigger" [ "$(cat "$D/tracing_on")" = 0 ]
echo '!traceoff if n == 8' >>"$E/trigger"
echo 1 >"$D/instances/i/events/uprobes/request/enable"
refused "nor what an instance records" 'busy' 'is in use' '-:request'
echo 0 >"$D/instances/i/events/uprobes/request/enable"

# --- removed
for words in "$A:$O" "$A:$(printf '0x%016x' "$O") n=%si:u64" "$A:$(printf '0x%016x' "$O") s=\$comm" "${L#* } more=%di"; do
	refused "no event with that place or these arguments: ${words#"$A:"}" 'No such file' 'there is no such event' "-:request $words"
done
check_that "of which none went" listed "$L"
echo "-:request ${L#* }" >>"$D/uprobe_events" && listed '' && echo "$L" >>"$D/uprobe_events"
result "an event is removed by its place and its arguments" $? "$D/error_log"
echo "-:request $A:$(printf '0x%016x' "$O") n=%di:u64" >>"$D/uprobe_events" && listed '' && echo "$L" >>"$D/uprobe_events"
result "and by the first of them" $? "$D/error_log"
echo '-:request' >>"$D/uprobe_events"
result "an event is removed" $? "$D/error_log"
check_that "and not listed" listed ''
check_that "and its directories are gone" [ ! -e "$D/events/uprobes" ]
check_that "also the instance's" [ ! -e "$D/instances/i/events/uprobes" ]
check_that "its records stay" count 4 'request: ('
printf 'p:a %s:%s\n# a comment\n\np:b %s:%s %%di # another\np:c %s:%s\n' "$A" "$O" "$A" "$O" "$T/absent" "$O" 2>/dev/null >"$D/uprobe_events"
check_that "of several lines those before a wrong one stay" [ "$(wc -l <"$D/uprobe_events")" = 2 ]
echo "-:uprobes/" >>"$D/dynamic_events"
check_that "a group is removed" listed ''
M="p:uprobes/both $A:$(printf '0x%016x' "$O") n=%di:u64
p:uprobes/both $A:$(offset leaf) n=%si:u64"
echo "$M" >"$D/uprobe_events"
check_that "an event can have several places" listed "$M"
echo "-:both $A:$(offset leaf)" >>"$D/uprobe_events"
check_that "of which each can be removed" listed "${M%$'\n'*}"
: >"$D/uprobe_events"
echo "p:request $A:$O m=%di:s32" >>"$D/uprobe_events"
echo 1 >"$D/tracing_on"
echo 1 >"$E/enable"
tell 9
check_that "the name can be had again, with other fields" count 1 'request: (0x[0-9a-f]*) m=9$'
echo 0 >"$E/enable"
for ((i = 1; i < 60; i++)); do echo "p:e$i $A:$O"; done >"$T/lines"
cat "$T/lines" >>"$D/uprobe_events"
refused "one more than an instruction can have" 'No space' 'there are 60 events at this instruction already' "p:more $A:$O"
echo 1 >"$D/events/uprobes/enable"
echo >"$D/trace"
tell 1
check_that "all that could be defined are recorded" [ "$(grep -o ' e[0-9]*: (' "$D/trace" | sort -u | wc -l)" = 59 ]
echo 0 >"$D/events/uprobes/enable"
: >"$D/uprobe_events"
check_that "> removes all" listed ''
rmdir "$D/instances/i"
result "and the instance goes" $?
tell 2
"$BRACE" umount "$D" 2>"$T/err"
end_program
check_that "the program ends as ever" [ "$STATUS" = 0 ]
finish

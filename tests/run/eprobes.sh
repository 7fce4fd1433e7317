#!/bin/bash
# Events on the fields of other events (`e:` in dynamic_events of the mounted tree): of a probe, of a
# system call, of a fork, of a synthetic event; their names, text, filter, memory, triggers; what is
# busy, and removal. The program says how often it was there. The grammar is compared with a real
# kernel's answers by oracle.sh.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
D=$T/tree
E=$D/events
mkdir "$D"

define() { printf '%s\n' "$1" >>"$D/dynamic_events"; }
# refused NAME ERRNO-SENTENCE SENTENCE TEXT: dynamic_events does not take it, and error_log says why.
refused() {
	! define "$4" 2>"$T/err" && grep -q "$2" "$T/err" && tail -n 3 "$D/error_log" | grep -qF -- "$3"
	result "$1" $? "$D/error_log"
}
count() { [ "$(grep -c -- "$2" "$D/trace")" = "$1" ]; }
listed() { [ "$(cat "$D/dynamic_events")" = "$1" ]; }

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
P='p:kprobes/req request n=$arg1:s32 at=&@leaves'
L='e:eprobes/some kprobes.req n=$n:s32 next=+0($at):u64'
define "$P" && define 'e:some kprobes/req n=$n:s32 next=+0($at):u64 if n != 7'
result "an event on a probe's fields is defined" $? "$D/error_log"
check_that "and listed, as the kernel lists it" [ "$(tail -n 1 "$D/dynamic_events")" = "$L" ]
check_that "and has its directory" [ "$(cd "$E/eprobes/some" && echo enable filter for* id trig*)" = "enable filter format id trigger" ]
check_that "and its format" grep -qF 'print fmt: " n=%d next=%Lu", REC->n, REC->next' "$E/eprobes/some/format"

# --- records
tell 1
check_that "it records nothing before it is enabled" count 0 some:
echo 1 >"$E/eprobes/some/enable"
check_that "the other event is at work, and off" [ "$(cat "$E/kprobes/req/enable")" = '0*' ]
tell 3 7 t4 0
count 3 'some: (kprobes.req) n=' && grep -q 'some: (kprobes.req) n=0 next=15$' "$D/trace"
result "each time, in each thread, with its filter, and with the program's memory" $? "$D/trace"
check_that "the other event is not recorded" count 0 'req:'
echo 'n == 2' >"$E/eprobes/some/filter"
tell 2 1
check_that "a filter of its own" count 4 'some: ('
echo 1 >"$E/kprobes/req/enable"
tell 2
count 1 'req: (request' && count 5 'some: ('
result "both are recorded" $? "$D/trace"
[ "$(grep -o ' \(req\|some\): (' "$D/trace" | tail -n 2 | tr -d ' \n')" = 'req:(some:(' ]
result "the other event's record is the first of the two" $? "$D/trace"
echo 0 >"$E/kprobes/req/enable"
mkdir "$D/instances/i"
echo 1 >"$D/instances/i/events/eprobes/some/enable"
echo 0 >"$E/eprobes/some/enable"
echo 0 >"$E/eprobes/some/filter"
tell 1
count 5 'some: (' && [ "$(grep -c 'some: (' "$D/instances/i/trace")" = 1 ]
result "an instance has it by itself" $? "$D/instances/i/trace"
echo 'hist:keys=n' >"$E/eprobes/some/trigger"
tell 5 5 7 6
grep -q '{ n:          5 } hitcount:          2' "$E/eprobes/some/hist" && grep -q 'Hits: 3' "$E/eprobes/some/hist"
result "a histogram of it" $? "$E/eprobes/some/hist"
rmdir "$D/instances/i"

# --- names, removal
refused "its event is in use" 'busy' 'kprobes:req is in use: remove the events on its fields first' '-:kprobes/req'
refused "and it, with a trigger" 'busy' 'is in use: disable it first' '-:some'
echo '!hist:keys=n' >>"$E/eprobes/some/trigger"
refused "a second one of that name" 'File exists' 'already used by another event' 'e:some kprobes/req'
refused "none on such an event" 'No such device' 'Attached event does not exist' 'e:two eprobes/some'
refused "no such field" 'Invalid' 'Invalid $-variable specified' 'e:two kprobes/req a=$absent'
refused "a filter on no such field" 'Invalid' 'Field not found' 'e:two kprobes/req if absent == 1'
grep -qF '  Command: absent == 1' "$D/error_log"
result "whose text is in error_log" $? "$D/error_log"
refused "a name that a file has" 'File exists' 'a file in events has this name already' 'e:enable/x kprobes/req'
refused "none with other arguments" 'No such file' 'there is no such event to remove' '-:some kprobes/req n=$n'
refused "nor with ! and others" 'No such file' 'there is no such event to remove' '!e:some kprobes/req n=$n'
check_that "all is as before" [ "$(tail -n 1 "$D/dynamic_events")" = "$L" ]
for words in '-:some' '-:eprobes/some kprobes/req' '-:some kprobes.req n=$n:s32' '!e:some kprobes/req' '-:eprobes/'; do
	define "$words" && [ "$(wc -l <"$D/dynamic_events")" = 1 ] && [ ! -e "$E/eprobes" ] && define "$L"
	result "it is removed: $words" $? "$D/error_log"
done
! (: >"$D/kprobe_events") 2>/dev/null
result "> of kprobe_events does not remove what it is made of" $?
: >"$D/dynamic_events"
check_that "> of dynamic_events removes both" listed ''
define "-:eprobes/" 2>/dev/null

# --- of other events
: >"$D/trace"
define 'e:said syscalls/sys_enter_write fd=$fd:u32 text=+0($buf):string c=$comm:string if fd == 1'
define 'e:born sched/sched_process_fork child=$child_pid:s32 of=$parent_comm:string'
echo 'told s32 n' >"$D/synthetic_events"
define 'e:heard synthetic/told n=$n'
define "$P"
echo 'hist:keys=common_pid:v=n:onchange($v).trace(told,n)' >"$E/kprobes/req/trigger"
echo 1 >"$E/eprobes/enable"
tell 5 f3
count 2 'said: (syscalls.sys_enter_write) fd=1 text="done [0-9]* *" c="answers"'
result "of a system call, with the bytes of that moment" $? "$D/trace"
grep -Eq 'born: \(sched.sched_process_fork\) child=[0-9]+ of="answers"' "$D/trace" && count 1 born:
result "of a fork" $? "$D/trace"
grep -q 'heard: (synthetic.told) n=0x5$' "$D/trace" && grep -q 'heard: (synthetic.told) n=0x3$' "$D/trace"
result "of a synthetic event, in a child, too" $? "$D/trace"
refused "which is in use" 'busy' 'synthetic:told is in use' '-:synthetic/told'
echo 0 >"$E/eprobes/enable"
"$BRACE" umount "$D" 2>"$T/err"
end_program
check_that "the program ends as ever" [ "$STATUS" = 0 ]
finish

#!/bin/bash
# A signal between any two instructions of trampolines, stubs and the agent's slow paths:
# tests/targets/stepper.c checks every register and every return itself.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
LIMIT=300

export STEPS=$T/stacks
same "handlers that return" -- "$FIXTURES/stepper"
same "handlers that return, with a depth limit" --max-graph-depth 1000 -- "$FIXTURES/stepper"
same "handlers that return, with values" -O funcgraph-retval -- "$FIXTURES/stepper"
same "handlers that return, function tracer" -t function -- "$FIXTURES/stepper"
check_that "from everywhere they see the whole stack" \
	awk '/stack complete/ { n++; partial += $NF } END { exit n < 60 || partial }' "$STEPS"
# With arguments: registers of each call, and a string to which one full of random bits leads.
same "handlers that return, with arguments" --args='?*' --retval -- "$FIXTURES/stepper"
check_that "the arguments were read" test "$("$BRACE" replay "$T/trace" | grep -cE ' typed\(number=.*, text=.*, half=.*, narrow=-?[0-9]+\)')" = 2
# The code of probes: at entries of hooked functions; where instructions move before the probe and
# behind it, one that branches, a call, through an island; at system calls.
export STEPS=$T/probed
PROBES=(-e 'raw_syscalls:*' -e 'syscalls:sys_*_getppid' -e 'p:c calling')
same "handlers that return, probes" -p function_graph "${PROBES[@]}" -e 'p:a framed' -e 'p:b branching' -- "$FIXTURES/stepper"
check_that "each was met" test "$("$BRACE" replay "$T/trace" | grep -cE '/\* [abc]: ')" = 3
same "handlers that return, probes inside of functions" -p function_graph -n framed -n branching -n calling -n hop \
	"${PROBES[@]}" -e 'p:a framed+1' -e 'p:b branching+1' -e 'p:d hop' -- "$FIXTURES/stepper"
check_that "each was met there, too" test "$("$BRACE" replay "$T/trace" | grep -cE '/\* [abcd]: ')" = 4
check_that "from the code of probes they see the whole stack" \
	awk '/stack complete/ { n++; partial += $NF } END { exit n < 80 || partial }' "$STEPS"
unset STEPS
same "handlers of faults see the program's own instruction, which a probe moved" -p function_graph \
	-n 'loads_*' -n 'divides_*' -e 'p:a loads_first' -e 'p:b loads_second+2' -e 'p:c loads_third+1' -e 'p:d divides_second+3' \
	-- "$FIXTURES/pcs"
check_that "the probes were met" test "$("$BRACE" replay "$T/trace" | grep -cE '/\* [abcd]: ')" -ge 800
# The calls' own instructions too: all events of one at once, and each by itself through the general
# way, for its filter.
SYSTEM=(-p nop -e 'raw_syscalls:*' -e 'syscalls:sys_*_getppid')
same "handlers that return, system calls" "${SYSTEM[@]}" -- "$FIXTURES/stepper"
check_that "the calls were led" test "$("$BRACE" replay "$T/trace" | grep -c 'NR 110 ')" = 12
# A call with a copy of what its argument leads to, and with room for one that stays empty.
for bytes in 63 0; do
	same "handlers that return, copies of $bytes bytes" -p nop -e 'syscalls:sys_*_access' --syscall-bytes $bytes \
		-- "$FIXTURES/stepper" return named
	check_that "the calls were led, with copies of $bytes bytes" test "$("$BRACE" replay "$T/trace" | grep -c 'sys_enter_access')" = 2
done
# A filter is machine code among the data of a probe, which the agent calls.
export STEPS=$T/filters
same "handlers that return, filtered system calls" -p nop -e raw_syscalls:sys_enter -f 'id != 1' -e raw_syscalls:sys_exit -f 'id != 1' \
	-- "$FIXTURES/stepper"
same "handlers that return, a filtered probe" -p nop -e 'p:a framed n=%di:u64' -f 'n != 7' -- "$FIXTURES/stepper"
check_that "from filters they see the whole stack" \
	awk '/stack complete/ { n++; complete += $(NF - 2); partial += $NF } END { exit n < 40 || complete < 3000 || partial }' "$STEPS"
unset STEPS
same "handlers that jump, system calls" "${SYSTEM[@]}" -- "$FIXTURES/stepper" jump
# A program's own event, with handlers that are traced functions.
same "handlers that return, an event" -p function_graph -e stepper:at -- "$FIXTURES/stepper"
check_that "every record is there" test "$("$BRACE" replay "$T/trace" | grep -c '/\* at: a=1234567890123 b=[012] c=-7 \*/')" = 3
STEPS=$T/steps record --mode block -e stepper:at "${SYSTEM[@]}" -p function_graph -- "$FIXTURES/stepper"
"$BRACE" replay "$T/trace" >"$T/text"
check_that "nor is a record of a handler's overwritten" test "$(grep -c ' on_return() {' "$T/text")" = \
	"$(awk '{ for (i = 2; i <= NF; i++) if ($i == "signals,") n += $(i - 1) } END { print n }' "$T/steps")"
nothing_lost "and nothing is lost"
same "handlers that return, a filtered event" -p function_graph -e stepper:at -f 'b == 2 && c < 0' -- "$FIXTURES/stepper"
check_that "and the one that passes" test "$("$BRACE" replay "$T/trace" | grep -c '/\* at: ')" = 1

same "handlers that jump" -- "$FIXTURES/stepper" jump
same "handlers that end their thread" -- "$FIXTURES/stepper" unwind
finish

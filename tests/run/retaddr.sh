#!/bin/bash
# funcgraph-retaddr: where each call was made, held against objdump's disassembly: of a trace file,
# of the tree's trace, of a snapshot. The program (tests/targets/returns.c) has threads, tail calls,
# longjmp and signal handlers.
. "$(dirname "$0")/lib.sh"
need objdump nm
PYTHON=$(readlink -f /usr/bin/python3)
export RETURNS=$T/notes
D=$T/tree
mkdir "$D"

# holds NAME: each address of the graph is where the disassembly has the call
holds() {
	"$PYTHON" "$HERE/retaddr.py" "$FIXTURES/returns" "$T/graph" >"$T/out" 2>&1
	local status=$?
	result "$1: $(tail -n 1 "$T/out")" "$status" "$T/out"
}
"$BRACE" record -q --mode block -o "$T/trace" -- "$FIXTURES/returns" 7 3000 1 2>"$T/err"
result "recorded" $? "$T/err"
"$BRACE" replay "$T/trace" -O funcgraph-proc -O funcgraph-retaddr >"$T/graph" 2>"$T/err"
holds replay
"$BRACE" replay "$T/trace" -O funcgraph-proc >"$T/plain"
sed 's, /\* <-[^*]* \*/$,,' "$T/graph" | cmp -s - "$T/plain"
result "and nothing else is different" $? "$T/graph"
awk '/unwound/ && !/^ *[0-9]+\).*} \/\* [^ ]* unwound \*\/$/' "$T/graph" >"$T/out"
[ ! -s "$T/out" ] && ! grep -qE '<-0x0 |<- |<-\*' "$T/graph"
result "a call that did not return has none" $? "$T/graph"
"$BRACE" record -q --mode block -O funcgraph-retval -o "$T/trace" -l 'ret_*' -- "$FIXTURES/returns" 7 100 1 2>"$T/err"
"$BRACE" replay "$T/trace" -O funcgraph-retaddr -O funcgraph-retval-hex >"$T/graph" 2>"$T/err"
grep -qE '\(\); /\* <-[a-z_.0-9]+\+0x[0-9a-f]+/0x[0-9a-f]+ = 0x[0-9a-f]+ \*/$' "$T/graph"
result "before what it returned" $? "$T/graph"

# --- threads: each one's calls are its own
"$BRACE" record -q --mode block -o "$T/trace" -- "$FIXTURES/returns" 7 1500 3 2>"$T/err"
"$BRACE" replay "$T/trace" -O funcgraph-proc -O funcgraph-retaddr >"$T/graph" 2>"$T/err"
holds threads

# --- in the tree
coproc PROGRAM { exec "$FIXTURES/returns" 7 - 1; }
exec {TO}>&"${PROGRAM[1]}" {FROM}<&"${PROGRAM[0]}"
round() { # CALLS
	echo "$1" >&"$TO"
	read -rt "$LIMIT" -u "$FROM" _
}
round 1
"$BRACE" mount "$D" -p "$PROGRAM_PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D" "kill $PROGRAM_PID")
echo 32768 >"$D/buffer_size_kb"
echo 'ret_*' >"$D/set_ftrace_filter"
echo function_graph >"$D/current_tracer"
round 2000
grep -q '<-' "$D/trace"
[ $? -eq 1 ]
result "the option is off" $?
echo 'funcgraph-retaddr funcgraph-proc' >"$D/trace_options"
cat "$D/trace" >"$T/graph"
holds trace
echo 1 >"$D/snapshot"
cmp -s "$D/snapshot" "$T/graph"
result "snapshot" $? "$T/graph"
round 2000
timeout 2 cat "$D/trace_pipe" >"$T/graph" 2>"$T/err"
[ "$(grep -c '(); /\* <-call_some' "$T/graph")" -gt 100 ]
result "trace_pipe: calls that end at once" $? "$T/graph"
check "umount" "$BRACE" umount "$D"
finish

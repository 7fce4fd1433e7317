#!/bin/bash
# A call into a library bears the library's name, and not that of the caller.
. "$(dirname "$0")/lib.sh"

# row NAME: calls and modules of its rows.
row() {
	/usr/bin/python3 - "$T/json" "$1" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])][1:]
print(" ".join(f"{r['calls']}:{r['module']}" for r in rows if r["name"] == sys.argv[2]))
END
}

row_is() { # NAME CALLS:MODULE
	local is
	[ -s "$T/json" ] || "$BRACE" report --json "$T/trace" >"$T/json" 2>"$T/report.err"
	is=$(row "$1")
	[ "$is" = "$2" ]
	result "$3: $1 $2 (is: $is)" $? "$T/summary"
}

record -- "$FIXTURES/bound"
row_is strlen 7:libc.so.6 "called by the program"
row_is bound_far 3:libbound.so "called by the program"
row_is main 1:bound "its own"
"$BRACE" report --no-pager "$T/trace" >"$T/report" 2>&1
grep -q '  strlen \[libc.so.6\]$' "$T/report" && grep -q '  bound_far \[libbound.so\]$' "$T/report"
result "in the table" $? "$T/report"
[ "$("$BRACE" report --json "$T/trace" 'str*@libc.so.6' | grep -c '"name":"strlen"')" -eq 1 ]
result "selected by it" $?

record -L libbound.so -- "$FIXTURES/bound"
row_is strlen 10:libc.so.6 "called by two modules"
row_is bound_far 3:libbound.so "traced itself"

# Two libraries define it: which one was taken nobody asked the loader.
record -- /usr/bin/env LD_PRELOAD="$FIXTURES/bound-preload.so" "$FIXTURES/bound"
row_is strlen@plt 7:bound "preloaded"
row_is bound_far 3:libbound.so "preloaded"

# Through the tree's buffers.
record -e task:task_newtask -R 'stacktrace:1' -t function_graph -- "$FIXTURES/bound"
row_is strlen 7:libc.so.6 "extracted of a session"
finish

#!/bin/bash
# Stacks at events (trigger stacktrace): against what the program's own backtrace() saw there, and
# gdb in a real, stripped program.
. "$(dirname "$0")/lib.sh"
need gdb redis-server redis-cli
stacked=$FIXTURES/stacked

# same NAME OPTION...: the program is launched with these, and its stacks compared.
same() {
	timeout 60 "$BRACE" record "${@:2}" -e stk:at -R stacktrace -o "$T/trace" -- "$stacked" >"$T/truth" 2>"$T/err"
	"$BRACE" replay --no-pager -O sym-addr "$T/trace" >"$T/lines" 2>>"$T/err"
	/usr/bin/python3 "$HERE/stacks_truth.py" "$T/truth" "$T/lines" >"$T/differ" 2>>"$T/err"
	result "$1" $? "$T/differ"
}
same "without a tracer" -t nop
same "with the function tracer" -t function
same "with function_graph, through its stubs" -t function_graph
same "and with libc's functions" -t function_graph -L '*'
same "with a threshold" -t function_graph --threshold 1ms

# --- a real program, stripped: what gdb sees at the same system call
redis-server --port 0 --unixsocket "$T/socket" --save "" --daemonize no >"$T/redis" 2>&1 &
REDIS=$!
ON_EXIT+=("kill -KILL $REDIS")
ask() { timeout 20 redis-cli -s "$T/socket" get x >"$T/answer" 2>&1; }
until ask || ! kill -0 $REDIS 2>/dev/null; do :; done
"$BRACE" record -p $REDIS --duration 500ms -t nop -e syscalls:sys_enter_read -R 'stacktrace if count == 16384' -o "$T/trace" 2>"$T/err" &
TRACER=$!
while kill -0 $TRACER 2>/dev/null; do ask; done
"$BRACE" replay --no-pager -O sym-addr "$T/trace" >"$T/lines" 2>>"$T/err"
sed -n '/<stack trace>/,/^ *redis/p' "$T/lines" | sed -n 's/^ => .*<0000\([0-9a-f]*\)>.*/\1/p' | tail -n +2 >"$T/stack"
timeout 60 gdb -q -batch -p $REDIS -ex 'catch syscall read' -ex 'condition 1 $rdx == 16384' -ex "shell redis-cli -s $T/socket get x >/dev/null 2>&1 &" \
	-ex continue -ex 'bt 40' >"$T/gdb" 2>>"$T/err" </dev/null
sed -n 's/^#[0-9]* *0x0*\([0-9a-f]*\) in .*/\1/p' "$T/gdb" >"$T/bt"
calls=$(wc -l <"$T/bt") # gdb shows none before main
[ "$calls" -ge 6 ] && [ "$(head -n "$calls" "$T/stack")" = "$(cat "$T/bt")" ]
result "of redis, as gdb's backtrace" $? "$T/stack"
finish

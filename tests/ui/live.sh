#!/bin/bash
# A traced program under brace's hands: live output, readers that go away, Ctrl-C, exit statuses.
. "$(dirname "$0")/../run/lib.sh"

# until_true EXPRESSION: waits at most LIMIT seconds for it.
until_true() {
	local end=$((SECONDS + LIMIT))
	until eval "$1"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

# --- live output: what was called is shown while the program waits for input
mkfifo "$T/fifo"
"$BRACE" graph -q -o "$T/graph" -- cat "$T/fifo" >"$T/out" 2>"$T/err" &
brace=$!
exec 9>"$T/fifo"
until_true 'grep -q "read() {\|open() {\|  read\|fstat" "$T/graph" 2>/dev/null'
result "the graph is shown while the program waits" $? "$T/graph"
kill -0 $brace
result "... and it still waits" $?
echo through >&9
exec 9>&-
wait $brace
[ $? -eq 0 ] && [ "$(cat "$T/out")" = through ]
result "its output is its own, with -o FILE" $? "$T/err"
head -n 1 "$T/graph" | grep -qx '# tracer: function_graph' && [ "$(grep -c '# tracer' "$T/graph")" -eq 1 ]
result "one header" $? "$T/graph"

# --- a reader that goes away
(
	"$BRACE" graph -q -- /usr/bin/python3 -c 'import sys; open(sys.argv[1], "w").write("done")' "$T/done"
	echo $? >"$T/status"
) 2>"$T/err" | head -n 1 >/dev/null
until_true '[ -s "$T/status" ]'
[ "$(cat "$T/status")" -eq 0 ] && [ "$(cat "$T/done")" = done ] && [ ! -s "$T/err" ]
result "the reader of the graph goes away: the program runs to its end" $? "$T/err"
"$BRACE" graph -q -- /usr/bin/python3 -c 'import sys; open(sys.argv[1], "w").write("full")' "$T/done" \
	>/dev/full 2>"$T/err"
[ $? -eq 125 ] && [ "$(cat "$T/done")" = full ] && grep -q 'No space left' "$T/err"
result "the graph cannot be written: the program runs to its end, brace says so" $? "$T/err"

# --- Ctrl-C: the program ignores it, the second one stops the recording
cat >"$T/stubborn.py" <<'END'
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("up", flush=True)
sys.stdin.readline()
print("end", flush=True)
END
mkfifo "$T/input"
env --default-signal=INT,QUIT setsid "$BRACE" record -o "$T/trace" -- /usr/bin/python3 "$T/stubborn.py" \
	<"$T/input" >"$T/out" 2>"$T/err" &
brace=$!
exec 9>"$T/input"
until_true 'grep -q up "$T/out"'
# Two signals that come together are one, so the second is sent until it is seen.
kill -INT -- -$brace
until_true 'kill -INT -- -$brace; grep -q stopping "$T/err"'
result "a second Ctrl-C stops the recording" $? "$T/err"
echo >&9
exec 9>&-
wait $brace
[ $? -eq 0 ] && grep -q end "$T/out"
result "... and the program runs to its end" $? "$T/err"
check "... and the trace reads" "$BRACE" report --json "$T/trace"

# --- exit statuses
ends() { # STATUS COMMAND...
	local want=$1 command got
	shift
	for command in "record -o $T/trace" "graph -o $T/graph"; do
		timeout "$LIMIT" "$BRACE" $command -q -- "$@" >"$T/out" 2>"$T/err"
		got=$?
		[ $got -eq "$want" ] && [ ! -s "$T/err" ]
		result "${command%% *} of a program that ends with $want" $? "$T/err"
	done
}
ends 0 true
ends 1 false
ends 42 sh -c 'exit 42'
ends 255 sh -c 'exit 255'
for signal in HUP INT KILL SEGV TERM; do
	ends $((128 + $(kill -l $signal))) sh -c "kill -$signal \$\$"
done

# --- the settings
"$BRACE" record -q -o "$T/trace" -v -l main -l 'x*' --threshold 5us -- true 2>"$T/err"
cat >"$T/want" <<'END'
brace: echo function_graph > current_tracer
brace: echo main > set_ftrace_filter
brace: echo 'x*' >> set_ftrace_filter
brace: echo 5us > tracing_thresh
END
grep '^brace: echo' "$T/err" | diff - "$T/want" >"$T/differences"
result "-v prints the writes, in order" $? "$T/differences"
# --- colour
"$BRACE" record -q -o "$T/trace" --mode block -- /usr/bin/python3 -c '' 2>"$T/err"
result "a trace to show" $? "$T/err"
strip_colour() { sed 's/\x1b\[[0-9]*m//g'; }
for command in "replay $T/trace" "report $T/trace" "list --why -f /usr/bin/python3"; do
	"$BRACE" $command >"$T/plain" 2>"$T/err"
	"$BRACE" $command --color=always 2>"$T/err" >"$T/coloured"
	grep -q $'\x1b\[' "$T/coloured" && strip_colour <"$T/coloured" | cmp -s - "$T/plain" &&
		! grep -q $'\x1b' "$T/plain"
	result "${command%% *}: colour changes nothing else" $? "$T/coloured"
done
"$BRACE" report --json --color=always "$T/trace" | grep -q $'\x1b'
result "JSON has no colour" $(($? == 0))
terminal() { TERM=xterm script -qec "$1" /dev/null </dev/null; }
unset NO_COLOR
# The line that shows how far a reading is, on a slow machine, clears itself without a colour.
colours() { grep -c $'\x1b\[[0-9;]*m' "$T/out"; }
terminal "$BRACE report --no-pager --limit 1 $T/trace" >"$T/out"
[ "$(colours)" -gt 0 ]
result "colour on a terminal" $? "$T/out"
terminal "NO_COLOR=1 $BRACE report --no-pager --limit 1 $T/trace" >"$T/out"
[ "$(colours)" -eq 0 ]
result "NO_COLOR" $? "$T/out"
terminal "$BRACE report --no-pager --color=never --limit 1 $T/trace" >"$T/out"
[ "$(colours)" -eq 0 ]
result "--color=never" $? "$T/out"
finish

#!/bin/bash
# The option causal-order: two threads that hand over through one word of memory, a million times,
# have records in the order of what happened; each time stamp in the process waits for the loads
# before it, and none does without the option, as it is turned on and off while the program runs.
. "$(dirname "$0")/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
need "$PYTHON"
handover=$FIXTURES/handover

# wrong FILE: calls of one function twice in a row.
wrong() {
	"$BRACE" replay --no-pager "$1" | awk '/ (ping|pong) <-/ || / (ping|pong)\(\);/ { n++; w += was == ($0 ~ /ping/) && n > 1; was = $0 ~ /ping/ } END { print w + 0 " of " n }'
}
hand_over() { # ROUNDS OPTIONS...
	timeout -k 5 "$LIMIT" "$BRACE" record -q -o "$T/t.brace" --mode block -l ping -l pong "${@:2}" -- "$handover" "$1" >"$T/out" 2>"$T/err"
	wrong "$T/t.brace"
}
check_that "a million hand-overs in their order" [ "$(hand_over 500000 -t function --causal-order)" = "0 of 1000000" ]
check_that "in the function graph" [ "$(hand_over 50000 --causal-order)" = "0 of 100000" ]
echo "# without the option $(hand_over 50000) came in a wrong order here"
check_that "info has the option" grep -q causal-order <("$BRACE" record -q -o "$T/t.brace" -O causal-order -- "$handover" 10 >/dev/null; "$BRACE" info "$T/t.brace")

# --- where a process is stamped: in code that brace made, of no file or in brace's memory
cat >"$T/stamps.py" <<'PY'
import sys
fenced = bare = 0
with open(f"/proc/{sys.argv[1]}/mem", "rb", 0) as mem:
    for line in open(f"/proc/{sys.argv[1]}/maps"):
        place, rights, *rest = line.split()
        if rights[2] != "x" or (len(rest) > 3 and "brace-code" not in rest[3]):
            continue
        begin, end = (int(x, 16) for x in place.split("-"))
        mem.seek(begin)
        text = mem.read(end - begin)
        fenced += text.count(b"\x0f\xae\xe8\x0f\x31")
        bare += text.count(b"\x0f\x1f\x00\x0f\x31")
print("fenced" if fenced else "", "bare" if bare else "", sep="")
PY
stamps() { [ "$("$PYTHON" "$T/stamps.py" "$PID")" = "$1" ]; }
mkfifo "$T/go"
: >"$T/out" # before the shell of the next line empties it
"$handover" 1000 waits <"$T/go" >"$T/out" &
PID=$!
exec {GO}>"$T/go"
until_is grep -q done "$T/out"
D=$T/tree
mkdir "$D"
if "$BRACE" mount "$D" -p "$PID" 2>"$T/err"; then
	ON_EXIT+=("$BRACE umount --lazy $D")
	for tracer in function function_graph; do
		echo $tracer >"$D/current_tracer"
		check_that "$tracer: off after boot" [ "$(cat "$D/options/causal-order")" = 0 ]
		check_that "no stamp waits" stamps bare
		echo causal-order >"$D/trace_options"
		check_that "turned on: all wait" stamps fenced
		mkdir "$D/instances/one"
		check_that "an instance has it not" [ "$(cat "$D/instances/one/options/causal-order")" = 0 ]
		rmdir "$D/instances/one"
		echo 0 >"$D/options/causal-order"
		check_that "turned off" stamps bare
	done
	check "umount" "$BRACE" umount "$D"
else
	grep -qE '/dev/fuse|cannot mount on|ptrace' "$T/err" && skip "in the tree" "$(cut -d' ' -f2- "$T/err")" || { not_ok mount; diag "$T/err"; }
fi
exec {GO}>&-
wait "$PID"
finish

#!/bin/bash
# funcgraph-retval: what functions returned. Held line by line against what a program wrote down
# itself (tests/targets/returns.c), against gdb's `finish` and against what Python computed;
# launched, static, attached; turned on and off while it runs, in several instances; by trace-cmd.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
export RETURNS=$T/notes
F=(-l 'ret_*' -l leave -l on_signal)

# replays: the trace as returned.py reads it
replays() {
	"$BRACE" replay "$T/trace" -O funcgraph-proc -O funcgraph-retval-hex >"$T/hex" && "$BRACE" replay "$T/trace" -O funcgraph-proc >"$T/plain"
}
# holds NAME: every line of the trace against every note
holds() {
	"$PYTHON" "$HERE/returned.py" "$T/notes" "$T/hex" "$T/plain" >"$T/differences"
	status=$?
	result "$1: $(head -n 1 "$T/differences")" $status "$T/differences"
}
# recorded NAME PROGRAM OPTIONS...
recorded() {
	rm -f "$T/notes"
	run_in "$T/traced" "$BRACE" record -q --mode block -o "$T/trace" "${F[@]}" -O funcgraph-retval "${@:3}" -- "$2" 7 4000 3
	if [ "$(cat "$T/traced.status")" -ne 0 ] || ! replays; then
		not_ok "$1"
		diag "$T/traced.err"
	else
		[ "$1" != threshold ] || without_tails
		holds "$1"
	fi
}
# With tracing_thresh what a function goes on to by a jump is no call of its own.
without_tails() {
	awk '{ if (NR > 1 && !($2 == "ret_tail" && last ~ "^" $1 " ret_long")) print last; last = $0 } END { print last }' "$T/notes" >"$T/notes.2"
	mv "$T/notes.2" "$T/notes"
}
recorded launched "$FIXTURES/returns"
! grep 'unwound.* = ' "$T/hex" && grep -q ' unwound' "$T/hex"
result "what ended without returning has no value" $?
grep -q ' = -' "$T/plain"
result "error codes are decimal" $?
[ "$("$BRACE" replay "$T/trace" -O nofuncgraph-retval | grep -c ' = ')" -eq 0 ]
result "left out on demand" $?
recorded "buffers of two pages" "$FIXTURES/returns" -b 128
recorded "with depths" "$FIXTURES/returns" --max-graph-depth 50
recorded threshold "$FIXTURES/returns" --threshold 1ns
recorded "static" "$FIXTURES/returns-static"
[ ! -x "$FIXTURES/returns-musl" ] || recorded "musl" "$FIXTURES/returns-musl"
"$BRACE" record -q -o "$T/trace" "${F[@]}" -- "$FIXTURES/returns" 7 100 1 2>"$T/err"
[ "$("$BRACE" replay "$T/trace" -O funcgraph-retval | grep -c ' = ')" -eq 0 ]
result "without the option nothing is known" $? "$T/err"
same "exceptions: the program is none the wiser" -O funcgraph-retval -- "$FIXTURES/exceptions"
same "registers, too" -O funcgraph-retval -- "$FIXTURES/registers"

# --- real programs
HASHES='d = {}
for i in range(-300, 300):
    d[i * 12345678901] = i
    print(hex(hash(i * 12345678901) % 2**64))'
"$BRACE" record -q -o "$T/trace" -l PyObject_Hash -O funcgraph-retval -- "$PYTHON" -c "$HASHES" >"$T/out" 2>"$T/err"
"$BRACE" replay "$T/trace" -O funcgraph-retval-hex | sed -n 's:.*PyObject_Hash();* /\* = \(0x[0-9a-f]*\) \*/$:\1:p' >"$T/ours"
"$PYTHON" - "$T/out" "$T/ours" <<'EOD'
import sys
printed, ours = (open(f).read().split() for f in sys.argv[1:])
at = iter(ours) # among those of names that the interpreter looks up
sys.exit(len(printed) != 600 or not all(p in at for p in printed))
EOD
result "python: the hashes of a dictionary's keys" $? "$T/err"
printf 'a\303\251\342\202\254\360\235\204\236x\377y\342\202' >"$T/text"
"$BRACE" record -q -o "$T/trace" -L libc.so.6 -l mbrtowc -O funcgraph-retval -- env LC_ALL=C.UTF-8 wc -m "$T/text" >"$T/out" 2>"$T/err"
"$BRACE" replay "$T/trace" -O funcgraph-retval-hex | sed -n 's:.*mbrtowc(); /\* = \(0x[0-9a-f]*\) \*/$:\1:p' >"$T/ours"
{
	printf 'set debuginfod enabled off\nset breakpoint pending on\nset environment LC_ALL=C.UTF-8\nbreak mbrtowc\nrun\nwhile 1\nfinish\n'
	# shellcheck disable=SC2016 # gdb's
	printf 'printf "value %%#lx\\n", $rax\ncontinue\nend\n'
} >"$T/gdb"
timeout "$LIMIT" gdb -nx -batch -x "$T/gdb" --args wc -m "$T/text" 2>/dev/null </dev/null | sed -n 's/^value //p' >"$T/finish"
[ "$(wc -l <"$T/finish")" -ge 6 ] && cmp -s "$T/finish" "$T/ours"
status=$?
result "wc: what gdb's finish says of mbrtowc ($(tr '\n' ' ' <"$T/ours"))" $status "$T/finish"

# --- a program that runs, in rounds
printf '#!/bin/bash\nexec "%s" 9 -\n' "$FIXTURES/returns" >"$T/program"
chmod +x "$T/program"
# shellcheck disable=SC2034 # answers-lib.sh's
A=$T/program
start_program
D=$T/tree
mkdir "$D"
if ! "$BRACE" mount "$D" -p "$PID" 2>"$T/err"; then
	kill "$PID"
	if grep -qE '/dev/fuse|cannot mount on|ptrace' "$T/err"; then
		skip "on a program that runs" "$(cut -d' ' -f2- "$T/err" | head -n 1)"
	else
		not_ok mount
		diag "$T/err"
	fi
	finish
fi
ON_EXIT+=("$BRACE umount --lazy $D" "kill $PID")
cd "$D" || exit 1
# round N: N calls; in each instance's buffer nothing else
round() {
	local i
	for i in . instances/*; do echo >"$i/trace"; done
	rm -f "$T/notes"
	tell "$1"
}
# round_holds INSTANCE: its trace has all of the round, with what was returned
round_holds() { cat "$1/trace" >"$T/hex" && "$PYTHON" "$HERE/returned.py" "$T/notes" "$T/hex" >"$T/differences"; }
# round_plain INSTANCE: as many calls, and no value
round_plain() {
	cat "$1/trace" >"$T/hex"
	! grep -q ' = ' "$T/hex" && [ "$(grep -cE 'ret_[a-z_]+\(\)' "$T/hex")" -eq "$(wc -l <"$T/notes")" ]
}
mkdir instances/{a,b}
for i in . instances/{a,b}; do
	echo 'ret_*' >"$i"/set_ftrace_filter
	printf 1 >"$i"/options/funcgraph-proc
	printf 1 >"$i"/options/funcgraph-retval-hex
done
echo 1 >"$T/one"
echo function_graph >current_tracer
round 200
check_that "off: no values" round_plain .
check "options/funcgraph-retval, on a running program" cp "$T/one" options/funcgraph-retval
round_plain .
result "what was recorded before has none" $?
round 300
check_that "then all have" round_holds .
grep -qx funcgraph-retval trace_options
result "trace_options says so" $?
echo nofuncgraph-retval >trace_options
! grep -q ' = ' trace
result "they are shown while it is on" $?
round 250
echo 1 >options/funcgraph-retval
check_that "and recorded while it is on" round_plain .
echo 3 >max_graph_depth
round 300
"$PYTHON" - trace "$T/notes" <<'EOD'
import re, sys
told = [m.groups() for m in map(re.compile(r"(?:(ret_\w+)\(\); /\*|\} /\* (ret_\w+)) = 0x(\w+) \*/").search, open(sys.argv[1])) if m]
notes = [l.split() for l in open(sys.argv[2])]
at = 0
for leaf, nested, value in told: # some of the notes, in their order
    while at < len(notes) and (notes[at][1] != (leaf or nested) or (int(value, 16) ^ int(notes[at][3], 16)) & (1 << int(notes[at][2])) - 1):
        at += 1
sys.exit(not told or at == len(notes))
EOD
result "beside max_graph_depth" $? trace
echo 0 >max_graph_depth
echo function_graph >instances/a/current_tracer
echo function >instances/b/current_tracer
round 300
check_that "one instance with" round_holds .
check_that "another without" round_plain instances/a
echo 1 >instances/a/options/funcgraph-retval
echo 0 >options/funcgraph-retval
round 200
check_that "and the other way round" round_holds instances/a
check_that "each for itself" round_plain .
! grep -q ' = ' instances/b/trace && grep -q ': ret_' instances/b/trace
result "and function knows none" $?
echo 0 >instances/a/options/funcgraph-retval
round 200
check_that "off again" round_plain instances/a
cd "$T" || exit 1
"$BRACE" umount "$D"
tell 50
end_program
[ "$STATUS" -eq 0 ]
result "the program ends as it would have" $?

# --- trace-cmd
start_program
rm -f "$T/notes"
mkfifo "$T/go" "$T/gone"
timeout "$LIMIT" "$BRACE" shell -p "$PID" -- bash -c "exec 3<>$T/go 4<>$T/gone; trace-cmd start -p function_graph -O funcgraph-retval -l 'ret_*' &&
	echo go >&3; read -r _ <&4; trace-cmd stop; trace-cmd extract -o $T/t.dat" >"$T/out" 2>&1 &
SHELL_PID=$!
exec {GO}<>"$T/go" {GONE}<>"$T/gone"
if read -rt 60 -u "$GO" _; then
	tell 200
	echo gone >&"$GONE"
	wait "$SHELL_PID"
fi
end_program
trace-cmd report -R "$T/t.dat" 2>/dev/null | sed -nE 's:.*funcgraph_exit\: *func=(\w+) retval=(\w+) .*:-'"$PID"' | |  \1(); /* = 0x\2 */:p' >"$T/hex"
"$PYTHON" "$HERE/returned.py" "$T/notes" "$T/hex" >"$T/differences"
status=$?
result "trace-cmd extract: $(head -n 1 "$T/differences")" $status "$T/differences"
trace-cmd report "$T/t.dat" 2>/dev/null | grep -qE 'funcgraph_entry: +[0-9.]+ us +\|  +ret_[a-z_]+\(\);$'
result "and its report reads as ever" $?
finish

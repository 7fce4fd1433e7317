#!/bin/bash
# brace rv: the faults of programs that say what they do wrong, by the models of docs/models, against valgrind's memcheck; none in
# programs that have none; a trace file as the program; what is wrong in a model, with line and column.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
MODELS=$HERE/../../docs/models
PROGRAM=$FIXTURES/models

# judge MODEL WORD...: `brace rv`; status in $T/status, the table in $T/rows.
judge() {
	local model=$1
	shift
	timeout -k 5 "$LIMIT" "$BRACE" rv --model "$model" --json -o "$T/rows" "$@" >"$T/out" 2>"$T/err" </dev/null
	echo $? >"$T/status"
}
# faulty FAULTS EVENT STATE: each such, and the status says that there are some; the trace is whole.
cat >"$T/faulty.py" <<'P'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
head, faults = rows[0], rows[1:]
print(rows)
assert head["schema"] == "brace-rv" and head["lost"] == head["doubtful"] == head["unwatched"] == 0, head
assert len(faults) == head["faults"] == int(sys.argv[2]) and head["events"] > 0, head
assert all(f["event"] == sys.argv[3] and f["state"] == sys.argv[4] for f in faults)
assert int(open(sys.argv[5]).read()) == (1 if faults else 0)
if len(sys.argv) > 6: assert head["unfinished"] == int(sys.argv[6]), head
if len(sys.argv) > 7: assert all(f["site"].startswith(sys.argv[7] + "+") for f in faults)
P
faulty() { /usr/bin/python3 "$T/faulty.py" "$T/rows" "$1" "$2" "$3" "$T/status" "${@:4}" >"$T/compared" 2>&1; }

# --- memory
judge "$MODELS/heap.dot" -b 4M -- "$PROGRAM" heap
# What ended in no final state: the two, and the second one of each child that the library ended.
faulty 3 free free 5
result "heap: three blocks freed twice, two never" $? "$T/compared" "$T/err"
if command -v valgrind >/dev/null; then
	valgrind --leak-check=summary "$PROGRAM" heap >"$T/out" 2>"$T/memcheck"
	pid=$(sed -n '1s/==\([0-9]*\)==.*/\1/p' "$T/memcheck")
	[ "$(grep -c 'Invalid free()' "$T/memcheck")" = 3 ] && grep -q "^==$pid== *definitely lost: .* in 2 blocks" "$T/memcheck"
	result "as memcheck says of the same program" $? "$T/memcheck"
else
	skip "as memcheck says of the same program" "valgrind is not installed"
fi
judge "$MODELS/heap.dot" --mode block -b 4M -- "$PROGRAM" threads
faulty 0 free free
result "threads that give each other blocks, and end with full caches: no fault" $? "$T/compared" "$T/err"
judge "$MODELS/heap.dot" -b 64K -- "$PROGRAM" threads
[ "$(cat "$T/status")" = 0 ] && grep -q '"faults":0,' "$T/rows"
result "nothing is invented where records are lost" $? "$T/rows" "$T/err"

# --- streams, and a file instead of the program
judge "$MODELS/files.dot" -- "$PROGRAM" files
faulty 2 use closed 1 late
result "files: a stream that is closed is flushed, twice" $? "$T/compared" "$T/err"
grep -q '"comm":"models"' "$T/rows"
result "who it was" $? "$T/rows"
record -L libc.so.6 -l fopen -l fclose -l fputs -l fflush --args='?*' --retval='?*' -- "$PROGRAM" files
judge "$MODELS/files.dot" "$T/trace"
faulty 2 use closed 1 late && grep -q 'warning: [a-z]* is in the model, and was not recorded, or not always' "$T/err"
result "a trace file: the same, and what it cannot tell of" $? "$T/compared" "$T/err"
"$BRACE" rv --model "$MODELS/files.dot" --limit 1 "$T/trace" >"$T/out" 2>"$T/err"
[ $? = 1 ] && [ "$(grep -c 'models-[0-9]*: 0x[0-9a-f]*: event use not expected in the state closed, in late+0x' "$T/out")" = 1 ] &&
	grep -q '^# files: 2 faults in [0-9]* events of 1 object; 1 ended in no final state$' "$T/out"
result "as text, the first one" $? "$T/out" "$T/err"

# --- handlers
judge "$MODELS/signals.dot" -b 4M -- "$PROGRAM" signals
/usr/bin/python3 "$T/faulty.py" "$T/rows" 3 unsafe handler "$T/status" >"$T/compared" 2>&1 && [ "$(grep -c '"site":"bad+' "$T/rows")" = 3 ]
result "signals: a handler that allocates, each time" $? "$T/compared" "$T/err"

# --- events of a thread, in a program that nobody has accused; and one model that it breaks
cat >"$T/turns.dot" <<'P'
strict digraph "turns" {
	graph [brace_by = "process", brace_open = "syscalls:sys_enter_openat", brace_close = "syscalls:sys_enter_close key fd"]
	node [shape=circle]; /* a comment */ subgraph cluster { "__init_none" -> none }
	none -> some [label="open"]
	some -> some [label="open\nclose"] # not a comment here: behind a line's begin
}
P
judge "$T/turns.dot" -- /bin/true
[ "$(cat "$T/status")" = 125 ] && grep -q 'line 5' "$T/err"
result "DOT's comments are those of C, and lines that begin with #" $? "$T/err"
sed -i 's/ # not a.*//' "$T/turns.dot"
judge "$T/turns.dot" -- /bin/true
[ "$(cat "$T/status")" = 125 ] && grep -q 'either all events of a model have a key, or none has' "$T/err"
result "keys are for all events" $? "$T/err"
sed -i 's/ key fd//' "$T/turns.dot"
judge "$T/turns.dot" -- /bin/cat /dev/null
[ "$(cat "$T/status")" = 0 ] && grep -q '"model":"turns",.*"faults":0,"events":[1-9]' "$T/rows"
result "events of system calls, a state for each process" $? "$T/rows" "$T/err"
sed -i 's/\[label="open\\nclose"\]/[label="open"]/; s/brace_close/brace_shut/; s/-> some \[label="open"\]$/-> some [label="open"] none -> none [label=shut]/' "$T/turns.dot"
judge "$T/turns.dot" -- /bin/cat /dev/null
[ "$(cat "$T/status")" = 1 ] && grep -q '"event":"shut","state":"some","site":null' "$T/rows"
result "and what it does not allow" $? "$T/rows" "$T/err"

# --- models that are none
# refused TEXT SENTENCE: with status 125, in one line.
refused() {
	printf '%s' "$1" >"$T/model.dot"
	judge "$T/model.dot" -- /bin/true
	[ "$(cat "$T/status")" = 125 ] && [ "$(grep -c '^brace: ' "$T/err")" = 1 ] && grep -qF "$2" "$T/err"
}
refused 'graph { a }' 'line 1: a model begins with digraph' && refused 'digraph { a -> b }' 'this edge has no label' &&
	refused 'digraph { a -> b [label=x' 'an attribute or ] is wanted here' && refused 'digraph { "a' 'this string has no end' &&
	refused 'digraph { a -> b [label=x] }' 'does not say where it begins' && refused 'digraph { __init_a -> a }' 'the model has no event' &&
	refused 'digraph { __init_a -> a; a -> a [label="x;clk<3"] }' 'conditions on clocks are not taken' &&
	refused 'digraph { __init_a -> a; a [label="a\\nclk < 5"]; a -> a [label=x] }' "line 1: a state's conditions on clocks are not taken" &&
	refused 'digraph { __init_a -> a; a -> a [label=x]; brace_y = z }' 'no edge of the model has this event' &&
	refused 'digraph { __init_a -> a; a -> a [label=x]; brace_x = "f key $retval" }' '$retval is known at FUNCTION%return' &&
	refused 'digraph { __init_a -> a; a -> a [label=x]; brace_x = "f key $arg1 key $arg2" }' 'each once' &&
	refused 'digraph { __init_a -> a; a -> a [label=x]; brace_by = "moon" }' 'thread, process or all' &&
	refused 'digraph { a [label=<b>] }' "HTML's is not taken"
result "what is wrong is said, with line and column" $? "$T/err" "$T/model.dot"
"$BRACE" rv --model "$T" -- /bin/true >"$T/out" 2>"$T/err"
[ $? = 125 ] && [ "$(cat "$T/err")" = "brace: $T is a directory, not a file" ]
result "a directory is no model" $? "$T/err"
judge "$T/absent.dot" -- /bin/true
[ "$(cat "$T/status")" = 125 ] && grep -q absent.dot "$T/err" && ! "$BRACE" rv "$T/trace" >"$T/out" 2>"$T/err" && grep -q -- '--model' "$T/err"
result "no model" $? "$T/err"

"$BRACE" rv --model "$MODELS/heap.dot" --model "$MODELS/files.dot" -- /bin/true >"$T/out" 2>"$T/err"
[ $? = 125 ] && grep -qF "one model at a time, and $MODELS/heap.dot is one already" "$T/err" && grep -qx ' *^' "$T/err"
result "a second model is refused" $? "$T/err"

# --- programs that nobody has accused
blameless() { # COMMAND...
	for model in heap files signals; do
		judge "$MODELS/$model.dot" -b 4M -- "$@"
		[ "$(cat "$T/status")" = 0 ] && grep -q '"faults":0,' "$T/rows" || return 1
	done
}
for command in "ls -lR $HERE" "sort --parallel=4 $HERE/lib.sh" "python3 -c 'import json, threading'" "perl -e 'print 1'" "bash -c 'trap : USR1; kill -USR1 \$\$; ls | wc'" \
	"git --version" "sqlite3 :memory: 'select 1'" "xz -T2 -c $HERE/lib.sh" "gawk 'BEGIN { print 1 }'" "openssl version -a" "find $HERE -newer $HERE/lib.sh"; do
	eval "words=($command)"
	if command -v "${words[0]}" >/dev/null; then
		blameless "${words[@]}"
		result "no fault in ${words[0]}" $? "$T/rows" "$T/err"
	else
		skip "no fault in ${words[0]}" "it is not installed"
	fi
done
finish

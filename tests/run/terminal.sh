#!/bin/bash
# The names that a hostile program gives to itself, its threads, functions, libraries and events
# (tests/targets/named.c) reaches no terminal as it is: every command's output and errors are looked
# at, for every byte that is not of a printable character.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
brace() { timeout -k 5 "$LIMIT" "$BRACE" "$@" </dev/null; }

# Each run of one letter becomes a name; names of files hold no slash.
python3 - "$FIXTURES" "$T" <<'END' || { not_ok "the program is made"; finish; }
import sys
names = {b'A': b'\x1b]52;c;ZXZpbA==\a\x1b[2J', b'B': b'x\nforged line\ty', b'C': b'\xc2\x9b31m\xe2\x80\xae\xff\xc3\x7f\xe2\x81\xa6',
         b'L': b'\x1b[1A\nforged line', b'e': b'\x1b[31m\ne', b'm': b'\x1b[31m\nm'}
for source, name in ('named', b'na\x1b[1m\xe2\x80\xaeme'), ('named_lib.so', b'lib\x1b[1m\xc2\x9b.so'):
    with open(sys.argv[1] + '/' + source, 'rb') as file:
        program = file.read()
    for letter, text in names.items():
        program = program.replace(letter * 24, text.ljust(24, b'_'))
    with open(sys.argv[2].encode() + b'/' + name, 'wb') as file:
        file.write(program)
END
P=$(printf '%s/na\033[1m\342\200\256me' "$T")
L=$(printf '%s/lib\033[1m\302\233.so' "$T")
ODD=$(printf 'x\033]0;x\a\n\342\200\256\377')
chmod 755 "$P"

mkdir "$T/looked"
LOOKED=" "
# looks [-w WORD] ARGUMENT...: brace's standard output and error are clean, and have the word.
looks() {
	local word=
	[ "$1" != -w ] || { word=$2; shift 2; }
	LOOKED+="$1 "
	brace "$@" >"$T/now" 2>&1
	keep "$(printf '%s ' "$@" | tr -d '\000-\037\177-\377')" "$T/now" "$word"
}

# keep NAME FILE WORD: what is looked at in the end.
keep() {
	local n

	printf -v n '%s/looked/%03d' "$T" "$((KEPT += 1))"
	mv "$2" "$n.text"
	printf 'brace %s' "${1//"$T/"/}" >"$n.name"
	printf %s "$3" >"$n.word"
}
KEPT=0

# --- with a trace file
looks record -v -L '*' -e 'named:*' -t function_graph -o "$T/t" -- "$P" "$L"
looks record --mode overwrite -o "$T/died" -- "$P" "$L" abort
looks record -l "$ODD" -o "$T/none" -- "$P" "$L"
looks record -e "$ODD" -o "$T/none" -- "$P" "$L"
looks record -e named:text -f "s == \"$ODD\" &&" -o "$T/none" -- "$P" "$L"
looks record -e named:text -R "$ODD" -o "$T/none" -- "$P" "$L"
looks record -o "$ODD/x" -- "$P" "$L"
looks record -o "$T/none" -- "$ODD"
looks record -t function -O func_stack_trace -e 'named:*' -o "$T/f" -- "$P" "$L"
looks record -e 'named:*' -e 'task:*' -e 'syscalls:*' -o "$T/e" -- "$P" "$L"
printf '\033[1m = "\033[2m\302\233"\n' >"$T/$ODD.bconf"
looks config "$T/$ODD.bconf"
looks follow "struct $ODD.x==1"
looks follow -k "struct $ODD.x==1" --show "$ODD"
printf 'a = "\v\f\r"\nftrace.x\n' >"$T/$ODD.bconf"
looks -w 'ftrace.x' config -l "$T/$ODD.bconf"
looks config --json "$T/$ODD.bconf"
looks push "$T/t" --to "http://$ODD"
looks push "$T/t" --to http://127.0.0.1:1 --retry 0 --label "a=$ODD"
looks push "$ODD" --to http://127.0.0.1:1
looks fleet "$ODD" --to http://127.0.0.1:1
looks fleet history "$ODD" --to "http://127.0.0.1:1/$ODD"
looks config --explain "$T/$ODD.bconf"
for file in t died f e; do
	looks report "$T/$file"
	looks report --json "$T/$file"
	looks report --tree "$T/$file"
	looks report --by process "$T/$file"
	looks replay --thread "$ODD" "$T/$file"
	looks diff "$T/$file" "$T/$file"
	for rows in call thread file; do looks syscalls --by $rows "$T/$file"; done
	looks syscalls --by thread --json "$T/$file"
	for rows in thread function; do looks wakeup --by $rows "$T/$file"; done
	looks wakeup --json "$T/$file"
	looks locks "$T/$file"
	looks query "$T/$file" 'SELECT name, count(*) FROM slice GROUP BY name'
	looks query --json "$T/$file" 'SELECT name, count(*) FROM slice GROUP BY name'
	looks export "$T/$file" --to folded
	looks export "$T/$file" --to flamegraph
	looks export "$T/$file" --to chrome
	looks html "$T/$file" -o "$T/page"
	looks tui "$T/$file" # without a terminal; tui.sh has one
	for option in funcgraph-proc nofuncgraph-tail verbose raw hex fields latency-format sym-offset; do
		looks replay -O funcgraph-proc -O "$option" "$T/$file"
	done
	looks -w '\033' info "$T/$file"
	looks info --json "$T/$file"
	looks recover -o "$T/recovered" "$T/$file"
done
cp "$P" "$T/$ODD"
looks record -L "libc*" -o "$T/odd" -- "$T/$ODD" "$L" "forged
forged line"
looks -w '\012' info "$T/odd"
looks replay -O funcgraph-proc "$T/odd"
looks -w '\033[2J' report "$T/t"
looks -w '\033[2J' replay -O funcgraph-proc "$T/t"
looks -w '\302\233\342\200\256\377' replay "$T/e"
for command in report replay info recover import; do
	looks $command "$T/$ODD"
	looks $command "$P"
done
printf 'evil\033[2J\302\233 1/2 1.000001: 1000 cpu-clock: \n\t10 fun\033[1mction+0x1 (/tmp/li\033b)\n' >"$T/samples"
looks import "$T/samples" -o "$T/imported"
looks -w '\033' report "$T/imported"
looks info "$T/imported"
brace info --json "$T/t" | python3 -c 'import json, sys
assert any("\x1b[1m\u202e" in name for line in sys.stdin for name in json.loads(line).get("names", []))' 2>"$T/err"
result "JSON has the very name" $? "$T/err"

# --- as it runs
looks -w '\033' graph -L '*' -e 'named:*' -t function_graph -O funcgraph-proc -- "$P" "$L"
looks -w '\033' graph -t function -- "$P" "$L"
brace graph -o "$T/file" -t function -- "$P" "$L" 2>/dev/null
keep "graph -o" "$T/file" '\033'
looks -w '\033' graph -t function -e named:text -R traceoff -- "$P" "$L"
looks -w '\033' hist -d '*' -L '*' -- "$P" "$L"
looks hist --json -d '*' -L '*' -- "$P" "$L"
looks -w '\033' top --batch -L '*' -- "$P" "$L"
looks top --json -L '*' -- "$P" "$L"
looks top --by thread --batch -- "$P" "$L"
looks top --by "$ODD" -- "$P" "$L"
looks -w '\033' hist 'named:text s' common_pid -- "$P" "$L"
looks hist --json 'named:text s' -- "$P" "$L"
looks hist 'sys_enter_openat filename' -- "$P" "$L"
looks hist "$ODD" -- "$P" "$L"
looks hist "named:text $ODD" -- "$P" "$L"
looks -w '\033' sql 'SELECT t.s, t.common_pid FROM named.text AS t' -- "$P" "$L"
looks sql 'SELECT o.filename FROM sys_enter_openat AS o' -- "$P" "$L"
looks sql "SELECT $ODD FROM named.text" -- "$P" "$L"
looks sql "SELECT s FROM named.text AS $ODD" -- "$P" "$L"
looks latency named:text sys_enter_openat -- "$P" "$L"
looks latency "$ODD" "$ODD" by "$ODD" -- "$P" "$L"
looks probe 'sys_enter_openat' -- "$P" "$L"
looks probe "main $ODD" -- "$P" "$L"
looks probe "$ODD:1 x" -- "$P" "$L"
looks probe 'main arg=$arg1 c=$comm' -- "$P" "$L"
looks probe -n 'main $params' -- "$P" "$L"
for file in "$P" "$L" "$T/$ODD"; do
	looks probe -x "$file" -F
	looks probe -x "$file" -F "$ODD"
	looks probe -x "$file" -L main
	looks probe -x "$file" -L "$ODD"
	looks probe -x "$file" -V main
done
looks noise -l 'named*' -- "$P" "$L"
looks noise --json -- "$P" "$L"
looks syscalls --lines "$T/e"
looks syscalls --lines --json "$T/e"
printf 'digraph state_automaton {\n "{__init_evil\033[2J" -> "b\302\233" [label="fun\033[1m"];\n}\n' >"$T/$ODD.dot"
for model in "$HERE/../../docs/models/heap.dot" "$T/$ODD.dot" "$ODD"; do
	looks rv --model "$model" -- "$P" "$L"
	looks rv --json --model "$model" "$T/t"
done
looks record --args --retval -g "main if argc > $ODD" -o "$T/none" -- "$P" "$L"
looks record --args --retval -L '*' -o "$T/args" -- "$P" "$L"
looks replay "$T/args"
for file in "$P" "$L"; do
	looks -w '\033' list -f "$file"
	looks -w '\033' list -f "$file" --why
	looks list -f "$file" --json
done
looks list -e -f "$P"
looks list -e -f "$P" --json
looks list -e -F -f "$P"
looks list -f "$T/$ODD"
looks list -f "$P" "$ODD"

# --- a session in the background
mkfifo "$T/in" "$T/out"
exec {IN}<>"$T/in" {OUT}<>"$T/out"
work() { printf w >&"$IN"; read -rt "$LIMIT" -n 1 -u "$OUT"; }
ON_EXIT+=("printf q >&$IN") # the program has these descriptors, too, and would wait for ever
looks start -L '*' -e 'named:*' -t function_graph -O funcgraph-proc -- "$P" "$L" "$T/in" "$T/out"
if read -rt "$LIMIT" -n 1 -u "$OUT"; then
	ON_EXIT+=("$BRACE reset")
	for file in trace available_filter_functions saved_cmdlines kallsyms set_event available_events README trace_options error_log; do
		looks show $file
	done
	looks -w '\033' show
	looks show "$ODD"
	looks -w '\033' list
	looks list -e --full
	looks list --json
	looks list -t -o -B -C -s
	looks set -l "$ODD"
	looks stat
	looks sessions
	looks sessions --long
	for process in /proc/[0-9]*; do
		[ "$(readlink "$process/exe")" != "$P" ] || looks -w '\033' stack -p "${process#/proc/}"
	done
	looks snapshot -s
	looks snapshot
	looks stop
	looks restart
	looks extract -o "$T/extracted"
	looks extract -o "$ODD/x"
	looks replay "$T/extracted"
	looks clear
	brace stream >"$T/stream" 2>&1 &
	STREAM=$!
	work
	until_is test -s "$T/stream" # a call that has not ended is held back for a moment
	looks shell cat trace "$ODD"
	looks -w '\033' shell cat /sys/kernel/tracing/kallsyms
	looks reset
	wait "$STREAM"
	LOOKED+="stream "
	keep stream "$T/stream" '\033'
else
	not_ok "a session begins"
	diag "$T"/looked/*"$KEPT.text"
fi
looks show --session "$ODD"
looks mount "$T/$ODD"
looks umount "$T/$ODD"
looks shell -p "$ODD"
looks help "$ODD"
looks version "$ODD"
looks "$ODD"

cat >"$T/look.py" <<'END'
import glob, sys, unicodedata

def fault(bytes, word):
    try:
        text = bytes.decode('utf-8')
    except UnicodeDecodeError as e:
        return f'{e}: {bytes[max(0, e.start - 60):e.end + 20]!r}'
    for i, c in enumerate(text):
        if c not in '\n\t' and unicodedata.category(c) in ('Cc', 'Cf', 'Zl', 'Zp'):
            return f'U+{ord(c):04x} in {text[max(0, i - 60):i + 20]!r}'
    if any(line.startswith('forged line') for line in text.splitlines()):
        return 'a line is forged'
    return None if word in text else f'no {word}: {text[-200:]!r}'

for n, name in enumerate(sorted(glob.glob(sys.argv[1] + '/*.name')), int(sys.argv[2]) + 1):
    open_as = lambda kind, mode: open(name.replace('.name', '.' + kind), mode)
    wrong = fault(open_as('text', 'rb').read(), open_as('word', 'r').read())
    print(f'{"not " if wrong else ""}ok {n} - {open(name).read()}')
    if wrong:
        print('#  ', wrong)
END
python3 "$T/look.py" "$T/looked" "$TAP_N" | tee "$T/tap"
TAP_N=$((TAP_N + KEPT)) TAP_FAILED=$((TAP_FAILED + $(grep -c '^not ok' "$T/tap")))
for command in $("$BRACE" help | sed -n 's/^  \([a-z]*\)  *[A-Z].*/\1/p'); do
	[[ $LOOKED = *" $command "* ]]
	result "$command is looked at" $?
done
finish

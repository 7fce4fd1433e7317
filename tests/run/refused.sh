#!/bin/bash
# Programs and files that cannot be traced or read: one clear sentence, the right exit status, no
# leftovers.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
TRUE=/bin/true

# refused NAME STATUS WORD COMMAND...: fails with this status and a sentence with this word.
refused() {
	local name=$1 status=$2 word=$3 got
	shift 3
	rm -rf "$RUN_DIR"
	mkdir -p "$RUN_DIR"
	(cd "$RUN_DIR" && exec timeout -k 5 "$LIMIT" "$@") >"$T/out" 2>"$T/err" </dev/null
	got=$?
	{
		[ "$got" -eq "$status" ] || echo "exit status $got, not $status"
		[ ! -s "$T/out" ] || echo "printed to standard output"
		grep -qi -- "$word" "$T/err" || echo "does not say \"$word\""
		grep -q '^brace: ' "$T/err" || echo "does not begin with brace:"
		[ "$(grep -c '^brace: ' "$T/err")" -le 1 ] || echo "more than one sentence"
		[ -z "$(ls -A "$RUN_DIR")" ] || echo "left behind: $(ls -A "$RUN_DIR")"
		grep -qE 'Assertion|Sanitizer|Segmentation' "$T/err" && echo "crashed"
	} >"$T/wrong"
	[ ! -s "$T/wrong" ] || cat "$T/err" >>"$T/wrong"
	[ ! -s "$T/wrong" ]
	result "$name" $? "$T/wrong"
}

r() { # NAME STATUS WORD -- what follows `brace record`
	local name=$1 status=$2 word=$3
	shift 3
	refused "$name" "$status" "$word" "$BRACE" record "$@"
}

# --- programs
cp "$TRUE" "$T/setuid" && chown 65534 "$T/setuid" && chmod 4755 "$T/setuid"
printf 'not a program\n' >"$T/text" && chmod 755 "$T/text"
cp "$TRUE" "$T/locked" && chmod 644 "$T/locked"
head -c 3000 "$TRUE" >"$T/short" && chmod 755 "$T/short"
# The header of a 32-bit one: class 1, machine 3.
printf '\177ELF\001\001\001\0\0\0\0\0\0\0\0\0\002\0\003\0\001\0\0\0\0\0\0\0\064\0\0\0\0\0\0\0\0\0\0\0\064\0\040\0\0\0\050\0\0\0\0\0' >"$T/bits32"
head -c 200 /dev/zero >>"$T/bits32" && chmod 755 "$T/bits32"
printf '#!/nowhere/interpreter\n' >"$T/script" && chmod 755 "$T/script"

r "a program that does not exist" 127 'no-such-program' -- no-such-program
r "a path that does not exist" 127 'nowhere' -- ./nowhere/program
r "a file that is not executable" 126 'locked' -- "$T/locked"
r "a directory" 126 "$(basename "$T")" -- "$T"
r "a set-uid program" 126 'set-uid' -- "$T/setuid"
r "a 32-bit program" 126 '32-bit' -- "$T/bits32"
r "a text that is no program" 126 'text' -- "$T/text"
r "an ELF file cut short" 125 'program' -- "$T/short"
r "a script without its interpreter" 127 'interpreter' -- "$T/script"
r "no program at all" 125 'program'

# --- settings
r "a filter that matches nothing" 125 'no-such-function' -l 'no-such-function' -- "$FIXTURES/shapes-plain"
r "a graph function that matches nothing" 125 'recursve' -g recursve -- "$FIXTURES/shapes-plain"
"$BRACE" record -o "$T/x" -g recursve -- "$FIXTURES/shapes-plain" 2>"$T/err"
grep -q 'recursive' "$T/err"
result "the nearest name is offered" $? "$T/err"
r "a bad size" 125 '12Q' -b 12Q -- "$TRUE"
r "a size of nothing" 125 'b' -b 0 -- "$TRUE"
r "a bad time" 125 'soon' --threshold soon -- "$TRUE"
r "a negative depth" 125 'depth' --max-graph-depth -3 -- "$TRUE"
r "a depth that is no number" 125 'deep' --max-graph-depth deep -- "$TRUE"
r "an unknown mode" 125 'sideways' --mode sideways -- "$TRUE"
r "an unknown tracer" 125 'wakeup' -p wakeup -- "$TRUE"
r "the tracer that records nothing" 125 'records no function' -p nop -- "$TRUE"
r "an unknown option" 125 'frobnicate' --frobnicate -- "$TRUE"
refused "an unknown command" 125 'recrd' "$BRACE" recrd

# --- output
r "an output in no directory" 125 'nowhere' -o ./nowhere/trace -- "$TRUE"
r "an output that is a directory" 125 "$(basename "$T")" -o "$T" -- "$TRUE"
r "a device that is full" 125 'space' -o /dev/full -- "$FIXTURES/shapes-plain"

# --- trace files
: >"$T/empty"
head -c 100000 /dev/urandom >"$T/random"
for command in replay report info; do
	refused "$command: no such file" 125 'nowhere' "$BRACE" $command ./nowhere
	refused "$command: an empty file" 125 'empty' "$BRACE" $command "$T/empty"
	refused "$command: a foreign file" 125 'true\|trace' "$BRACE" $command "$TRUE"
	refused "$command: noise" 125 'random\|trace' "$BRACE" $command "$T/random"
	refused "$command: a directory" 125 "$(basename "$T")" "$BRACE" $command "$T"
done
refused "list: a file that is no ELF file" 125 'text\|ELF' "$BRACE" list -f "$T/text"
refused "list: an ELF file cut short" 125 'short\|ELF' "$BRACE" list -f "$T/short"
refused "list: no such file" 125 'nowhere' "$BRACE" list -f ./nowhere

# --- a disk that fills up while the trace is written
mkdir "$T/small"
if mount -t tmpfs -o size=40k none "$T/small" 2>/dev/null; then
	ON_EXIT+=("umount '$T/small'")
	"$BRACE" record --mode block -o "$T/small/trace" -- "$FIXTURES/threads" >"$T/out" 2>"$T/err"
	status=$?
	"$FIXTURES/threads" >"$T/plain.out"
	cmp -s "$T/out" "$T/plain.out"
	result "a disk full midway: the program ran to its end" $? "$T/err"
	grep -qi 'space' "$T/err"
	result "a disk full midway: brace says so (status $status)" $? "$T/err"
	[ "$status" -eq 0 ]
	result "a disk full midway: the program's status" $? "$T/err"
	if [ -e "$T/small/trace" ]; then
		check "a disk full midway: what was written reads" "$BRACE" report "$T/small/trace"
	else
		ok "a disk full midway: no file is left behind"
	fi
else
	skip "a disk full midway" "mounting is not permitted"
fi
finish

#!/bin/bash
# -e with a definition: by a function's name in the program, in a library, by its offset in a file; launched, attached, in the
# background and in the graph; what is recorded is what the program says. What cannot be defined is refused before anything runs.
. "$(dirname "$0")/lib.sh"
ANSWERS=values
. "$(dirname "$0")/answers-lib.sh"
need nm objdump

# recorded NAME EVENT TEXT...: the trace's records of the event are these, in this order.
recorded() {
	local name=$1 event=$2
	shift 2
	"$BRACE" replay "$T/trace" 2>"$T/err" | sed -n "s/.* $event: ([^)]*) //p" >"$T/seen"
	printf '%s\n' "$@" | cmp -s - "$T/seen"
	result "$name" $? "$T/seen" "$T/err"
}
# refused NAME SENTENCE DEFINITION: with status 125, and the program does not run.
refused() {
	"$BRACE" record -o "$T/none" -e "$3" -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
	local status=$?
	[ $status = 125 ] && grep -qF -- "$2" "$T/err" && [ ! -s "$T/out" ] && [ ! -e "$T/none" ]
	result "$1" $? "$T/err" "$T/out"
}

printf '%s\n' 1 2 m2 m1 q >"$T/in"
printf '%s\n' ready 0 2 15 -7 >"$T/wanted"
"$BRACE" record -q -o "$T/trace" -e 'p:hit values_hit n=%si:u64' -f 'n != 2' -e 'r values_many v=$retval:s64' \
	-e 'p libc.so.6:fgets size=%si:s32' -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
result "three definitions" $? "$T/err"
check_that "the program computes the same" cmp "$T/out" "$T/wanted"
recorded "a function of the program, with a filter" hit n=1 n=5
recorded "a return, named by its function" values_many v=15 v=-7
recorded "a library's function, and a program that its own" fgets size=64 size=64 size=64 size=64 size=64
vaddr=$((16#$(nm "$A" | sed -n 's/^\([0-9a-f]*\) t values_hit$/\1/p')))
"$BRACE" record -q -o "$T/trace" -e "p:a $A:values_hit n=%si:u64" -e "p:g/b $(printf '%s:0x%x' "$A" $vaddr) n=%si:u64" \
	-e 'p:c values_hit+0 n=%si:u64' -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
result "by a path, by an offset in the file, by a distance" $? "$T/err"
"$BRACE" record -q -o "$T/trace" -e 'p values_hit b=+1($arg1):u8 n=$arg2:u64 s=+0(+16($arg3)):string' -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
recorded "arguments by their numbers" values_hit 'b=2 n=1 s="three"' 'b=2 n=2 s="three"' 'b=2 n=5 s="three"'
refused "an argument inside of the function" 'only on function entry or exit' 'p:x values_many+4 n=$arg1'
"$BRACE" record -q -o "$T/trace" -e "p:a $A:values_hit n=%si:u64" -e "p:g/b $(printf '%s:0x%x' "$A" $vaddr) n=%si:u64" \
	-e 'p:c values_hit+0 n=%si:u64' -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
for event in a b c; do recorded "the same records: $event" $event n=1 n=2 n=5; done
"$BRACE" graph --no-pager -l values_outer -e 'p:hit values_hit n=%si:u64' -- "$A" <"$T/in" >"$T/graph" 2>"$T/err"
grep -Eq '/\* hit: \(0x[0-9a-f]+\) n=1 \*/' "$T/graph"
result "in the graph" $? "$T/graph" "$T/err"

# --- two that want the same bytes: what is left out is said
at=$((16#$(nm "$A" | sed -n 's/^\([0-9a-f]*\) t values_many$/\1/p')))
objdump -d --no-show-raw-insn --disassemble=values_many "$A" | sed -n 's/^ *\([0-9a-f]*\):.*/\1/p' >"$T/insns"
while read -r first && read -r second <&3; do
	[ $((16#$second - 16#$first)) -lt 5 ] || continue
	"$BRACE" record -o "$T/trace" -e "p:a values_many+$((16#$first - at))" -e "p:b values_many+$((16#$second - at))" \
		-- "$A" <"$T/in" >"$T/out" 2>"$T/err"
	[ $? = 125 ] || break
done <"$T/insns" 3< <(tail -n +2 "$T/insns")
check_that "two probes at the same bytes: the program computes the same" cmp "$T/out" "$T/wanted"
check_that "the second one is left out, which the summary says" grep -qx \
	'brace: some places of these events are not probed: uprobes:b (taken)' "$T/err"
"$BRACE" info "$T/trace" >"$T/info" 2>"$T/err"
check_that "and brace info" grep -qx 'note       some places of these events are not probed: uprobes:b (taken)' "$T/info"
"$BRACE" info --json "$T/trace" >"$T/info" 2>"$T/err"
check_that "also for scripts" grep -q '"kind": *"probe"' "$T/info"
second=$(sed -n 2p "$T/insns")
"$BRACE" record -o "$T/trace" -l values_many -e "p:b values_many+$((16#$second - at))" -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
check_that "in the first bytes of a function that is traced" grep -q 'uprobes:b (taken)' "$T/err"
check_that "which is recorded" grep -q '  calls *2\|2 calls' "$T/err"

# --- a process that runs
export XDG_RUNTIME_DIR=$T
start_program
"$BRACE" start --session probes -p "$PID" -e 'p:hit values_hit n=%si:u64' -e 'p:line libc:fgets' -f 'common_pid != 0' >"$T/out" 2>"$T/err"
result "in the background, attached" $? "$T/err"
ON_EXIT+=("$BRACE reset --session probes")
tell 3 4
"$BRACE" show --session probes >"$T/shown" 2>"$T/err"
sed -n 's/.* hit: ([^)]*) //p' "$T/shown" >"$T/seen"
check_that "each call, with its value" [ "$(paste -sd' ' "$T/seen")" = 'n=3 n=4' ]
check_that "a library by a part of its name" grep -q ' line: (0x' "$T/shown"
"$BRACE" reset --session probes 2>"$T/err"
result "and removed" $? "$T/err"
end_program
check_that "the program ends as ever" [ "$STATUS" = 0 ]

# --- refused
refused "no such function" 'has no function nosuch' 'p:x nosuch'
refused "no such library" 'no library of the system has this name' 'p:x libnosuch.so:f'
refused "no such file" 'No such file' 'p:x /nosuch/file:main'
refused "no number behind +" 'behind + stands a number of bytes' 'p:x values_hit+zz'
# caret NAME DEFINITION WORD: the caret stands under the word.
caret() {
	"$BRACE" record -o "$T/none" -e "$2" -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
	awk -v text="$2" -v word="$3" 'begin { if (index($0, "^") != begin + index(text, word) - 1) exit 1; found = 1; exit }
		index($0, text) { begin = index($0, text) } END { exit !found }' "$T/err"
	result "the caret at $1" $? "$T/err"
}
caret "an argument" 'p:x values_hit n=%si:u64 m=%zz' '%zz'
caret "an argument behind those by number" 'p:x values_hit n=$arg2 m=+8($arg1):u8 %zz' '%zz'
caret "an argument of a return" 'r:x  values_hit  n=$retval:u65' 'u65'
caret "an argument of an event without a name" 'p values_hit n=%si:u64 m=%zz' '%zz'
caret "a name" 'p:1x values_hit' '1x'
refused "a bad argument" 'Invalid register name' 'p:x values_hit %zz'
refused "inside an instruction" 'no probe fits' 'p:x values_hit+1'
# A place that can be had is one of the same function: what stands next to it is another one.
cat >"$T/short.s" <<'P'
	.globl main, tiny, large
	.section .note.GNU-stack,"",@progbits
	.text
	.type tiny, @function
tiny:	mov %edi, %eax
	ret
	.size tiny, . - tiny
	.type large, @function
large:	mov %edi, %eax
	test %edi, %edi
	je 1f
	add $1000, %eax
	add $1000, %eax
1:	ret
	.size large, . - large
	.type main, @function
main:	lea tiny(%rip), %rax
	mov $7, %edi
	call *%rax
	call large
	xor %eax, %eax
	ret
	.size main, . - main
P
if cc -o "$T/short" "$T/short.s" 2>"$T/err"; then
	! "$BRACE" probe tiny -- "$T/short" >"$T/out" 2>"$T/err" && grep -q 'no probe fits at this offset.*, and none nearby in its function' "$T/err"
	result "no place of another function is offered" $? "$T/err"
	offset=$((16#$(nm "$T/short" | awk '$3 == "large" { print $1 }')))
	! "$BRACE" probe large+16 -- "$T/short" >"$T/out" 2>"$T/err"
	at=$(($(sed -n 's/.*the nearest that can be had is \(0x[0-9a-f]*\).*/\1/p' "$T/err") + 0))
	[ $at -ge $offset ] && [ $at -lt $((offset + 16)) ] && "$BRACE" probe "large+$((at - offset)) n=%di:s32" -- "$T/short" >"$T/out" 2>>"$T/err" &&
		grep -q 'n=7$' "$T/out"
	result "one of the same function is, and it can be had" $? "$T/err" "$T/out"
fi
refused "a return that is somebody else's" 'goes on in another one by a jump' 'r:x values_tail'
refused "a number of calls, which no return needs" 'returns are all seen' 'r10:x values_many $retval'
refused "a function that is nowhere" 'has no function nosuch' 'p:x nosuch n=%si'

# what the program lacks is looked for in its libraries; parameters of the C library have names
"$BRACE" probe -n fgets -- "$A" >"$T/seen" 2>"$T/err" &&
	grep -qE '^p:fgets [^ ]*/libc\.so\.6:0x[0-9a-f]+$' "$T/seen"
result "a library's function by its name alone" $? "$T/seen" "$T/err"
"$BRACE" record -q -o "$T/trace" -e 'p:asked malloc size' -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
[ "$("$BRACE" replay "$T/trace" 2>>"$T/err" | grep -cE ' asked: \(0x[0-9a-f]+\) size=[0-9]+$')" -ge 2 ]
result "malloc size" $? "$T/err" "$T/seen"
finish

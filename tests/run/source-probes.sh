#!/bin/bash
# SPDX-License-Identifier: MIT
# Probes in the words of the source (tests/targets/variables.c): places by line and by function, variables by name; against what
# the program's source says, against gdb's values at the same instructions, and against perf probe's list of lines. What cannot be
# fetched is refused with a caret. In the tree, too.
. "$(dirname "$0")/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
SOURCE=$HERE/../targets/variables.c
need gcc nm objdump

# line MARK: of the source.
line() { grep -n "mark: $1 " "$SOURCE" | cut -d: -f1; }
# hits NAME WANTED PROGRAM OPTIONS...: the records of the events, without their addresses, are these.
hits() {
	local name=$1 wanted=$2 program=$3
	shift 3
	"$BRACE" graph -q -o "$T/hits" "$@" -- "$program" 3 >"$T/out" 2>"$T/err"
	sed -nE 's/^.*: ([a-zA-Z0-9_]+): \([^)]*\)/\1/p' "$T/hits" >"$T/seen"
	printf '%s' "$wanted" | diff - "$T/seen" >"$T/differences"
	result "$name" $? "$T/differences" "$T/err"
}
MEMBERS='item->name item->cents count mode item->pairs[1].b x=item->more[2].a y=(*item).more->b total motto item->label item->low item->high
	item->small item->colour item->whole item->half item->sold f=*item->label c:x8=item->cents'
WANTED='a name="the last" cents=99 count=1 mode=3 b=0 x=30 y=11 total=0 motto="sell high" label="last" low=0 high=0 small=0 colour=0 whole=-5 half=-5 sold=0 f='\''l'\''
a name="the first" cents=7 count=2 mode=6 b=4 x=30 y=11 total=TOTAL1 motto="sell high" label="first" low=5 high=17 small=-3 colour=5 whole=4294967298 half=2 sold=1 f='\''f'\''
a name="the last" cents=99 count=3 mode=9 b=0 x=30 y=11 total=TOTAL2 motto="sell high" label="last" low=0 high=0 small=0 colour=0 whole=-5 half=-5 sold=0 f='\''l'\''
'
MEMBERS=${MEMBERS% c:x8*}
MEMBERS=${MEMBERS//$'\n'/ }
WANTED=${WANTED/TOTAL1/198}
WANTED=${WANTED/TOTAL2/236}
compilers=("gcc 0" "gcc 1" "gcc 2" "gcc s")
if type -P clang >/dev/null; then compilers+=("clang 0" "clang 2"); else skip "clang" "there is no clang"; fi
for c in "${compilers[@]}"; do
	read -r compiler level <<<"$c"
	P=$T/$compiler$level
	"$compiler" -g -O"$level" -o "$P" "$SOURCE" 2>"$T/err" || { not_ok "$c" "$T/err"; continue; }
	hits "$c: members, elements, globals at a function's begin" "$WANTED" "$P" -e "p:a price ${MEMBERS//	/}"
	hits "$c: what a returned pointer leads to" 'r name="the last" c=99
r name="the first" c=7
r name="the last" c=99
' "$P" -e 'r:r choose $retval->name c=$retval->cents'
	hits "$c: all parameters, on the stack, too" 'many a=1 b=2 c=3 d=4 e=5 f=6 seventh=1 eighth=-1
many a=1 b=2 c=3 d=4 e=5 f=6 seventh=2 eighth=-2
many a=1 b=2 c=3 d=4 e=5 f=6 seventh=3 eighth=-3
' "$P" -e 'p many $params'
	[ "$compiler" = gcc ] || continue # clang unrolls the loop
	"$BRACE" graph -q -o "$T/hits" -e "p:l $(basename "$SOURCE"):$(line loop) count" -- "$P" 3 >"$T/out" 2>"$T/err"
	[ "$(grep -oE ' count=[0-9]+' "$T/hits" | sort | uniq -c | tr -s ' \n' ' ')" = ' 1 count=1 2 count=2 3 count=3 ' ]
	result "$c: a line within a loop, as often as it runs" $? "$T/hits" "$T/err"
done
P=$T/gcc2
hits "an inlined function is probed in each copy" 'd_1
d_1
d_1
d
' "$P" -e 'p:d doubled'
hits "an address, and its bytes" 'a first="last"
a first="first"
a first="last"
' "$P" -e 'p:a price first=&item->label:string'
hits "a filter by a variable" 'a cents=7
' "$P" -e 'p:a price item->cents' -f 'cents < 50'
hits "a function of a file" 'price n=1
price n=2
price n=3
' "$P" -e 'p price@variables.c n=count'
hits "by the path of the program" 'price_L0 count=1
price_L0 count=2
price_L0 count=3
' "$P" -e "p $P:price:0 count"

# --- refused, with the caret under the word
refused() { # NAME SENTENCE DEFINITION WORD
	"$BRACE" record -o "$T/none" -e "$3" -- "$P" >"$T/out" 2>"$T/err"
	local status=$?
	[ $status = 125 ] && [ ! -s "$T/out" ] && grep -qF -- "$2" "$T/err" &&
		awk -v text="$3" -v word="$4" 'begin { if (index($0, "^") != begin + index(text, word) - 1) exit 1; found = 1; exit }
			index($0, text) { begin = index($0, text) } END { exit !found }' "$T/err"
	result "refused: $1" $? "$T/err" "$T/out"
}
refused "a variable that is not there" 'no variable nosuch is visible here; these are: ' 'p:x price a=count b=nosuch->a' nosuch
refused "a member that is not there" 'item has no member nosuch; it has label, name, cents' 'p:x price item->nosuch' nosuch
refused "a structure" 'is a structure; name one of its members: a, b' 'p:x price item->pairs[0]' item
refused "a floating-point number" 'factor is in a vector register here' 'p:x price n=factor' factor
refused "one in memory" 'weight is a floating-point number' 'p:x price item->weight' 'item'
refused "not here" 'sum is optimized out here (+0); it is at +' 'p:x price count sum' sum
refused "not a pointer" 'count is no pointer' 'p:x price *count' '*count'
refused "a missing bracket" 'a ] is missing here' 'p:x price item->pairs[1.a' '.a'
refused "an index by name" 'an index is a number' 'p:x price item->pairs[count].a' 'count]'
refused "no line" 'there is no code at variables.c:1; the next line that has some is ' 'p:x variables.c:1' variables.c
refused "no file" 'is of a source file nosuch.c' 'p:x nosuch.c:1' nosuch.c
refused "no function of that file" 'has no function price in a file other.c' 'p:x price@other.c' price
refused "a local at the return" 'is not kept until the function returns' 'r:x price sum' sum
refused "a value that nothing returns" 'no structure' 'r:x price $retval->a' '->a'
refused "an argument behind one by name" 'Invalid register name' 'p:x price item->cents %zz' %zz
refused "a type" 'Unknown type is specified' 'p:x price item->cents:u65' 'item->cents'
strip -o "$T/stripped" "$P"
"$BRACE" probe -n -x "$T/stripped" "variables.c:$(line first)" >"$T/out" 2>"$T/err"
[ $? = 125 ] && grep -qF "has no debug information: compile it with -g" "$T/err"
result "no debug information" $? "$T/err"

# --- what there is to be probed
"$BRACE" probe --no-pager -x "$P" -V price >"$T/variables" 2>"$T/err"
grep -qx $'\t\tstruct item \*\titem' "$T/variables" && grep -qE $'^\t\tint\tsum\t\(is optimized out here \(\+0\); it is at \+[0-9]+\.\.\+[0-9]+' "$T/variables" &&
	grep -q $'^\t@<price+0>$' "$T/variables" && grep -q 'Available variables at price' "$T/variables"
result "variables" $? "$T/variables" "$T/err"
"$BRACE" probe --no-pager -x "$P" --list 'pri*' 'ch*' >"$T/functions" 2>"$T/err"
check_that "functions" [ "$(paste -sd' ' "$T/functions")" = 'choose price' ]
# NUMBER-MARK of the lines that have one.
numbered() { sed -nE 's/^ {0,6}([0-9]+|-)  (.*)$/\2/p' "$1"; }
"$BRACE" probe --no-pager -x "$P" -L price >"$T/lines" 2>"$T/err"
head -n 1 "$T/lines" | grep -qE '^<price@/.*variables\.c:0>$' && grep -qE '^ {5} 7  .*mark: loop' "$T/lines"
result "lines of a function" $? "$T/lines" "$T/err"
"$BRACE" probe --no-pager -x "$P" -L "variables.c:$(line loop)" >"$T/lines" 2>"$T/err"
[ "$(wc -l <"$T/lines")" = 2 ] && grep -qE "^ +$(line loop)  .*mark: loop" "$T/lines"
result "one line of a file" $? "$T/lines" "$T/err"
if perf probe -x "$P" -L price >"$T/perf" 2>/dev/null && [ -s "$T/perf" ]; then
	for function in price main choose many; do
		perf probe -x "$P" -L $function >"$T/perf" 2>"$T/err"
		"$BRACE" probe --no-pager -x "$P" -L $function >"$T/lines" 2>>"$T/err"
		[ "$(head -n 1 "$T/perf")" = "$(head -n 1 "$T/lines")" ] &&
			[ -z "$(comm -23 <(numbered "$T/perf" | sort) <(numbered "$T/lines" | sort))" ]
		result "perf probe has no line of $function that is not here" $? "$T/perf" "$T/lines" "$T/err"
	done
else
	skip "perf probe's lines" "there is no perf that reads debug information"
fi

# --- brace probe itself
"$BRACE" probe -n -x "$P" 'hit=price item->name' 'choose%return $retval->cents' >"$T/lines" 2>"$T/err"
sed -E "s|$P:0x[0-9a-f]+|FILE|" "$T/lines" | diff - <(printf '%s\n' 'p:hit FILE name=+0(+16(%di)):string' 'p:choose FILE%return cents=+24($retval):s32') >"$T/differences"
result "-n prints what it would define" $? "$T/differences" "$T/err"
"$BRACE" probe -q -o "$T/hits" -a 'shop:hit=price item->cents' -f 'cents > 50' -a 'choose which' -- "$P" 3 >"$T/out" 2>"$T/err"
[ "$(grep -c ' hit: .* cents=99$' "$T/hits")" = 2 ] && [ "$(grep -c ' choose: .* which=[01]$' "$T/hits")" = 3 ]
result "probes of a program that is started, one with a filter" $? "$T/hits" "$T/err"
"$BRACE" probe 'price' >"$T/out" 2>"$T/err"
[ $? = 125 ] && grep -qF 'a program stands behind --' "$T/err"
result "without a program" $? "$T/err"
"$BRACE" probe -x "$P" >"$T/out" 2>"$T/err"
[ $? = 125 ] && grep -qF 'a probe is missing' "$T/err"
result "without a probe" $? "$T/err"

# --- gdb, at the same instructions
if type -P gdb >/dev/null && gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1; then
	for level in 0 1 2 3 s; do
		gcc -g -O$level -no-pie -o "$T/variables" "$SOURCE" 2>"$T/err"
		# in code that is not optimised variables have no values until they are set: parameters do, behind the function's first lines
		least=1 names='$vars'
		[ $level != 0 ] || least=60 names='$params'
		"$PYTHON" "$HERE/variable_points.py" "$T/variables" $least "$names" price many choose main >"$T/points" 2>"$T/err"
		ARGS=5 POINTS=$T/points timeout -s KILL 120 gdb -nx -batch -x "$HERE/gdb_variables.py" "$T/variables" >"$T/gdb" 2>>"$T/err" </dev/null
		# a place that no probe fits is left out
		while args=() && while IFS= read -r d; do args+=(-a "$d"); done < <(sed 's/^[^ ]* [^ ]* //' "$T/points") &&
			! "$BRACE" probe --mode block -o "$T/hits" "${args[@]}" -- "$T/variables" 5 >"$T/out" 2>"$T/probe.err"; do
			bad=$(sed -nE 's/^  p:(v[0-9]+) .*/\1/p' "$T/probe.err" | head -n 1)
			[ -n "$bad" ] || break
			sed -i "/^$bad /d" "$T/points"
		done
		"$PYTHON" "$HERE/same_variables.py" "$T/gdb" "$T/hits" >"$T/differences" 2>>"$T/err"
		status=$?
		result "gdb has the same values at -O$level: $(tail -n 1 "$T/differences")" $status "$T/differences" "$T/probe.err" "$T/err"
	done
else
	skip "gdb's values" "there is no gdb with python"
fi

# --- the tree
D=$T/tree
mkdir "$D"
ANSWERS=values
. "$HERE/answers-lib.sh"
start_program
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
echo "p:hit $A:values_hit p->s8 n p->name" >"$D/uprobe_events"
result "the tree takes a place and variables by name" $? "$D/error_log"
check_that "and lists the kernel's words" grep -qE "^p:uprobes/hit $A:0x[0-9a-f]+ s8=\+8\(%di\):s8 n=%si:s64 name=\+0\(\+40\(%di\)\):string$" "$D/uprobe_events"
! echo "p:bad $A:values_hit n p->nosuch" 2>/dev/null >>"$D/uprobe_events" && grep -qF 'p has no member nosuch' "$D/error_log" &&
	[ "$(wc -l <"$D/uprobe_events")" = 1 ]
result "what is not there is refused, and told in error_log" $? "$D/error_log"
echo 1 >"$D/events/uprobes/hit/enable"
tell 2
check_that "and records" grep -qE ' hit: \(0x[0-9a-f]+\) s8=-3 n=2 name="the "name""' "$D/trace"
echo 0 >"$D/events/uprobes/hit/enable"
"$BRACE" umount "$D" 2>"$T/err"
end_program
check_that "the program ends as ever" [ "$STATUS" = 0 ]
finish

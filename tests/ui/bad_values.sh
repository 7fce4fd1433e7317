#!/bin/bash
# Wrong values of options and questions: one sentence, the user's words, a caret at the word at fault,
# and the nearest name where one is near. The program does not run.
. "$(dirname "$0")/../run/lib.sh"

cat >"$T/priced.c" <<'C'
#include <stdlib.h>
struct item { const char *name; int cents; };
__attribute__((noinline)) int price(struct item *item, int number) { return item->cents * number; }
int main(int argc, char **argv)
{
	struct item item = { argv[0], argc };

	free(malloc((size_t)price(&item, argc)));
	return 0;
}
C
gcc -g -O1 -fno-builtin -o "$T/priced" "$T/priced.c" || exit 1
P=$T/priced

# at NAME SENTENCE WORDS COLUMN ARGUMENT...: brace ends with 125, says SENTENCE, and shows WORDS with a
# caret below the column (0: the first).
at() {
	local name=$1 sentence=$2 words=$3 column=$4
	shift 4
	timeout "$LIMIT" "$BRACE" "$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 125 ] && grep -qF -- "$sentence" "$T/err" && [ "$(grep -c '^brace: ' "$T/err")" -eq 1 ] &&
		diff <(printf '  %s\n  %*s^\n' "$words" "$column" '') <(tail -n 2 "$T/err") >"$T/diff"
	result "$name" $? "$T/err"
}
at "hist -d of a name that is like one" 'there is no function `prise` in priced; nearest names: price' prise 0 hist -d prise -- "$P"
at "hist -d of a name like a library's" 'nearest names: malloc' maloc 0 hist -d maloc -- "$P"
at "hist -d of a glob" 'no function of priced or its libraries matches `nonesuch*`' 'nonesuch*' 0 hist -d 'nonesuch*' -- "$P"
at "hist of no function" '(did you mean price?)' 'pricee number' 0 hist 'pricee number' -- "$P"
at "hist of no event" '(did you mean sys_enter_openat?)' sys_enter_opeat 0 hist sys_enter_opeat -- "$P"
at "hist by no parameter" '(did you mean number?)' 'hist:keys=numbr:sort=hitcount.descending' 10 hist 'price numbr' -- "$P"
at "hist by what is like none" 'the function has item, number' 'hist:keys=zz:sort=hitcount.descending' 10 hist 'price zz' -- "$P"
at "hist by no field" '(did you mean filename?)' 'hist:keys=filenam:sort=hitcount.descending' 10 hist 'sys_enter_openat filenam' -- "$P"
at "hist with a filter of no field" 'the function has item, number' 'm > 3' 2 hist 'price number if m > 3' -- "$P"
at "--args of no function" 'nearest names: price' prise 0 record -o "$T/trace" --args=prise -- "$P"
at "--retval of a glob" 'no function of priced matches `nonesuch*`' 'nonesuch*' 0 record -o "$T/trace" --retval='nonesuch*' -- "$P"
at "-e of no event" 'did you mean syscalls:sys_enter_openat?' syscalls:sys_enter_opeat 0 record -o "$T/trace" -e syscalls:sys_enter_opeat -- "$P"
at "latency to no function" '(did you mean free?)' 'malloc fre ' 7 latency malloc fre -- "$P"
at "latency from no function" '(did you mean malloc?)' 'maloc free ' 0 latency maloc free -- "$P"
at "latency by no field" 'the function has size' 'malloc free by zz ' 15 latency malloc free by zz -- "$P"
at "a span to no function" '(did you mean price?)' 'price~~pricee ' 7 latency 'price~~pricee' -- "$P"
at "follow --by" 'there are identity and field' wrong 0 follow --by wrong '$any==1' -- "$P"
at "probe at no function" 'did you mean price?' 'p pricee number' 2 probe -n 'pricee number' -- "$P"
at "probe --vars of no function" 'did you mean price?' pricee 0 probe -x "$P" --vars pricee
at "probe --lines of no function" 'did you mean price?' pricee 0 probe -x "$P" --lines pricee
at "probe --lines behind the end" 'priced.c has 10 lines' priced.c:900 0 probe -x "$P" --lines priced.c:900
at "sql of no field" '(did you mean' 'SELECT a.numbr FROM price AS a' 7 sql 'SELECT a.numbr FROM price AS a' -- "$P"
at "syscalls --by" 'did you mean thread?' thred 0 syscalls --by=thred -- "$P"
at "syscalls --sort" 'did you mean total?' toal 0 syscalls --sort=toal -- "$P"
timeout "$LIMIT" "$BRACE" record -q -o "$T/trace" -- "$P" 2>"$T/err" </dev/null
result "a trace" $? "$T/err"
at "query of no table" '(did you mean slice?)' 'SELECT * FROM slicee' 14 query "$T/trace" 'SELECT * FROM slicee'
at "query of no column" '(did you mean name?)' 'SELECT namee FROM slice' 7 query "$T/trace" 'SELECT namee FROM slice'
at "query of no function" '(did you mean count?)' 'SELECT contt(name) FROM slice' 7 query "$T/trace" 'SELECT contt(name) FROM slice'
at "query of half a statement" 'incomplete input' 'SELECT name FROM slice WHERE ' 28 query "$T/trace" 'SELECT name FROM slice WHERE '
finish

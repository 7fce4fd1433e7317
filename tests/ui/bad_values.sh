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
at "latency by no field of two system calls" 'start.cnt: the event syscalls:sys_enter_write has no such field; did you mean count?' 'syscalls:sys_enter_write syscalls:sys_exit_write by cnt ' 52 latency syscalls:sys_enter_write syscalls:sys_exit_write by cnt -- "$P"
at "latency by no field of the second" 'end.cnt: ' 'syscalls:sys_enter_write syscalls:sys_exit_write by common_pid=cnt ' 63 latency syscalls:sys_enter_write syscalls:sys_exit_write by common_pid=cnt -- "$P"
at "latency to what is no name" 'the name of an event or a function is expected' 'a b\011x ' 3 latency a $'b\tx' -- "$P"
at "latency from no name" 'the name of an event or a function is expected' ' b ' 0 latency '' b -- "$P"
at "latency by what is no name" "a field's name is expected" 'malloc free by ä ' 15 latency malloc free by ä -- "$P"
at "latency from a keyword" 'select stands where an event is expected' 'select b ' 0 latency select b -- "$P"
at "latency of half a span" 'nothing stands where the event that ends the span is expected' 'malloc ~~ ' 9 latency 'malloc ~~' -- "$P"
at "sql with a letter of no field" 'brace: äx stands where a field is expected' 'SELECT äx FROM syscalls.sys_enter_write' 7 sql 'SELECT äx FROM syscalls.sys_enter_write' -- "$P"
at "sql with a letter behind a field" 'brace: ä stands where FROM is expected' 'SELECT xä FROM syscalls.sys_enter_write' 8 sql 'SELECT xä FROM syscalls.sys_enter_write' -- "$P"
at "a caret behind wide letters" 'no such column: nam' "SELECT '日本語', nam FROM slice" 17 query "$T/trace" "SELECT '日本語', nam FROM slice"
at "report --by with a tab" 'no rows by ä\011q; there are' 'ä\011q' 0 report --by $'ä\tq' "$T/trace"
W=$(head -c 100000 /dev/zero | tr '\0' w)
# short NAME SENTENCE ARGUMENT...: brace ends with 125 and says SENTENCE in less than 1,000 bytes
short() {
	local name=$1 sentence=$2
	shift 2
	timeout "$LIMIT" "$BRACE" "$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 125 ] && grep -qE -- "$sentence" "$T/err" && [ "$(wc -c <"$T/err")" -lt 1000 ]
	result "of a long word the beginning: $name" $? <(head -c 2000 "$T/err")
}
short "a command" 'there is no command w{60}\.\.\.; `brace help`' "$W"
short "help of a command" 'there is no command w{60}\.\.\.;' help "$W"
short "report --sort" 'no column w{60}\.\.\. to sort by; there are calls, ' report --sort "$W" "$T/trace"
short "report --by in letters of two bytes" 'no rows by (ö){30}\.\.\.; there are function, ' report --by "$(head -c 30000 /dev/zero | sed 's/\x0/ö/g')" "$T/trace"
short "top --sort" 'no column w{60}\.\.\. to sort by' top --sort "$W" -- "$P"
short "export --to" 'no format w{60}\.\.\.; there are' export --to "$W" "$T/trace"
short "list -e" 'no event there matches w{60}\.\.\.' list -e "$W"
short "latency" '^  w{250,255}$' latency "$W" b -- "$P"
short "a function" 'there is no function' record -o "$T/none" -l "$W" -- "$P"
finish

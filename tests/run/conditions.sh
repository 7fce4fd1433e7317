#!/bin/bash
# SPDX-License-Identifier: MIT
# -g and -l with `if CONDITION`: the calls that are recorded, and how they nest, are those that the program itself says satisfy it
# (tests/targets/conditions.cc): through recursion, exceptions, longjmp, signals' handlers and threads.
. "$(dirname "$0")/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
need g++
CONDITION='n > 50 && name ~ "a*"'
# The calls inside of longjmp and of exceptions are not part of the account.
REST=(-n raise -n '*cxa*' -n '*_Unwind*' -n '*setjmp' -n longjmp)
CALLS=(-l "work if $CONDITION" -l leaf -l 'handle if number == 12')

# calls_of FILE: "DEPTH name(arguments)" lines of a graph
calls_of() {
	awk -F'|' 'NF > 1 && $2 ~ /\(/ { s = $2; match(s, /^ */); d = (RLENGTH - 2) / 2; sub(/^ */, "", s); sub(/\).*/, ")", s); print d " " s }' "$1"
}

# accounts NAME PROGRAM MODE OPTION...: the recorded calls are those of the program's account
accounts() {
	ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" "${REST[@]}" --args "${@:4}" -- "$2" "$3" 7 150 2>"$T/err"
	local status=$?
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	calls_of "$T/graph" >"$T/calls"
	[ "$status" -eq 0 ] && [ "$(wc -l <"$T/account")" -gt 500 ] && diff "$T/account" "$T/calls" >"$T/differences"
	result "$1" $? "$T/differences"
}

for level in 0 1 2 3 s; do
	g++ -g -O$level -pthread -Wno-format-security -o "$T/conditions$level" "$HERE/../targets/conditions.cc" 2>"$T/err" || not_ok "g++ -O$level" "$T/err"
	accounts "graphs at -O$level" "$T/conditions$level" graph -g "work if $CONDITION"
	accounts "calls at -O$level" "$T/conditions$level" calls "${CALLS[@]}"
done
# numbers are compared by the trampoline, which calls the agent for the string alone, or not at all
accounts "the string first" "$T/conditions2" graph -g 'work if name ~ "a*" && n > 50'
accounts "numbers alone" "$T/conditions2" numbers -g 'work if n > 50'
accounts "calls by C code" "$T/conditions2" calls "${CALLS[@]}" --max-graph-depth 90
accounts "the last pattern decides" "$T/conditions2" graph -g 'wor*' -g "work if $CONDITION"
# without the other functions' returned values nothing is different
accounts "with returned values" "$T/conditions2" graph -g "work if $CONDITION" --retval

ACCOUNT=$T/account "$BRACE" record -q --mode block -t function "${CALLS[@]}" --args -o "$T/trace" -- "$T/conditions2" calls 7 150 2>"$T/err"
"$BRACE" replay "$T/trace" | sed -nE 's/^[^#].*: ((work|leaf|handle)\(.*\)) <-.*$/\1/p' >"$T/calls"
sed 's/^[0-9]* //' "$T/account" | diff - "$T/calls" >"$T/differences"
result "the function tracer" $? "$T/differences"

# --- by returned floating-point numbers and strings
g++ -g -std=c++17 -O2 -pthread -o "$T/answers" "$HERE/../targets/answers.cc" 2>"$T/err"
# answers CONDITION AWK: the recorded calls are those that awk takes from the account
answers() {
	ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" -g "$1" -l "${1%% *}" --args --retval -- "$T/answers" 7 900 >/dev/null 2>"$T/err"
	"$BRACE" replay "$T/trace" 2>>"$T/err" | sed -nE 's:^.*\|  ([a-z_]+\(.*\)); /\* = (.*) \*/$:\1 = \2:p' >"$T/calls"
	awk -F' = ' "/^${1%% *}/ && $2" "$T/account" >"$T/expected"
	[ -s "$T/expected" ] && diff "$T/expected" "$T/calls" >"$T/differences"
	result "$1" $? "$T/differences"
}
answers 'scale if $retval < -999000.5' '$2 < -999000.5'
answers 'half if $retval >= 1e6 && $retval != 7516653' '$2 >= 1e6 && $2 != 7516653'
answers 'name if $retval ~ "x3*"' '$2 ~ /^"x3/'
answers 'name if $retval == 0' '$2 == "0x0"'
answers 'made if $retval == "mm"' '$2 == "\"mm\""'
answers 'seen if $retval ~ "*three"' '$2 ~ /three"$/'
for refused in 'scale if $retval & 1' 'scale if $retval < abc' 'scale if $retval ~ "1*"'; do
	! "$BRACE" record -q -o "$T/trace" -g "$refused" -- "$T/answers" 7 9 >/dev/null 2>"$T/err" && grep -q '^ *^$' "$T/err"
	result "refused: $refused" $? "$T/err"
done

# --- by what calls return: with all that they called, or not at all
# returns NAME PROGRAM TRUTH... -- OPTION...
returns() {
	local name=$1 program=$2 truth=()
	shift 2
	while [ "$1" != -- ]; do truth+=("$1") && shift; done
	ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" "${REST[@]}" --args "${@:2}" -- "$program" 5 150 2>"$T/err"
	local status=$?
	"$PYTHON" "$HERE/returned_truth.py" "$T/account" "${truth[@]}" >"$T/expected" 2>>"$T/err"
	"$BRACE" replay "$T/trace" 2>>"$T/err" | "$PYTHON" -c '
import re, sys
calls, open_calls = [], []
for line in sys.stdin:
    text = line.split("|", 1)[-1]
    depth = (len(text) - len(text.lstrip()) - 2) // 2
    m = re.match(r"\s*(\w+\(.*?\))( \{|;)(?: /\* = (\S+) \*/)?", text)
    end = re.match(r"\s*\} /\* \w+ (?:= (\S+)|(unwound)) \*/", text)
    if m:
        calls.append([depth, m[1], m[3]])
        open_calls[depth:] = [calls[-1]]
    elif end:
        open_calls[depth][2] = end[1] or end[2]
for depth, name, value in calls:
    print(depth, name, "=", value if not value or not value.startswith("0x") else int(value, 16))' >"$T/calls"
	[ "$status" -eq 0 ] && [ "$(wc -l <"$T/expected")" -gt 200 ] && diff "$T/expected" "$T/calls" >"$T/differences"
	result "$name" $? "$T/differences"
}
for level in 0 2; do
	g++ -g -O$level -pthread -o "$T/returned$level" "$HERE/../targets/returned.cc" 2>"$T/err" || not_ok "g++ -O$level" "$T/err"
	returns "returned at -O$level" "$T/returned$level" 'work=;retval<0' -- -g 'work if $retval < 0' --retval
	returns "arguments and returned at -O$level" "$T/returned$level" 'work=n>4;retval==0' -- -g 'work if $retval == 0 && n > 4' --retval
	returns "several functions at -O$level" "$T/returned$level" 'work=;retval==-3 or retval>2' 'tailed=;retval==1' 'other=;' -- \
		-g 'work if ($retval == -3 || $retval > 2)' -g 'tailed if $retval == 1' -g other --retval
	returns "reached by jumps at -O$level" "$T/returned$level" 'last=;retval<0' -- -g 'last if $retval < 0' --retval
done

cat >"$T/long.c" <<'END'
#include <stdlib.h>
__attribute__((noipa)) int leaf(int n) { return n; }
__attribute__((noipa)) int many(int n)
{
	for (int i = 0; i < n; i++)
		leaf(i);
	if (n == 3)
		exit(0);
	return -n;
}
int main(void)
{
	many(2);
	many(600000);
	many(1);
	many(3);
	return 1;
}
END
gcc -g -O1 -o "$T/long" "$T/long.c" 2>"$T/err"
"$BRACE" record --mode block -o "$T/trace" -g 'many if $retval < 0' -- "$T/long" 2>"$T/err"
grep -q '1 call with a condition on \$retval could not be held back until it returned' "$T/err"
result "a call that is too long is told" $? "$T/err"
grep -q '1 call with a condition on \$retval had not returned at the end, and is left out' "$T/err"
result "and one that does not return" $? "$T/err"
# both records of the call and of all that it called
grep -q ', 1,200,002 records lost' "$T/err"
result "what it called is lost" $? "$T/err"
"$BRACE" replay "$T/trace" | grep -c 'leaf()' >"$T/calls"
[ "$(cat "$T/calls")" -eq 3 ] && [ "$("$BRACE" replay "$T/trace" | grep -c '} /\* many = -[12] \*/')" -eq 2 ]
result "the others are there" $? "$T/calls"

"$BRACE" start -t function_graph -g 'many if $retval < 0' -- "$T/long" >"$T/out" 2>"$T/err"
# Until the second call was too long, it is one that has not returned, too.
said_in_tree() {
	"$BRACE" show >"$T/shown" 2>/dev/null
	grep -q 'could not be held back' "$T/shown" &&
		grep -q '^# 1 call with a condition on \$retval has not returned, and is left out$' "$T/shown"
}
until_is said_in_tree
result "a tree says what has not returned" $? "$T/shown"
grep -q '^# 1 call with a condition on \$retval could not be held back' "$T/shown"
result "and what was too long" $? "$T/err"
"$BRACE" reset >"$T/out" 2>&1

# Of many calls on several threads each run of records ends within one: what is decided does not wait for it.
cat >"$T/often.c" <<'END'
#include <pthread.h>
__attribute__((noipa)) int leaf(int n) { return n; }
__attribute__((noipa)) int often(int n)
{
	for (int i = 0; i < 5; i++)
		leaf(i);
	return n % 100 ? n : -1;
}
static void *run(void *arg)
{
	for (int i = 0; i < 200000; i++)
		often(i);
	return arg;
}
int main(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, run, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	return 0;
}
END
gcc -g -O1 -pthread -o "$T/often" "$T/often.c" 2>"$T/err"
"$BRACE" record --mode block -o "$T/trace" -g 'often if $retval < 0' -- "$T/often" 2>"$T/err"
grep -q '^brace: 48,000 calls, .*, no records lost' "$T/err" && ! grep -q 'held back' "$T/err"
result "calls that are left out are no losses" $? "$T/err"

# --- every sort of argument and comparison, against a filter over all calls of the same run
cat >"$T/sorts.c" <<'END'
#include <stdbool.h>
#include <stdlib.h>
__attribute__((noipa)) long sorts(signed char a, short b, int c, long d, unsigned char e, unsigned short f, unsigned g, unsigned long h, bool i)
{
	return a + b + c + d + e + f + (long)g + (long)h + i;
}
int main(void)
{
	long sum = 0;

	srandom(3);
	for (int i = 0; i < 400; i++)
		sum += sorts((signed char)random(), (short)random(), (int)(random() - random()), random() - random(), (unsigned char)random(),
			     (unsigned short)random(), (unsigned)(random() << 2), (unsigned long)random() << 33, random() & 1);
	return sum == 5;
}
END
gcc -g -O2 -o "$T/sorts" "$T/sorts.c" 2>"$T/err"
"$BRACE" record -q --mode block -o "$T/all" -l sorts --args -- "$T/sorts" 2>>"$T/err" && "$BRACE" replay "$T/all" | grep -o 'sorts(.*)' >"$T/sorted"
# selected CONDITION PYTHON: what Python selects of all calls, the condition does
selected() {
	"$BRACE" record -q --mode block -o "$T/trace" -l "sorts if $1" --args -- "$T/sorts" 2>"$T/err"
	"$BRACE" replay "$T/trace" | grep -o 'sorts(.*)' >"$T/calls"
	"$PYTHON" -c '
import re, sys
for line in open(sys.argv[1]):
    values = {name: eval(value.capitalize()) for name, value in re.findall(r"(\w)=([^,)]+)", line)}
    if eval(sys.argv[2], values):
        print(line, end="")' "$T/sorted" "$2" >"$T/expected"
	[ -s "$T/expected" ] && [ "$(wc -l <"$T/expected")" -lt 400 ] && diff "$T/expected" "$T/calls" >"$T/differences"
	result "$1" $? "$T/differences"
}
selected 'a < -3' 'a < -3'
selected 'b >= 100 || b <= -20000' 'b >= 100 or b <= -20000'
selected 'c > 0 && d < 0' 'c > 0 and d < 0'
selected '!(e != 7 && e > 100)' 'not (e != 7 and e > 100)'
selected 'f & 1' 'f & 1'
selected 'g > 3000000000 || h > 9223372036854775808' 'g > 3000000000 or h > 9223372036854775808'
selected 'i == 1 && (a > 0 || COMM == "other")' 'i and a > 0'

# --- what cannot be
refuses() { # NAME SENTENCE COLUMN OPTION...
	! "$BRACE" record -q -o "$T/trace" "${@:4}" -- "$T/sorts" 2>"$T/err" >"$T/out" && grep -qF -- "$2" "$T/err" &&
		[ "$(sed -n 's/^  \( *\)^$/\1/p' "$T/err" | awk '{ print length }')" = "$3" ]
	result "$1" $? "$T/err"
}
refuses "an unknown argument" 'sorts has no such argument that can be compared, it has a, b, c, d, e, f, g, h, i' 18 -l 'sorts if a > 1 && x == 2'
refuses "no value" 'condition: Invalid value (did you forget quotes)?' 12 -l 'sorts if a > '
refuses "a string for a number" 'Expecting numeric field' 14 -l 'sorts if a == "x"'
refuses "a parenthesis" "condition: Too many '('" 9 -l 'sorts if (a == 1'
refuses "a name that the shell took" 'condition: a name is missing before the operator: in a shell,' 9 -l 'sorts if < 3'
refuses "no condition" 'condition: it is empty' 8 -l 'sorts if'
refuses "a condition of a removal" 'what is taken out has no condition' 10 -l sorts -l '!sorts if a == 1'
refuses "a condition of -n" 'only functions that are traced' 6 -n 'sorts if a == 1'
refuses "returned, or an argument" 'terms about arguments and about $retval are joined by && alone' 24 -g 'sorts if $retval < 0 || a > 1'
refuses "returned, of -l" 'a condition on what a call returns goes with -g' 9 -l 'sorts if $retval < 0'
refuses "returned, with a threshold" 'with a threshold calls are recorded at their ends' 9 -g 'sorts if $retval < 0' --threshold 1us
refuses "a returned number for a string" 'condition of sorts: Expecting numeric field' 20 -g 'sorts if $retval == "x"'
strip -g -o "$T/nameless" "$T/sorts"
"$BRACE" record -q --mode block -o "$T/trace" -l 'sorts if a == 1' -- "$T/nameless" 2>"$T/err"
grep -q 'sorts has no debug information: its arguments are known as arg1 to arg6 only' "$T/err"
result "no debug information" $? "$T/err"
"$BRACE" record -q --mode block -o "$T/trace" -l 'sorts if arg4 > 9223372036854775807' -- "$T/nameless" 2>"$T/err"
[ "$("$BRACE" replay "$T/trace" | grep -c 'sorts()')" -eq "$(awk '$4 ~ /=-/' "$T/sorted" | wc -l)" ]
result "but registers" $? "$T/err"

# --- while it runs
cat >"$T/ticks.c" <<'END'
#include <unistd.h>
__attribute__((noipa)) int tick(int n, const char *who) { return n + *who; }
__attribute__((noipa)) int leaf(int n) { return n; }
__attribute__((noipa)) int fails(int n)
{
	for (int i = 0; i < n; i++)
		leaf(i);
	return n % 3 ? n : -n - 1;
}
int main(void)
{
	for (int i = 0; write(1, "", 1) == 1; i++) {
		tick(i % 10, i % 2 ? "odd" : "even");
		fails(i % 10);
		usleep(200);
	}
	return 0;
}
END
gcc -g -O1 -o "$T/ticks" "$T/ticks.c" 2>"$T/err"
"$T/ticks" >/dev/null &
TICKS=$!
ON_EXIT+=("$BRACE reset" "kill $TICKS")
"$BRACE" start -p "$TICKS" -g 'tick if n == 3 && who ~ "o*"' --args 2>"$T/err"
result "start" $? "$T/err"
shows() { "$BRACE" show | grep -o 'tick(.*)' | sort -u >"$T/calls"; [ -s "$T/calls" ]; }
until_is shows
[ "$(cat "$T/calls")" = 'tick(n=3, who="odd")' ]
result "shows these calls alone" $? "$T/calls"
! "$BRACE" set -g 'tick if m == 4' 2>"$T/err" && grep -qF 'tick has no such argument that can be compared, it has n, who' "$T/err"
result "set refuses an unknown argument" $? "$T/err"
"$BRACE" set -g 'tick if n == 4' 2>"$T/err"
result "set" $? "$T/err"
shows_four() { shows && grep -q 'n=4' "$T/calls"; }
until_is shows_four
! grep -v -e 'n=3, who="odd"' -e 'n=4, who="even"' "$T/calls"
result "changes the condition" $? "$T/calls"

# What is returned, in a tree: the calls that failed with all that they called, and nothing else.
"$BRACE" set -g 'fails if $retval < 0' --retval 2>"$T/err"
result "set takes a condition on what is returned" $? "$T/err"
failed() { "$BRACE" show >"$T/shown" && [ "$(grep -c 'fails = -' "$T/shown")" -ge 3 ]; }
"$BRACE" clear 2>>"$T/err"
until_is failed
! grep -q 'tick' "$T/shown" && ! grep -qE 'fails = [0-9]' "$T/shown"
result "shows the calls that failed alone" $? "$T/shown"
calls_of_each() { awk '/fails\(/ { n = 0 } /leaf\(/ { n++ } /fails = -/ { split($0, p, "fails = -"); if (n != p[2] - 1) bad = 1 } END { exit bad }' "$T/shown"; }
check_that "with all that they called" calls_of_each
! "$BRACE" set -e 'sched:sched_switch' -R stacktrace 2>"$T/err" && grep -qF 'holds records back until the return' "$T/err"
result "refused beside a trigger" $? "$T/err"
"$BRACE" set -g 'fails if $retval >= 0' 2>"$T/err"
passed() { "$BRACE" show >"$T/shown" && [ "$(grep -c 'fails = [0-9]' "$T/shown")" -ge 3 ]; }
until_is passed
result "another condition takes its place" $? "$T/err" "$T/shown"
"$BRACE" set -g tick 2>"$T/err" && until_is shows
result "and none" $? "$T/err"
"$BRACE" stop >/dev/null 2>"$T/err"
kill -0 "$TICKS"
result "the program goes on" $? "$T/err"
finish

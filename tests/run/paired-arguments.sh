#!/bin/bash
# SPDX-License-Identifier: MIT
# Structures in two registers whose location gcc tells from the function's second instruction on, or never (tests/targets/paired.c):
# --args shows what the program says that it passed.
. "$(dirname "$0")/lib.sh"
need gcc
CALLS=40
FUNCTIONS=(first second letter behind mixed both full returned changed)

# calls_of FILE: "name(arguments)" lines, of leaves and of others
calls_of() { sed -nE 's:^.*\|  +([a-z]+\(.*\))(;| \{)$:\1:p' "$1"; }

for level in 0 1 2 s; do
	gcc -g -O$level -no-pie -o "$T/paired$level" "$HERE/../targets/paired.c" 2>"$T/err" || not_ok "gcc -O$level" "$T/err"
	ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" --args "${FUNCTIONS[@]/#/-l}" -- "$T/paired$level" 7 "$CALLS" 2>"$T/err"
	status=$?
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	calls_of "$T/graph" >"$T/calls"
	[ "$status" -eq 0 ] && [ "$(wc -l <"$T/account")" -eq $((10 * CALLS)) ] && diff "$T/account" "$T/calls" >"$T/differences"
	result "what the program passed, -O$level" $? "$T/differences"
done

# gdb_first PROGRAM: what gdb has of the same calls, at the first instruction at which it has it
gdb_first() {
	cat >"$T/first.py" <<-'END'
	import gdb
	gdb.execute('break *first')
	gdb.execute('run 7 9 >/dev/null')
	while gdb.selected_inferior().pid:
	    for step in range(4):
	        p = gdb.selected_frame().read_var('p')
	        if not p.is_optimized_out and not p['a'].is_optimized_out and not p['b'].is_optimized_out:
	            print('first(p={a=%d, b=%d}, last=%d)' % (int(p['a']), int(p['b']), int(gdb.selected_frame().read_var('last'))))
	            break
	        gdb.execute('stepi')
	    gdb.execute('continue')
	END
	DEBUGINFOD_URLS='' timeout -s KILL 240 gdb -nx -batch -x "$T/first.py" "$1" 2>"$T/err" </dev/null | grep '^first('
}
if gdb -nx -batch -ex 'python print(1)' >"$T/out" 2>&1; then
	gdb_first "$T/paired2" >"$T/gdb"
	"$BRACE" record -q --mode block -o "$T/trace" --args -l first -- "$T/paired2" 7 9 2>"$T/err"
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	calls_of "$T/graph" >"$T/calls"
	[ "$(wc -l <"$T/gdb")" -eq 18 ] && diff "$T/gdb" "$T/calls" >"$T/differences"
	result "what gdb has behind the first instructions" $? "$T/differences"
else
	skip "what gdb has" "there is no gdb with Python"
fi

# --- a clone takes other parameters than its source says: nothing is taken from the convention
cat >"$T/clone.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
struct pair { int a; long b; };
static __attribute__((noinline)) long cut(int unused, struct pair p, int last) { return p.a + p.b + last; }
int main(int n, char **words) { struct pair p = { n, atol(words[1]) }; return printf("%ld\n", cut(3, p, n)) < 0; }
END
gcc -g -O2 -fno-inline -o "$T/clone" "$T/clone.c" 2>"$T/err"
if nm "$T/clone" | grep -qE ' cut\.(constprop|isra)'; then
	"$BRACE" record -q --mode block -o "$T/trace" --args -l 'cut*' -- "$T/clone" 42 >"$T/out" 2>"$T/err"
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	grep -q 'cut[.a-z0-9]*(.*p=?' "$T/graph" && ! grep -q 'cut.*p={' "$T/graph"
	result "nothing of a clone's" $? "$T/graph"
else
	skip "nothing of a clone's" "this gcc makes none"
fi
finish

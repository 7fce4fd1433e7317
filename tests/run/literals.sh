#!/bin/bash
# SPDX-License-Identifier: MIT
# Strings that nobody writes to are shown from copies of their pages (agent/constants.c): held against what the program says that it
# called with (tests/targets/literals.c), over threads, modules that are closed, memory in their place, pages that are written to or
# gone, handlers on their own stacks, and forks.
. "$(dirname "$0")/lib.sh"
need gcc

# Strings behind a whole page, so that the page with the string has nothing else.
for i in 0 1; do
	printf 'static const char page[4096] __attribute__((aligned(4096))) = "module %d";\nconst char *const text = page;\n' $i >"$T/$i.c"
	gcc -shared -fPIC -O1 -o "$T/$i.so" "$T/$i.c" || not_ok "gcc -shared"
done
gcc -g -O1 -pthread -o "$T/literals" "$HERE/../targets/literals.c" -ldl || not_ok "gcc"
gcc -g -O1 -pthread -static -o "$T/static" "$HERE/../targets/literals.c" 2>"$T/err" || not_ok "gcc -static" "$T/err"

# said FILE: the calls of a graph; threads and processes are mixed
said() { grep -oE 'said\(text=("[^"]*"|\(fault\))\)' "$1" | sort; }

# tells NAME LINES PROGRAM WHAT [OPTION...]: the recorded calls are those of the account, LINES of them at least
tells() {
	ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" -l said --args "${@:5}" -- "$T/$3" "$4" "$T" 2>"$T/err"
	local status=$?
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	said "$T/graph" >"$T/calls"
	sort "$T/account" | diff - "$T/calls" >"$T/differences" && [ "$status" -eq 0 ] && [ "$(wc -l <"$T/calls")" -ge "$2" ]
	result "$1" $? "$T/differences"
}

tells "eight threads, more pages than there are copies" 7200 literals threads
tells "the same in a static program" 7200 static threads
tells "the same in state mode" 7200 literals threads --max-graph-depth 9
tells "modules that take each other's place, and memory that takes theirs" 1000 literals closed
tells "a literal that is written to" 11 literals written
tells "handlers on their own stack" 400 literals interrupted
tells "children of forks" 100 literals forked
tells "a page that is unmapped, a file that is cut" 4 literals gone

finish

# shellcheck shell=bash
# The ledger of tests/targets/victim (tests/targets/ledger.h), in which the program itself counts its calls: for tests that source
# this behind lib.sh and set $ledger to its file.

# field OFFSET: a number of the ledger. made: calls of step, all threads together.
field() { od -An -v -tu4 -w4 -j "$1" -N 4 "$ledger" | tr -d ' '; }
made() { od -An -v -tu8 -w8 -j 48 "$ledger" | awk '{ n += $1 } END { print n + 0 }'; }
let_go() { printf '\1' | dd of="$ledger" bs=1 seek=8 conv=notrunc status=none; }
stands_still() { [ -s "$ledger" ] && [ "$(field 4)" = 1 ]; }
is_gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null; }
# figure records|lost FILE: of the whole trace, as info says.
figure() { "$BRACE" info --json "$2" | sed -nE "s/.*\"type\":\"trace\".*\"$1\":([0-9]+).*/\1/p"; }

#!/bin/bash
# Functions that have one name but for their parameters are told apart by these, and selected by
# them; others have none.
. "$(dirname "$0")/lib.sh"
[ -x "${FIXTURES:?is the directory of the compiled test programs}/overloads" ] || { printf '1..0 # SKIP no C++ compiler\n'; exit 0; }
LIMIT=60

cat >"$T/wanted" <<'end'
1 ns::alone
2 ns::box::get() const
1 ns::box::get()
1 ns::copy<int>(int)
2 ns::copy<int>(int*)
5 ns::f(double)
1 ns::f(int, char const*)
3 ns::f(int)
1 ns::one::operator unsigned long
end
sort -o "$T/wanted" "$T/wanted"

record --mode block -l 'ns::*' -- "$FIXTURES/overloads"
"$BRACE" report --json "$T/trace" | sed -nE 's/.*"name":"(ns::[^"]*)".*"calls":([0-9]+).*/\2 \1/p' | sort >"$T/seen"
check "report --json: a row for each" diff "$T/wanted" "$T/seen"
"$BRACE" report "$T/trace" | sed -nE 's/^ *([0-9]+) .* (ns::.*) \[overloads\]$/\1 \2/p' | sort >"$T/seen"
check_that "report: as many rows" [ "$(wc -l <"$T/seen")" -eq 9 ]
"$BRACE" replay "$T/trace" | sed -nE 's/.*\|  (ns::.*);$/\1/p' | sed -E 's/^(ns::alone|ns::one::operator unsigned long)\(\)$/\1/' | sort | uniq -c | sed 's/^ *//' | sort >"$T/seen"
check "replay: a name for each" diff "$T/wanted" "$T/seen"
"$BRACE" list -f "$FIXTURES/overloads" 'ns::*' | sort >"$T/seen"
check "list -f: a line for each" diff <(cut -d' ' -f2- "$T/wanted" | sort) "$T/seen"

# NAME CALLS FUNCTION...: what -l NAME selects.
selects() {
	record --mode block -l "$1" -- "$FIXTURES/overloads"
	"$BRACE" report --json "$T/trace" | sed -nE 's/.*"name":"(ns::[^"]*)".*"calls":([0-9]+).*/\2 \1/p' | sort >"$T/seen"
	check "-l '$1'" diff <(printf '%s\n' "${@:2}" | sort) "$T/seen"
	check_that "-l '$1' is known" [ "$(grep -c 'there is no function' "$T/summary")" -eq 0 ]
}
selects 'ns::f(int)' '3 ns::f(int)'
selects 'ns::f(double)' '5 ns::f(double)'
selects 'ns::f' '3 ns::f(int)' '5 ns::f(double)' '1 ns::f(int, char const*)'
selects 'ns::box::get() const' '2 ns::box::get() const'
selects 'ns::alone' '1 ns::alone'
selects 'ns::alone(int)' '1 ns::alone'
selects 'ns::one::operator unsigned long' '1 ns::one::operator unsigned long'

# hist and probe take the names that reports print; a name of several functions is refused.
hits() { # NAME HITS
	"$BRACE" hist "$1" -- "$FIXTURES/overloads" >"$T/seen" 2>"$T/err"
	check_that "hist '$1'" [ "$(sed -n 's/^ *Hits: //p' "$T/seen")" = "$2" ]
}
hits 'ns::f(int, char const*)' 1
hits 'ns::f(double)%return' 5
hits 'overloads:ns::box::get() const' 2
hits 'ns::one::operator unsigned long' 1
"$BRACE" hist 'ns::f arg1' -- "$FIXTURES/overloads" >"$T/seen" 2>"$T/err"
check_that "hist 'ns::f' is refused" [ $? -eq 125 ]
check_that "and names them" grep -qF 'has 3 functions of the name ns::f: write one with its parameters: ns::f(' "$T/err"
"$BRACE" probe -n 'ns::f(int, char const*)' -- "$FIXTURES/overloads" >"$T/seen" 2>"$T/err"
check_that "probe 'ns::f(int, char const*)'" grep -qE '^p:ns__f_int__char_const__ .*/overloads:0x' "$T/seen"

record --mode block -l 'ns::*' -- "$FIXTURES/overloads"
"$BRACE" report --json "$T/trace" 'ns::f' | sed -nE 's/.*"name":"(ns::[^"]*)".*/\1/p' | sort >"$T/seen"
check "report GLOB: without parameters" diff <(printf 'ns::f(%s)\n' double int 'int, char const*' | sort) "$T/seen"
finish

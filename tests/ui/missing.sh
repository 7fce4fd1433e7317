#!/bin/bash
# Functions that are named but not there: said before the program runs, with the right status.
. "$(dirname "$0")/../run/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
: "${FIXTURE:?is a program without debug information}" "${FIXTURE_G:?is one with}"
program_output=$("$FIXTURE_G")

# refuses NAME WORD ARGUMENT...: record ends with 125 and says WORD; the program did not run.
refuses() {
	local name=$1 word=$2
	shift 2
	rm -f "$T/trace"
	timeout "$LIMIT" "$BRACE" record -o "$T/trace" "$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 125 ] && grep -q -- "$word" "$T/err" && [ ! -s "$T/out" ] && [ ! -e "$T/trace" ]
	result "$name" $? "$T/err"
}

# warns NAME WORD ARGUMENT...: a warning with WORD, then the program runs as ever.
warns() {
	local name=$1 word=$2
	shift 2
	rm -f "$T/trace"
	timeout "$LIMIT" "$BRACE" record -o "$T/trace" "$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 0 ] && grep -q -- "^brace: warning: .*$word" "$T/err" &&
		[ "$(cat "$T/out")" = "$program_output" ] && [ -s "$T/trace" ]
	result "$name" $? "$T/err"
}

quiet() { # NAME ARGUMENT...: runs without a warning
	local name=$1
	shift
	timeout "$LIMIT" "$BRACE" record -q -o "$T/trace" "$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 0 ] && [ ! -s "$T/err" ]
	result "$name" $? "$T/err"
}

refuses "-l of a function that is inlined everywhere" '`everywhere` is inlined: 3 copies' -l everywhere -- "$FIXTURE_G"
grep -q 'trace the callers: -l ' "$T/err" && grep -q -- '-l alpha' "$T/err" &&
	grep -q -- '-l beta' "$T/err" && grep -q -- '-l gamma_' "$T/err"
result "... offers the callers" $? "$T/err"
refuses "-g of it" '`everywhere` is inlined: 3 copies' -g everywhere -- "$FIXTURE_G"
warns "another pattern matches" '`everywhere` is inlined: 3 copies' -l everywhere -l alpha -- "$FIXTURE_G"
warns "a function with a body and a copy" '`somewhere` is inlined: 1 copy' -l somewhere -- "$FIXTURE_G"
refuses "without debug information" 'cannot know whether it was inlined' -l everywhere -- "$FIXTURE"
refuses "a name that exists nowhere" 'nearest names: not_inlined' -l not_inlind -- "$FIXTURE_G"
refuses "a name of nothing of a package" "install ${PYTHON##*/}-minimal-dbgsym" -l nonesuch -- "$PYTHON" -c ''
refuses "a program found in PATH" 'no function `nonesuch`' -l nonesuch -- sh -c :
printf '#!%s\n' "$FIXTURE_G" >"$T/script" && chmod +x "$T/script"
refuses "the interpreter of a script" '`everywhere` is inlined' -l everywhere -- "$T/script"
warns "a library that is not linked" 'links no library libnone' -L 'libnone.so*' -- "$FIXTURE_G"
quiet "functions that are there" -l alpha -l beta -- "$FIXTURE_G"
quiet "a glob is never asked after" -l 'alph*' -l 'nonesuch*' -- "$FIXTURE_G"
quiet "a function of a library that is opened" -L libc.so.6 -l qsort -l alpha -- "$FIXTURE_G"
quiet "a call into a library" -l printf -l alpha -- "$FIXTURE_G"
nameless=$("$BRACE" list -f "$PYTHON" "${PYTHON##*/}+0x*" 2>"$T/err" | head -n 1)
quiet "a function without a symbol ($nameless)" -l "$nameless" -- "$PYTHON" -c ''
quiet "all libraries" -L '*' -- "$FIXTURE_G"
quiet "a library by any of its names" -L libc -L libc.so -L 'libc.*' -- "$FIXTURE_G"
quiet "a removal" -l 'a* !alfa' -- "$FIXTURE_G"
finish

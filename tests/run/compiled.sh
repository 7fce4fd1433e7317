#!/bin/bash
# One program compiled in every way compilers prepare functions for tracing: same result, exact
# counts, and the hooks brace says it uses are those the compiler made room for.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need readelf
export TRUTH=$T/truth
prepare() { rm -f "$TRUTH"; }

# compiled VARIANT HOOK: how its functions should be hooked, as the listing says it.
compiled() {
	local binary=$FIXTURES/shapes-$1 function count
	if [ ! -x "$binary" ]; then
		skip "$1" "not built here (no clang)"
		return
	fi
	same "$1: same result" -- "$binary"
	while read -r function count; do
		calls_are "$function" "$count"
	done <"$TRUTH"
	"$BRACE" list -f "$binary" --why looping >"$T/why" 2>&1
	grep -qw -- "$2" "$T/why"
	result "$1: hooked by $2" $? "$T/why"
	same "$1: same result with a graph function" -g looping -- "$binary"
	calls_are leaf 3300
	calls_are looping 300
	calls_are recursive 0
}

compiled plain jump
compiled nopie jump
compiled O0 jump
compiled Os jump
compiled O3 jump
compiled cet jump
readelf -nW "$FIXTURES/shapes-cet" >"$T/notes" && grep -q 'IBT, SHSTK' "$T/notes" && readelf -SW "$FIXTURES/shapes-cet" | grep -q '\.plt\.sec'
result "cet: it is marked for both, and has a second PLT" $? "$T/notes"
record --mode block -- "$FIXTURES/shapes-cet"
calls_are printf 1
compiled relr jump
readelf -dW "$FIXTURES/shapes-relr" >"$T/dynamic" && grep -q '(RELR)' "$T/dynamic"
result "relr: its relocations are packed" $? "$T/dynamic"
compiled pg mcount
compiled mfentry fentry
compiled mnop nop
compiled patchable5 nop
compiled patchable16_8 nop
compiled cyg mcount
compiled xray xray

for variant in plain cet relr; do
	cp "$FIXTURES/shapes-$variant" "$T/stripped"
	strip "$T/stripped"
	same "$variant, stripped: same result" -- "$T/stripped"
	"$BRACE" report --json "$T/trace" 2>/dev/null | grep -c '"name": *"stripped+0x' >"$T/check.log"
	[ "$(cat "$T/check.log")" -ge 7 ]
	result "$variant, stripped: functions are named by module and offset" $? "$T/check.log"
done
finish

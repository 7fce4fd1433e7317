# shellcheck shell=bash
# A program's own account of its calls (tests/targets/tree.h) against the replayed graph. Sourced
# behind lib.sh.
: "${FIXTURES:?is the directory of the compiled test programs}"

# By stack, because lines of different stacks may stand in any order; each stack's keep theirs.
by_stack() {
	sort -s -k1,1 "$1"
}

# tree NAME PROGRAM OPTIONS...: the account and the replayed graph are the same.
tree() {
	local name=$1 program=$2 differs
	shift 2
	rm -f "$T/tree"
	TREE=$T/tree record --mode block "$@" -- "$FIXTURES/$program"
	[ -s "$T/tree" ] || not_ok "$name: writes its account"
	"$BRACE" replay -O funcgraph-proc "$T/trace" >"$T/replay" 2>"$T/replay.err"
	# of the stacks that the account is about: a child's is not in it
	awk -f "$HERE/tree.awk" "$T/replay" | awk 'NR == FNR { in_it[$1]; next } $1 in in_it || $2 == "indent"' "$T/tree" - >"$T/seen"
	by_stack "$T/tree" >"$T/tree.sorted"
	by_stack "$T/seen" | grep -v ' indent .* at depth ' >"$T/seen.sorted"
	grep ' indent .* at depth ' "$T/seen" >"$T/indents"
	diff "$T/tree.sorted" "$T/seen.sorted" >"$T/differences"
	differs=$?
	result "$name: $(wc -l <"$T/tree") lines are the program's own account" "$differs" "$T/differences"
	result "$name: indents are depths" "$(wc -l <"$T/indents")" "$T/indents"
	nothing_lost "$name: nothing lost"
}

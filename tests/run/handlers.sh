#!/bin/bash
# Signal handlers interrupt: they are drawn as ftrace draws interrupts, and their time is nobody
# else's. What each function lasted at most, and its handlers at least, the program says itself
# (tests/targets/interrupted.c).
. "$(dirname "$0")/lib.sh"
P=$FIXTURES/interrupted

# of COLUMN FUNCTION [FILE]: ns of a report, the last trace's as it is without options.
of() {
	sed 's/": */":/g' "${3:-$T/report}" | awk -v key="\"$1\":" -v name="\"name\":\"$2\"" \
		'index($0, name) && (i = index($0, key)) { print substr($0, i + length(key)) + 0 }'
}
# The clocks may differ by so much, in parts of a thousand.
DRIFT=2
not_more() { [ "$1" -le $(($2 + $2 * DRIFT / 1000 + 1000)) ]; }

truth() { # NAME
	local name least most total charged
	"$BRACE" report --json "$T/trace" >"$T/report"
	"$BRACE" report --json --charge-handlers "$T/trace" >"$T/charged"
	while read -r name least most; do
		total=$(of total_ns "$name")
		not_more "${total:-9999999999}" "$most"
		result "$1: $name lasted without its handlers $most ns at most: $total" $? "$T/summary"
		charged=$(of total_ns "$name" "$T/charged")
		not_more "$least" "${charged:-0}"
		result "$1: and with them $least at least: $charged" $? "$T/summary"
		[ "$(of self_ns "$name")" -le "$total" ]
		result "$1: its own time is no more than that" $?
	done <"$T/traced.out"
	[ "$(wc -l <"$T/traced.out")" = 5 ]
	result "$1: five functions were interrupted" $? "$T/traced.out"
	total=$(of total_ns main)
	most=$(awk '{ n += $2 } END { print n }' "$T/traced.out")
	most=$((most - $(awk '$1 == "thread_work" { print $2 }' "$T/traced.out"))) # that one is not main's
	not_more "$((total + most))" "$(of total_ns main "$T/charged")"
	result "$1: nor are handlers in who called those ($total)" $? "$T/summary"
	calls_are on_plain 5
	calls_are on_jump 1
	calls_are on_both 2
}

# Name and depth of each line, and the arrows: as "2 name {", "==>".
shape() { # [OPTION...]
	"$BRACE" replay --no-pager -O funcgraph-tail "$@" "$T/trace" | sed -n -E '
		s/^ *[0-9]+\)   ==========> \|$/==>/p
		s/^ *[0-9]+\)   <========== \|$/<==/p
		s/^ *[0-9]+\)[^|]*\|  ( *)([a-z_]+)\(\)( \{|;)$/\2\3/p
		s/^ *[0-9]+\)[^|]*\|  ( *)\} \/\* ([a-z_]+)( unwound)? \*\/$/} \2\3/p'
}
between() { # FIRST LAST: lines of standard input
	sed -n "/^$1/,/^$2/p" | grep -E '==|_work|on_' | tr '\n' ' '
}
drawn() { # NAME WANT FUNCTION
	local got
	got=$(shape | between "$3 {" "} $3")
	[ "$got" = "$2 " ]
	result "$1" $?  <(echo "$got")
}
drawn_all() { # NAME
	drawn "$1: a handler" 'plain_work { ==> on_plain { } on_plain <== } plain_work' plain_work
	drawn "$1: a handler in a handler" 'nested_work { ==> on_plain { ==> on_plain { } on_plain <== } on_plain <== } nested_work' nested_work
	drawn "$1: on another stack" 'stack_work { ==> on_plain { } on_plain <== } stack_work' stack_work
	drawn "$1: one that jumps out" 'jump_work { ==> on_jump { } on_jump unwound <== } jump_work' jump_work
	drawn "$1: in a thread" 'thread_work { ==> on_plain { } on_plain <== } thread_work' thread_work
	drawn "$1: a call is no interrupt" 'both_work { on_both { } on_both ==> on_both { } on_both <== } both_work' both_work
	[ "$(shape -O nofuncgraph-irqs | grep -c -e '[<=]==' -e on_plain -e on_jump)" = 0 ] &&
		[ "$(shape -O nofuncgraph-irqs | between 'both_work {' '} both_work')" = 'both_work { on_both { } on_both } both_work ' ]
	result "$1: nofuncgraph-irqs leaves them out, with all they call" $?
	[ "$(shape | grep -c '==>')" = "$(shape | grep -c '<==')" ] && [ "$(shape | grep -c '==>')" = 7 ]
	result "$1: each arrow has its other" $?
}

record --mode block -n clock_gettime -- "$P"
truth graph
drawn_all graph
record --mode block --max-graph-depth 40 -n clock_gettime -- "$P"
truth "with state"
drawn_all "with state"
record --mode block -l 'spend' -l '*work' -l 'on_*' -- "$P"
drawn_all "by filters"
timeout "$LIMIT" "$BRACE" graph -o "$T/lines" --mode block -n clock_gettime -- "$P" >"$T/out" 2>"$T/err" </dev/null
[ "$(grep -c '^ *[0-9]*)   ==========> |$' "$T/lines")" = 7 ] && [ "$(grep -c '^ *[0-9]*)   <========== |$' "$T/lines")" = 7 ]
result "brace graph" $? "$T/lines"

# --- the tree's trace, and whoever attaches again -------------------------------------------------
"$BRACE" start --mode block -b 16M -n clock_gettime -- "$P" >/dev/null 2>"$T/err" </dev/null
drawn_in_tree() { "$BRACE" show trace >"$T/lines" 2>"$T/err" && [ "$(grep -c '==> |$' "$T/lines")" = 7 ] && [ "$(grep -c '<=* |$' "$T/lines")" = 7 ]; }
until_is drawn_in_tree
result "the tree's trace" $? "$T/lines"
"$BRACE" set -O nofuncgraph-irqs 2>"$T/err" && "$BRACE" show trace >"$T/lines" && ! grep -q '[<=]=* |$\|on_plain' "$T/lines" && grep -q plain_work "$T/lines"
result "and its option" $? "$T/lines"
"$BRACE" reset
finish

#!/bin/bash
# Peers of a session that are silent, slow or many delay nobody else: programs are executed while a
# hostile one (tests/targets/caller.c) keeps its connections, and what counts is how many run to
# their end before brace gives those up.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
caller=$FIXTURES/caller

# calls COUNT: that many of step, and nothing lost.
calls() {
	"$BRACE" report --json "$T/trace" >"$T/json" 2>&1 && grep -q 'no records lost' "$T/summary" &&
		grep -q "\"name\":\"step\",\"module\":\"caller\",\"calls\":$1," "$T/json"
}

# keeps NAME WAY TIMES OPEN: TIMES execs with OPEN connections left after them.
keeps() {
	record -l step -- "$caller" "$2" "$3"
	[ "$(cat "$T/traced.out")" = "$3 $4" ] && calls $((3 * $3))
	local status=$?
	cat "$T/traced.out" "$T/traced.err" >>"$T/summary"
	result "$1" $status "$T/summary"
}

keeps "five programs run while a silent peer is connected to their tracer" silent 5 5
keeps "and while a peer has said hello, and never that it is done" hello 5 5
keeps "a program that opens 900 connections has eight; another is served" many 3 24
keeps "and while others ask for handlers that nobody wants to know" handlers 1 1
keeps "as many connections as there may be, of 60 programs: another is served" crowd 3 0

# --- many at once: 16 shells, 20 programs each
# shellcheck disable=SC2016 # of the shell inside
storm='for s in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	(for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "$0" step || echo bad; done) & done; wait'
for mode in stream block; do
	record --mode $mode -l step -l reader_loop -- bash -c "$storm" "$caller"
	[ ! -s "$T/traced.out" ] && [ "$(cat "$T/traced.status")" = 0 ]
	result "16 shells with 20 programs each, $mode mode: all run" $? "$T/traced.out"
	calls 960
	result "and every call of theirs is there" $? "$T/json"
done
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
# Returned values that one register does not hold (tests/targets/wholes.cc): structures in registers of each class and in memory, long
# double, __int128, complex numbers, vectors, unions. What --retval shows is what gdb's `finish` says of the same calls, and the program computes the same.
# Arguments that a returned value or a class by value moves are gdb's, too.
. "$(dirname "$0")/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
need g++
CALLS=4

# calls_of TRACE: "function() = value" lines
calls_of() {
	"$BRACE" replay "$1" 2>>"$T/err" | sed -nE 's:^[^|]*\|  (ret_[a-z_0-9]+\(\));( /\*( = .*) \*/)?$:\1\3:p'
}

# same_as_gdb NAME PROGRAM OPTION...
same_as_gdb() {
	"$BRACE" record -q --mode block -o "$T/trace" -l 'ret_*' --retval "${@:3}" -- "$2" "$CALLS" >"$T/traced" 2>"$T/err"
	calls_of "$T/trace" >"$T/calls"
	"$PYTHON" "$HERE/gdb_wholes.py" "$T/gdb" "$T/calls" >"$T/differences" 2>&1
	local status=$?
	result "$1: $(tail -n 1 "$T/differences")" $status "$T/differences"
}

for level in 0 2; do
	program=$T/wholes$level
	# Static data lies in the same place in all runs.
	g++ -g -std=c++17 -no-pie -O$level -w -o "$program" "$HERE/../targets/wholes.cc" 2>"$T/err" || not_ok "g++ -O$level" "$T/err"
	"$program" "$CALLS" >"$T/untraced"
	if type -P gdb >/dev/null; then
		{
			printf 'set width 0\nset height 0\nset print elements 200\nset print pretty off\nset confirm off\nrbreak ^ret_\n'
			printf 'run %s\n' "$CALLS"
			for ((i = 0; i < 80 * CALLS; i++)); do printf 'finish\nprintf "REGISTERS %%#lx %%#lx %%#lx %%#lx\\n", $rax, $rdx, $xmm0.v2_int64[0], $xmm0.v2_int64[1]\ncontinue\n'; done
		} >"$T/script"
		DEBUGINFOD_URLS='' timeout -s KILL 240 gdb -nx -batch -x "$T/script" "$program" >"$T/gdb" 2>"$T/err" </dev/null
		same_as_gdb "gdb's finish has the same at -O$level" "$program"
		same_as_gdb "and where depths are kept, at -O$level" "$program" --max-graph-depth 9
	else
		skip "gdb's finish at -O$level" "there is no gdb"
		"$BRACE" record -q --mode block -o "$T/trace" -l 'ret_*' --retval -- "$program" "$CALLS" >"$T/traced" 2>"$T/err"
	fi
	cmp -s "$T/untraced" "$T/traced"
	result "the x87's numbers are the program's, at -O$level" $? "$T/traced"
done

# same_arguments NAME PROGRAM LOST: where arguments are depends on those before them, and on what the function returns
same_arguments() {
	printf 'set width 0\nset height 0\nset print elements 200\nset print pretty off\nset print frame-arguments all\n' >"$T/script"
	printf 'set print entry-values no\nset confirm off\nrbreak ^arg_[a-km-uw-z]\nbreak arg_local\nbreak arg_value\nbreak arg_half\nbreak arg_lambda\n' >>"$T/script"
	printf 'run %s\n' "$CALLS" >>"$T/script"
	for ((i = 0; i < 80 * CALLS; i++)); do echo continue; done >>"$T/script"
	DEBUGINFOD_URLS='' timeout -s KILL 240 gdb -nx -batch -iex 'set auto-load python-scripts off' -x "$T/script" "$2" >"$T/gdb" 2>"$T/err" </dev/null
	"$BRACE" record -q --mode block -o "$T/trace" -l 'arg_*' --args -- "$2" "$CALLS" >"$T/traced" 2>"$T/err"
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	"$PYTHON" "$HERE/gdb_wholes.py" "$T/gdb" "$T/graph" "$3" >"$T/differences" 2>&1
	local status=$?
	result "$1: $(tail -n 1 "$T/differences")" $status "$T/differences"
}
if type -P gdb >/dev/null; then
	same_arguments "gdb has the same arguments at -O0" "$T/wholes0" 0
	same_arguments "gdb has the same arguments at -O2" "$T/wholes2" 0
	if type -P clang++ >/dev/null; then
		clang++ -w -g -std=c++17 -no-pie -O0 -o "$T/wholesc" "$HERE/../targets/wholes.cc" 2>"$T/err" || not_ok "clang++" "$T/err"
		# clang 14 has a list of places for an argument by its address, which begins behind the first instruction
		same_arguments "gdb has the same arguments of clang++'s program" "$T/wholesc" "$CALLS"
	else
		skip "gdb has the same arguments of clang++'s program" "there is no clang++"
	fi
else
	skip "gdb has the same arguments" "there is no gdb"
fi

# Behind a vector whose place the convention does not tell, numbers in registers are told, and nothing wrong.
for flags in '-O0' '-O2' '-O0 -mavx' '-O2 -mavx'; do
	# shellcheck disable=SC2086
	g++ -g -std=c++17 -no-pie $flags -w -o "$T/odd" "$HERE/../targets/wholes.cc" 2>"$T/err" || not_ok "g++ $flags"
	"$BRACE" record -q --mode block -o "$T/trace" -l odd_vector --args -- "$T/odd" "$CALLS" >"$T/traced" 2>"$T/err"
	"$BRACE" replay "$T/trace" 2>>"$T/err" | sed -nE 's/.*\|  odd_vector\((.*)\);.*/\1/p' >"$T/calls"
	awk -F ', ' '{ i = $1; sub(/i=/, "", i); want = "last=" (i + 0 ? "-" : "") i; if ($3 != want || ($4 != "..." && $4 != "x=65.5")) bad = 1 }
		END { exit bad || NR == 0 }' "$T/calls"
	result "behind a vector of 32 bytes, $flags" $? "$T/calls"
done

# Strict debug information does not tell how a class is copied: what depends on it is not shown. The rest is as without -gstrict-dwarf.
graph_of() { # PROGRAM: its calls, without addresses
	"$BRACE" graph --mode block -o "$T/graph" --args --retval -l 'arg_*' -l 'ret_*' -- "$1" "$CALLS" >"$T/traced" 2>"$T/err"
	sed -nE 's/^[^|]*\|  ((arg|ret)_.*)/\1/p' "$T/graph" | sed -E 's/0x[0-9a-f]{6,}/ADDRESS/g'
}
for level in 0 2; do
	graph_of "$T/wholes$level" >"$T/full"
	for version in 3 4 5; do
		g++ -g -gdwarf-$version -gstrict-dwarf -std=c++17 -no-pie -O$level -w -o "$T/strict" "$HERE/../targets/wholes.cc" 2>"$T/err" ||
			not_ok "g++ -gstrict-dwarf" "$T/err"
		graph_of "$T/strict" >"$T/said"
		"$PYTHON" - "$T/full" "$T/said" >"$T/differences" <<'END'
import sys
full, strict = ([line.rstrip().split(' /* = ') for line in open(path)] for path in sys.argv[1:])
def holds(theirs, ours):
    cut = ours.find('...')
    return theirs == ours or ours.startswith('{...}') or (cut >= 0 and theirs.startswith(ours[:cut]))
wrong = [(a, b) for a, b in zip(full, strict) if len(a) != len(b) or not all(map(holds, a, b))]
same = sum(a == b for a, b in zip(full, strict))
print(*wrong[:5], f'{same} of {len(full)} the same', sep='\n')
sys.exit(bool(wrong) or len(full) != len(strict) or same * 2 < len(full))
END
		status=$?
		result "g++ -gdwarf-$version -gstrict-dwarf -O$level shows nothing wrong: $(tail -n 1 "$T/differences")" "$status" "$T/differences"
	done
done

# In other forms: JSON has structures as objects.
"$BRACE" record -q --mode block -o "$T/trace" -l 'ret_*' --retval -- "$T/wholes2" "$CALLS" >"$T/traced" 2>"$T/err"
"$BRACE" export --to chrome -o "$T/chrome" "$T/trace" 2>"$T/err" && "$PYTHON" - "$T/chrome" >"$T/said" 2>&1 <<'END'
import json, sys
events = json.load(open(sys.argv[1]))['traceEvents']
def returned(name):
    return [end['args']['returned'] for begin, end in zip(events, events[1:]) if begin.get('name') == name and begin['ph'] == 'B']
print(returned('ret_twelve'), returned('ret_listed'), returned('ret_int128'), returned('ret_long_double'), returned('ret_long2'), returned('ret_quad'))
END
result "chrome's JSON is JSON" $? "$T/err"
grep -q "{'a': 3, 'b': 4, 'c': -3}" "$T/said" && grep -q "{'at': \[3, 2, 3, 4, 5, -3\]}" "$T/said" &&
	grep -q "'1237940039285380274899124227'" "$T/said" && grep -q "'1e+4000'" "$T/said" && grep -qE '\[1, 30000000000\]' "$T/said"
result "with structures as objects, vectors as arrays" $? "$T/said"

# A call's record at its end has room for one register.
"$BRACE" record -q --mode block -o "$T/trace" -l 'ret_*' --retval --threshold 1ns -- "$T/wholes2" "$CALLS" >"$T/traced" 2>"$T/err"
"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
grep -q ret_eight "$T/graph" && ! grep -vE ' ret_(decimal|half)\(' "$T/graph" | grep -q ' = '
result "with a threshold nothing is shown instead of a part" $? "$T/graph"

# What cannot be compared is refused.
! "$BRACE" record -q -o "$T/trace" -g 'ret_eight if $retval == 3' -- "$T/wholes2" 1 >/dev/null 2>"$T/err" &&
	grep -q 'ret_eight returns nothing that can be compared' "$T/err" && grep -q '^ *^$' "$T/err"
result "a condition on a structure is refused" $? "$T/err"
finish

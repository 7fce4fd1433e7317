#!/bin/bash
# SPDX-License-Identifier: MIT
# Variables by name at a thousand instructions of real programs, against gdb's values at the same instructions: brace itself as it was
# built, in two of its commands, and fixtures by compilers that optimise. SOAK_POINTS (1000) is how many are compared at least; they are
# spread over the functions that a run calls. `make check` has some 400 (tests/run/source-probes.sh).
# What may differ: variables that are not set yet have whatever is in their memory. They differ between two runs in gdb, too, one of
# them elsewhere in memory; so few that do not are allowed, two of a thousand values.
. "$(dirname "$0")/lib.sh"
need gdb objdump nm gcc
PYTHON=$(readlink -f /usr/bin/python3)
RUN=$HERE/../run
TARGETS=$HERE/../targets
POINTS=${SOAK_POINTS:-1000}
export ACCOUNT=/dev/null
gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1 || { printf '1..0 # SKIP gdb without python\n'; exit 0; }
compared=0

# called BINARY ARGUMENT...: its own functions, of one thread and called at most 50 times
called() {
	"$BRACE" record -q -o "$T/trace" -- "$@" >"$T/out" 2>"$T/err"
	"$BRACE" report --json "$T/trace" | "$PYTHON" -c '
import json, re, sys
for line in sys.stdin:
    row = json.loads(line)
    if row.get("module", "").startswith(sys.argv[1]) and 0 < row.get("calls", 0) <= 50 and re.fullmatch(r"[A-Za-z_]\w*", row["name"]):
        print(row["name"])' "$(basename "$1")" | sort -u
	rm -f "$T/trace"
}

# probed LINES COMMAND...: hits of all points; one that no probe fits is taken out of LINES, and the others are tried again
probed() {
	local lines=$1 args bad
	shift
	while args=() && while IFS= read -r d; do args+=(-a "$d"); done < <(sed 's/^[^ ]* [^ ]* //' "$lines") &&
		! "$BRACE" probe --mode block -o "$T/hits" "${args[@]}" -- "$@" >"$T/out" 2>"$T/probe.err"; do
		bad=$(sed -nE 's/^  p:(v[0-9]+) .*/\1/p' "$T/probe.err" | head -n 1)
		[ -n "$bad" ] || break
		sed -i "/^$bad /d" "$lines"
	done
}

# holds NAME MOST BINARY ARGUMENT...: at MOST points of it the same values as gdb's
holds() {
	local name=$1 most=$2 status points
	shift 2
	mapfile -t functions < <(called "$@")
	"$PYTHON" "$RUN/variable_points.py" "$1" 1 '$vars' "${functions[@]}" >"$T/all"
	awk -v n="$(wc -l <"$T/all")" -v want="$most" 'int(NR * want / n) != int((NR - 1) * want / n) || n <= want' "$T/all" >"$T/points"
	# a place that no probe fits is left out, and where nothing can be fetched
	while read -r point address definition; do
		"$BRACE" probe -n -x "$1" "$definition" >"$T/line" 2>"$T/err" && grep -q '=' "$T/line" && echo "$point $address $(cat "$T/line")"
	done <"$T/points" >"$T/lines"
	for elsewhere in '' 1; do
		ARGS="${*:2}" POINTS=$T/lines ELSEWHERE=$elsewhere timeout -s KILL 600 gdb -nx -batch -x "$RUN/gdb_variables.py" "$1" \
			>"$T/gdb$elsewhere" 2>"$T/err" </dev/null
	done
	probed "$T/lines" "$@"
	"$PYTHON" "$RUN/same_variables.py" "$T/gdb" "$T/hits" 2 "$T/gdb1" >"$T/differences" 2>>"$T/err"
	status=$?
	result "gdb has the same values in $name: $(tail -n 1 "$T/differences")" $status "$T/differences" "$T/probe.err" "$T/err"
	points=$(sed -nE '$s/^([0-9]+) points.*/\1/p' "$T/differences")
	compared=$((compared + ${points:-0}))
}

# where the compiler can, variables are set from the start
flags=(-g)
gcc -ftrivial-auto-var-init=pattern -c -x c -o "$T/none.o" /dev/null 2>"$T/err" && flags+=(-ftrivial-auto-var-init=pattern)
for c in "gcc 1" "gcc 2" "gcc 3" "gcc s" "clang 2"; do
	read -r compiler level <<<"$c"
	type -P "$compiler" >/dev/null || continue
	"$compiler" "${flags[@]}" -O"$level" -o "$T/variables$compiler$level" "$TARGETS/variables.c" 2>"$T/err" &&
		holds "variables.c, $c" 250 "$T/variables$compiler$level" 3
	"$compiler" "${flags[@]}" -O"$level" -pthread -o "$T/typed$compiler$level" "$TARGETS/typed.c" 2>"$T/err" &&
		holds "typed.c, $c" 250 "$T/typed$compiler$level" 7 20
done
if type -P g++ >/dev/null; then
	g++ "${flags[@]}" -std=c++17 -O2 -o "$T/structures" "$TARGETS/structures.cc" 2>"$T/err" && holds "structures.cc" 250 "$T/structures" 5 20
fi
cp "$BRACE" "$T/subject"
if "$T/subject" probe -n -x "$T/subject" 'main $params' >"$T/out" 2>"$T/err"; then
	holds "brace list" $((POINTS / 2)) "$T/subject" list -f /bin/true
	"$BRACE" record -q -o "$T/replayed" -- /bin/true >"$T/out" 2>"$T/err"
	holds "brace report" $((POINTS / 4)) "$T/subject" report "$T/replayed"
else
	skip "brace" "it was built without debug information"
fi
[ "$compared" -ge "$POINTS" ]
result "$compared points of $POINTS" $?
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
# Variables by name at some hundreds of instructions of a real program, brace itself as it was built, against gdb's values at the same
# instructions. SOAK_POINTS (300) are spread over the functions that a run of it calls.
. "$(dirname "$0")/lib.sh"
need gdb objdump nm
PYTHON=$(readlink -f /usr/bin/python3)
RUN=$HERE/../run
POINTS=${SOAK_POINTS:-300}
SUBJECT=$T/subject
cp "$BRACE" "$SUBJECT"
gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1 || { printf '1..0 # SKIP gdb without python\n'; exit 0; }
"$SUBJECT" probe -n -x "$SUBJECT" 'main $params' >"$T/out" 2>"$T/err" || { printf '1..0 # SKIP brace was built without debug information\n'; exit 0; }

"$BRACE" record -q -o "$T/trace" -- "$SUBJECT" list -f /bin/true >"$T/out" 2>"$T/err"
# brace's own functions, of one thread and called at most 50 times
"$BRACE" report --json "$T/trace" | "$PYTHON" -c '
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    if row.get("module", "").startswith("subject") and 0 < row.get("calls", 0) <= 50:
        print(row["name"])' | sort -u >"$T/functions"
check_that "functions that run" [ "$(wc -l <"$T/functions")" -gt 50 ]
mapfile -t functions <"$T/functions"
"$PYTHON" "$RUN/variable_points.py" "$SUBJECT" 1 '$vars' "${functions[@]}" >"$T/all"
# as many as are asked for, evenly spread
awk -v n="$(wc -l <"$T/all")" -v want="$POINTS" 'int(NR * want / n) != int((NR - 1) * want / n)' "$T/all" >"$T/points"
# a place that no probe fits is left out, and where nothing can be fetched
while read -r name address definition; do
	"$BRACE" probe -n -x "$SUBJECT" "$definition" >"$T/line" 2>"$T/err" && grep -q '=' "$T/line" && echo "$name $address $(cat "$T/line")"
done <"$T/points" >"$T/lines"
check_that "points with variables" [ "$(wc -l <"$T/lines")" -gt $((POINTS / 3)) ]
ARGS='list -f /bin/true' POINTS=$T/lines timeout -s KILL 300 gdb -nx -batch -x "$RUN/gdb_variables.py" "$SUBJECT" >"$T/gdb" 2>"$T/err" </dev/null
while args=() && while IFS= read -r d; do args+=(-a "$d"); done < <(sed 's/^[^ ]* [^ ]* //' "$T/lines") &&
	! "$BRACE" probe --mode block -o "$T/hits" "${args[@]}" -- "$SUBJECT" list -f /bin/true >"$T/out" 2>"$T/probe.err"; do
	bad=$(sed -nE 's/^  p:(v[0-9]+) .*/\1/p' "$T/probe.err" | head -n 1)
	[ -n "$bad" ] || break
	sed -i "/^$bad /d" "$T/lines"
done
"$PYTHON" "$RUN/same_variables.py" "$T/gdb" "$T/hits" 2 >"$T/differences" 2>>"$T/err"
status=$?
result "gdb has the same values in brace: $(tail -n 1 "$T/differences")" $status "$T/differences" "$T/probe.err" "$T/err"
finish

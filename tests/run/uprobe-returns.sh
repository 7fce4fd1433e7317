#!/bin/bash
# Returns in uprobe_events (r: and %return): the value of each call is what the program says it was, at every return of the function,
# in every thread, with the function traced and without; the caller and the function are what a probe at the entry says they are.
. "$(dirname "$0")/lib.sh"
ANSWERS=values
. "$(dirname "$0")/answers-lib.sh"
need readelf nm
D=$T/tree
mkdir "$D"
E=$D/events/uprobes

# refused NAME SENTENCE TEXT: uprobe_events does not take it, and error_log says why.
refused() {
	! printf '%s\n' "$3" 2>"$T/err" >>"$D/uprobe_events" && grep -q Invalid "$T/err" && grep -qF -- "$2" "$D/error_log"
	result "$1" $? "$D/error_log"
}
# asked LINE...: what the program answers to each, a line each.
asked() {
	local line
	for line; do
		tell "$line"
		echo "$SAID"
	done
}
# values EVENT: the v of its records, a line each.
values() { sed -n "s/.* $1: (0x[0-9a-f]* <- 0x[0-9a-f]*) v=\([-0-9]*\).*/\1/p" "$D/trace"; }

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
M=$(offset values_many) O=$(offset values_outer) H=$(offset values_hit) U=$(offset values_tail)
printf '%s\n' "r:uprobes/many $A:$M v=\$retval:s64" "r:uprobes/outer $A:$O v=\$retval:s64 x=%ax:x64 r=\$retval" \
	"p:uprobes/enter $A:$H sp=\$stack" "r:uprobes/leave $A:$H sp=\$stack ip=%ip word=-8(\$stack)" >"$T/lines"
sed 's/^r:uprobes\/outer \([^ ]*\) /p:uprobes\/outer \1%return /' "$T/lines" >"$D/uprobe_events"
result "returns are taken, as r and as %return" $? "$D/error_log"
check_that "and listed as r, as the kernel lists them" cmp "$D/uprobe_events" "$T/lines"
check_that "their print format is the kernel's" grep -qxF \
	'print fmt: "(%lx <- %lx) v=%Ld", REC->__probe_func, REC->__probe_ret_ip, REC->v' "$E/many/format"
refused "no function begins there" 'no function begins here' "r:no $A:$(printf '0x%x' $((M + 1)))"
refused "a function that goes on in another by a jump" 'goes on in another one by a jump' "r:no $A:$U"
refused "a number of active calls" 'write r:NAME' "r4:no $A:$M"
refused "the value at an entry" 'not available on probe' "p:no $A:$M \$retval"

# --- values
: >"$D/trace"
echo 1 >"$E/many/enable"
asked m1 m2 m3 m4 m9 t0 t1 t7 >"$T/said"
values many >"$T/seen"
check_that "each value, at every return, also where the function is entered by a jump" cmp "$T/seen" "$T/said"
[ "$(wc -l <"$T/seen")" = 8 ]
result "and as many as there were calls" $?
echo 0 >"$E/many/enable"
: >"$D/trace"
echo 'v < 3' >"$E/outer/filter"
echo 1 >"$E/outer/enable"
asked 1 2 3 4 >"$T/said"
awk '$1 < 3' "$T/said" >"$T/kept"
values outer >"$T/seen"
check_that "a filter on the value" cmp "$T/seen" "$T/kept"
echo 0 >"$E/outer/enable"

# --- places
for tracer in nop function_graph; do
	: >"$D/trace"
	echo "$tracer" >"$D/current_tracer"
	echo 1 >"$E/enable"
	tell 1
	echo 0 >"$E/enable"
	sed -n 's/.* enter: (\(0x[0-9a-f]*\)) sp=\([^ ]*\).*/\1 \2/p' "$D/trace" >"$T/enter"
	sed -n 's/.* leave: (\(0x[0-9a-f]*\) <- \(0x[0-9a-f]*\)) sp=\([^ ]*\) ip=\([^ ]*\) word=.*/\2 \3 \1 \4/p' "$D/trace" >"$T/leave"
	read -r at sp <"$T/enter" && read -r of back from ip <"$T/leave" && [ "$at" = "$of" ] && [ $((sp + 8)) = $((back)) ] &&
		[ "$from" = "$ip" ] && [ $((from - at)) -ge $((O - H)) ] && [ $((from - at)) -lt $((O - H + 64)) ]
	result "$tracer: the function, its caller and the caller's stack pointer" $? "$D/trace" "$T/enter" "$T/leave"
done
echo nop >"$D/current_tracer"
: >"$D/uprobe_events"
check_that "and they are removed" [ ! -s "$D/uprobe_events" ]
"$BRACE" umount "$D" 2>"$T/err"
tell m2
check_that "the program goes on" [ "$SAID" = 15 ]
end_program
check_that "and ends as ever" [ "$STATUS" = 0 ]
finish

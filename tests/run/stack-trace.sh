#!/bin/bash
# The stack tracer over running programs: stack_trace, stack_max_size, stack_trace_filter. The
# program says how deep it went and how large each frame was (tests/targets/deep.c), gdb says it of
# another run.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
A=$FIXTURES/deep
D=$T/tree
mkdir "$D"
ON_EXIT+=("$BRACE umount --lazy $D")

max() { cat "$D/stack_max_size"; }
# Of the table of the thread whose line says $1 (or of the only one): a column.
column() { awk -v of="${2:-}" -v c="$1" 'BEGIN { on = !of } /^# / { on = $0 ~ of "$" } on && $1 ~ /^[0-9]+\)$/ { print $c }' "$D/stack_trace"; }
# deepest NAME: the last command's depth and frames are the table's, but for what is above main's
# frame.
deepest() {
	local -a said sizes
	read -ra said <<<"$SAID"
	mapfile -t sizes < <(column 3)
	[ "$(max)" = "${said[1]}" ]
	result "$1: stack_max_size (${said[1]})" $? "$D/stack_trace"
	said=("${said[@]:2}")
	[ ${#said[@]} -gt 2 ] && [ "${said[*]::${#said[@]}-1}" = "${sizes[*]::${#said[@]}-1}" ]
	result "$1: each frame" $? "$D/stack_trace"
	awk '/^ *[0-9]+\)/ { if (n && last - size != $2) bad = 1; n++; last = $2; size = $3 }
		/entries/ { gsub(/[^0-9]/, ""); want = $0 } END { exit bad || last != size || n != want }' "$D/stack_trace"
	result "$1: depths are the sums of sizes, and the entries are counted" $? "$D/stack_trace"
}
# names WORD...: the innermost functions, from the innermost on.
names() {
	local have
	have=$(column 4 | cut -d+ -f1 | cut -d. -f1 | head -$# | tr '\n' ' ')
	[ "$have" = "$* " ]
}

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" --mode block -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("kill $PID")

# --- off
grep -q '^#  Stack tracer disabled$' "$D/stack_trace" && [ "$(max)" = 0 ]
result "off at first" $?
tell r10
check_that "and nothing is found" [ "$(max)" = 0 ]
echo 1 >"$D/stack_tracer_enabled"
[ "$(cat "$D/stack_trace")" = "        Depth    Size   Location    (0 entries)
        -----    ----   --------" ]
result "on: an empty table" $? "$D/stack_trace"
! echo nonesuch 2>/dev/null >"$D/stack_trace_filter"
result "stack_trace_filter: a function that is not there" $?
echo leaf >"$D/stack_trace_filter"

# --- one thread
tell r3
deepest "recursion"
check_that "by these calls" names leaf down down down main
! grep -vE '^ {8}Depth|^ {8}-----|^ *[0-9]+\) [ 0-9]{8} {3}[ 0-9]{5} {3}[][A-Za-z0-9_.@+ ]+(/0x[0-9a-f]+)?( \[.*\])?$' "$D/stack_trace" >"$T/odd"
result "in the kernel's columns" $? "$T/odd"
first=$(max)
tell r1
check_that "one that is less deep changes nothing" [ "$(max)" = "$first" ]
tell a1000
deepest "alloca"
check_that "by these calls, too" names leaf room main
tell r40
deepest "deeper"
echo 0 >"$D/stack_max_size"
check_that "0 > stack_max_size forgets it" [ -z "$(column 1)" ]
tell j3
deepest "a call that ended in a jump"
check_that "is not there any more" names leaf down down down jump main
echo 0 >"$D/stack_max_size"
tell r50000
[ "$(max)" = "$(cut -d' ' -f2 <<<"$SAID")" ] && [ "$(column 1 | wc -l)" -eq 50002 ]
result "50,000 calls within each other" $?
echo 20000 >"$D/stack_max_size"
tell r5
[ "$(max)" = 20000 ] && [ -z "$(column 1)" ]
result "N > stack_max_size: only what is deeper" $?
tell r400
check_that "counts" [ "$(max)" = "$(cut -d' ' -f2 <<<"$SAID")" ]

# --- other stacks
echo 0 >"$D/stack_max_size"
tell r20
first=$(max)
tell s200
check_that "a signal's own stack does not count" [ "$(max)" = "$first" ]
echo 0 >"$D/stack_max_size"
tell r2
own=$(cut -d' ' -f2 <<<"$SAID")
tell t60
other=$(cut -d' ' -f2 <<<"$SAID")
[ "$(grep -c '^# deep-' "$D/stack_trace")" = 2 ] && [ "$(column 2 "deep-$PID" | head -1)" = "$own" ]
result "two threads: the first one's" $? "$D/stack_trace"
grep -qE "^ +0\) +$other +8 +leaf\+0x0/" "$D/stack_trace"
result "and the other one's" $? "$D/stack_trace"
check_that "stack_max_size is the deepest's" [ "$(max)" = $((own > other ? own : other)) ]

# --- beside others
echo >"$D/stack_trace_filter"
echo leaf >"$D/set_ftrace_filter"
echo function_graph >"$D/current_tracer"
echo 1 >"$D/function_profile_enabled"
echo 0 >"$D/stack_max_size"
tell r400 r400
deepest_said=$(cut -d' ' -f2 <<<"$SAID")
check_that "beside function_graph and the profile: stacks" [ "$(max)" = "$deepest_said" ]
check_that "with calls that the tracer leaves out" [ "$(column 4 | grep -c '^down[.+]')" = 400 ]
[ "$(grep -c 'leaf();' "$D/trace")" = 2 ] && ! grep -q down "$D/trace"
result "the trace" $? "$D/trace"
[ "$(awk '$1 == "leaf" { n += $2 } END { print n }' "$D"/trace_stat/function*)" = 2 ]
result "and the profile" $?
echo 0 >"$D/function_profile_enabled"
! echo 100 2>/dev/null >"$D/tracing_thresh"
result "tracing_thresh is refused meanwhile" $?
grep -q 'the stack tracer needs every call' "$D/error_log"
result "and why" $? "$D/error_log"

# --- off again
echo 0 >"$D/stack_tracer_enabled"
tell r4000
check_that "0: nothing more is found, what was stays" [ "$(max)" = "$deepest_said" ]
echo nop >"$D/current_tracer"
echo 100 >"$D/tracing_thresh"
! echo 1 2>/dev/null >"$D/stack_tracer_enabled"
result "not with tracing_thresh" $?
echo 0 >"$D/tracing_thresh"
end_program
check_that "the program ends as it would" [ "$STATUS" = 0 ]
"$BRACE" umount "$D"

# --- gdb, of a run of its own: where frames end
if command -v gdb >/dev/null; then
	mkfifo "$T/gate" "$T/end"
	printf 'r20\nq\n' >"$T/commands" # deeper than what the program does before it
	# shellcheck disable=SC2016 # of the shell inside
	"$BRACE" mount --mode block "$D" -- "$FIXTURES/gate" "$T/gate" "$T/end" "$FIXTURES/deep" "$T/commands" >/dev/null
	echo 1 >"$D/stack_tracer_enabled"
	echo go >"$T/gate"
	timeout "$LIMIT" cat "$T/end"
	awk '/^ *[0-9]+\) / { print $3 }' "$D/stack_trace" | sed '1d;$d' >"$T/sizes"
	cp "$D/stack_trace" "$T/launched"
	"$BRACE" umount "$D"
	timeout "$LIMIT" gdb -q -batch -nx -ex 'set debuginfod enabled off' -ex 'break *leaf' -ex "run $T/commands >/dev/null" \
		-ex 'frame apply all -q info frame' "$FIXTURES/deep" 2>"$T/gdb.err" </dev/null |
		sed -n 's/^Stack .*frame at 0x\([0-9a-f]*\):/\1/p' >"$T/ends"
	while read -r end; do
		[ -z "${last:-}" ] || echo $((16#$end - 16#$last))
		last=$end
	done <"$T/ends" >"$T/gdb"
	if [ -s "$T/gdb" ]; then
		[ "$(head -7 "$T/sizes")" = "$(head -7 "$T/gdb")" ]
		status=$?
		result "a launched program: frames as gdb has them ($(head -7 "$T/gdb" | tr '\n' ' '))" $status "$T/launched"
	else
		skip "frames as gdb has them" "gdb cannot run programs here"
	fi
fi

# --- trace-cmd
if command -v trace-cmd >/dev/null; then
	start_program
	# shellcheck disable=SC2016 # of the shell inside
	coproc SHELL_ { exec "$BRACE" shell -p "$PID" -- bash -c 'echo begun; while read -r line; do eval "$line"; echo .; done' 2>"$T/err"; }
	SHELL_PID=$SHELL__PID
	exec {TO_SHELL}>&"${SHELL_[1]}" {FROM_SHELL}<&"${SHELL_[0]}"
	read -rt "$LIMIT" -u "$FROM_SHELL" line
	in_shell() {
		echo "{ $*; } 2>&1" >&"$TO_SHELL"
		while read -rt "$LIMIT" -u "$FROM_SHELL" line && [ "$line" != . ]; do
			printf '%s\n' "$line"
		done >"$T/out"
	}
	if [ "$line" = begun ]; then
		in_shell trace-cmd stack --start
		tell r300
		in_shell trace-cmd stack
		grep -q ' down[.+]' "$T/out"
		result "trace-cmd stack" $? "$T/out"
		in_shell trace-cmd stack --stop
		in_shell cat /proc/sys/kernel/stack_tracer_enabled
		check_that "trace-cmd stack --stop" [ "$(cat "$T/out")" = 0 ]
	else
		skip "trace-cmd stack" "no shell: $(tail -1 "$T/err")"
	fi
	eval "exec {TO_SHELL}>&- ${SHELL_[1]}>&-" # the duplicate, and the pipe itself
	wait "$SHELL_PID" 2>/dev/null
	end_program
else
	skip "trace-cmd stack" "no trace-cmd"
fi
finish

#!/bin/bash
# Threads that get other names while they are recorded: the program calls as_NAME while a thread is
# called NAME, and each line of every output has the name of its time. Renamed by itself, by another
# thread, in a child; launched, static, attached.
. "$(dirname "$0")/lib.sh"
renames=$FIXTURES/renames

lines() { "$BRACE" replay --no-pager "$@" "$T/t.brace" 2>>"$T/err" | grep -v '^#' >"$T/lines"; }
record() { # ARGUMENTS...
	timeout -k 5 "$LIMIT" "$BRACE" record -q -o "$T/t.brace" -l 'as_*' "$@" >"$T/out" 2>"$T/err" </dev/null
}
info() { "$BRACE" info "$T/t.brace" 2>>"$T/err" | sed -n 's,^thread  *[0-9]*/[0-9]* ,,p' >"$T/info"; }
# wrong NAME...: lines whose thread has another name than its function says, but for these
# functions; or none that are right.
wrong() {
	awk -v but="$*" 'BEGIN { n = split(but, b, " "); for (i = 1; i <= n; i++) skip["as_" b[i]] = 1 }
	match($0, /as_[a-z]+/) {
		f = substr($0, RSTART, RLENGTH)
		match($0, /[a-z]+-[0-9]+/)
		name = substr($0, RSTART, RLENGTH)
		sub(/-.*/, "", name)
		if (!(f in skip)) { if (name == substr(f, 4, width)) right++; else print }
	} END { if (right < 300) print right + 0 " lines are right" }' width="${WIDTH:-15}" "$T/lines" >"$T/wrong"
	[ ! -s "$T/wrong" ]
}

for program in renames renames-static; do
	record -t function -- "$FIXTURES/$program"
	lines
	[ $program = renames ] || sed -i 's/renames-static-/renames-/' "$T/lines"
	wrong given
	result "$program: the function tracer" $? "$T/wrong"
done
record -- "$renames"
lines -O funcgraph-proc
WIDTH=7 wrong given
result "the function graph" $? "$T/wrong"
info
grep -q '^renames -> second -> third, 240 records' "$T/info" && grep -q '^renames -> worker -> idle, 240 records' "$T/info" &&
	grep -q '^third -> child, 160 records' "$T/info"
result "info: old -> new" $? "$T/info"
check_that "info --json: all names" [ "$("$BRACE" info --json "$T/t.brace" |
	grep -c '"comm":"idle","names":\["renames","worker","idle"\]')" = 1 ]

record -t function -- "$renames" spin 8
lines
check_that "each of eight names in a row" [ "$(awk '{ sub(/-.*/, "", $1); n += $5 == "as_" $1 } END { print n }' "$T/lines")" = 8 ]
record -- "$renames" spin 20000
check_that "what is too much is counted" grep -q '^note  *[0-9]* of the names that threads gave themselves are not known' <(
	"$BRACE" info "$T/t.brace")

# --- by another thread
mkfifo "$T/go"
"$BRACE" record -q -o "$T/t.brace" -t function -l 'as_*' -- "$renames" other <"$T/go" >"$T/out" 2>"$T/err" &
PID=$!
exec {GO}>"$T/go"
is_seen() { info; grep -q '^mine -> given, ' "$T/info"; }
check_that "a thread that is named by another: info, while it runs" until_is is_seen
echo >&"$GO"
wait "$PID"
lines
awk '/as_mine/ && !/given-/ { n++ } / as_given/ { given = /given-/; if (was && !given) bad++; was = given; m++ }
     END { exit !(n == 40 && m == 80 && given && !bad) }' "$T/lines"
result "never before, and for good" $? "$T/lines"

# --- as the kernel tells
if "$BRACE" list --events 2>/dev/null | grep -q '^sched:sched_switch$'; then
	record -t function -e sched:sched_switch -- "$renames"
	lines
	wrong
	result "beside sched_switch: exact, whoever names" $? "$T/wrong"
	awk '/sched_switch:/ { match($0, /[a-z]+-[0-9]+/); name = substr($0, RSTART, RLENGTH); sub(/-.*/, "", name); n++
		if (!index($0, "prev_comm=" name " ") && !index($0, "next_comm=" name " ")) bad++ } END { exit !(n > 50 && !bad) }' "$T/lines"
	result "its lines say one name" $? "$T/lines"
	awk '{ sub(/^ */, ""); who = $0; sub(/ .*/, "", who) } / as_/ { calls[who] = 1 } /sched_switch:/ { switches[who] = 1 }
	     END { for (w in calls) if (!(w in switches)) print w; for (w in switches) if (!(w in calls)) print w }' "$T/lines" >"$T/alone"
	[ "$(sed 's/-.*//' "$T/alone")" = third ]
	result "which calls bear too, but for a thread that was born with its maker's" $? "$T/alone"
else
	skip "as the kernel tells" "perf is not allowed here"
fi

# --- a process that runs, in the tree
: >"$T/out" # before the shell of the next line empties it
"$renames" later <"$T/go" >"$T/out" &
PID=$!
until_is grep -q ready "$T/out"
D=$T/tree
mkdir "$D"
if "$BRACE" mount "$D" -p "$PID" 2>"$T/err"; then
	ON_EXIT+=("$BRACE umount --lazy $D")
	echo 'as_*' >"$D/set_ftrace_filter"
	echo function >"$D/current_tracer"
	echo >&"$GO"
	is_renamed() { grep -q "^$PID second$" "$D/saved_cmdlines"; }
	check_that "saved_cmdlines has the newest" until_is is_renamed
	echo >&"$GO"
	wait "$PID"
	check_that "trace has it from then on" [ "$(grep -v '^#' "$D/trace" | tail -n 40 | grep -c '^ *second-.*as_second')" = 40 ]
	check "umount" "$BRACE" umount "$D"
else
	grep -qE '/dev/fuse|cannot mount on|ptrace' "$T/err" && skip "in the tree" "$(cut -d' ' -f2- "$T/err")" || { not_ok mount; diag "$T/err"; }
	printf '\n\n' >&"$GO"
	wait "$PID"
fi
finish

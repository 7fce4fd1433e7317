#!/bin/bash
# A tracer that is killed at any step of coming into a running program, or of leaving it: the
# program computes on, the next tracer takes over and leaves it as its file is. tests/death/cutter.c
# kills it behind every KILLS-th part of the system calls by which it acts upon the program (KILLS
# is for the first program, others have fewer).
. "$(dirname "$0")/attach-lib.sh"
KILLS=${KILLS:-20}
CUTTER=$FIXTURES/../death/cutter
KINDS=("" "-L libc.so.6" "--max-graph-depth 5" "-t function")

# used PID: clock ticks of processor time.
used() {
	local all
	all=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	all=${all##*) }
	# shellcheck disable=SC2086 # words
	set -- $all
	[ "$1" != Z ] && echo $((${12} + ${13}))
}

# Still there, in nobody's hands, and using the processor.
computes() {
	local began now
	began=$(used "$PID") || return 1
	for ((i = 0; i < 2000; i++)); do
		now=$(used "$PID") || return 1
		[ "$now" -le "$began" ] || break
		read -rt 0.01 <> <(:)
	done
	[ "$now" -gt "$began" ] && grep -q '^TracerPid:.0$' "/proc/$PID/status"
}

# cut_at N KIND: a tracer that is killed at its N-th step.
cut_at() {
	# shellcheck disable=SC2086 # words
	timeout -k 5 "$LIMIT" "$CUTTER" "$1" "$BRACE" record -q -p "$PID" -o "$T/cut" --duration 3ms ${KINDS[$2 % ${#KINDS[@]}]} \
		>"$T/cutter" 2>"$T/cut.err"
}

clean() {
	attach -q --duration 10ms
	[ "$(cat "$T/attach.status")" -eq 0 ] && "$FIXTURES/same_text" "$PID" >>"$T/summary" && alive
}

# killed NAME COUNT ALIVE: KILLS spread over the steps; ALIVE is what the program must do after
# each.
killed() {
	local name=$1 count=$2 steps kills=0 bad=0 unclean=0
	alive=$3
	: >"$T/log"
	state "$PID" >"$T/state.before"
	cut_at 0 0 # the first one brings more in than those that follow
	cut_at 0 0
	steps=$(sed -n 's/^passed //p' "$T/cutter")
	result "$name: a tracer of ${steps:-no} steps" $((${steps:-0} < 100)) "$T/cut.err"
	for ((n = 1; n <= count && !bad; n++)); do
		cut_at $((1 + (n * steps - 1) / count)) "$n"
		grep -q killed "$T/cutter" && kills=$((kills + 1))
		alive || { bad=1 && cat "$T/cutter" >>"$T/log"; }
		((n % 6)) || clean || { unclean=1 && cat "$T/cutter" "$T/summary" >>"$T/log"; }
	done
	result "$name: goes on after $kills killed tracers" "$bad" "$T/log"
	[ "$kills" -gt $((count / 2)) ]
	result "$name: most were killed before they had ended" $? "$T/cutter"
	clean || { unclean=1 && cat "$T/attach.status" "$T/summary" >>"$T/log"; }
	result "$name: the next tracer works and leaves the text as its file's" "$unclean" "$T/log"
	state "$PID" >"$T/state.after"
	check_that "$name: descriptors and signals are as before" diff "$T/state.before" "$T/state.after"
}
alive() { $alive; }

# The programs have all processors whenever brace and other tests leave them to them.
start attachee nice -n 10 "$FIXTURES/attachee" 4 spawn
killed "threads and exceptions" "$KILLS" computes
ends_right "and computed right to the end" attachee "$PID"

start static nice -n 10 "$FIXTURES/attachee-static" 3
killed "a static program" $((KILLS / 4)) computes
ends_right "and computed right to the end" static "$PID"

if [ -x "$FIXTURES/steady-musl" ]; then
	start musl nice -n 10 "$FIXTURES/steady-musl" 3
	KINDS=("" "--max-graph-depth 5" "-t function")
	killed "a static program of musl's" $((KILLS / 4)) computes
	ends_right "and computed right to the end" musl "$PID"
else
	skip "a static program of musl's" "no musl-gcc"
fi

# serves: the whole file, as it is.
serves() {
	curl -s --max-time 20 "http://127.0.0.1:$PORT/file" | cmp - "$T/www/file"
}

if command -v caddy >/dev/null && command -v curl >/dev/null; then
	PORT=$((20000 + $$ % 20000))
	mkdir "$T/www"
	seq 100000 >"$T/www/file"
	caddy file-server --root "$T/www" --listen "127.0.0.1:$PORT" >"$T/caddy.out" 2>&1 &
	PID=$!
	ON_EXIT+=("kill -KILL $PID")
	until serves 2>/dev/null || ! kill -0 $PID; do read -rt 0.05 <> <(:); done
	KINDS=("")
	serves && killed "Go: caddy" $((KILLS / 6)) serves
else
	skip "Go: caddy" "caddy or curl is not installed"
fi
finish

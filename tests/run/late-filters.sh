#!/bin/bash
# Seccomp filters that come while a process is attached to. It lives on and computes the same, also
# if brace changes what is traced, or leaves, when the filter is there.
. "$(dirname "$0")/attach-lib.sh"
S=(--session late)
ON_EXIT+=("$BRACE reset ${S[*]}")
mkfifo "$T/words"
exec {words}<>"$T/words"

# said WORD: the program has come there, or ended.
said() {
	grep -q "^$1 " "$T/bound.out" || ! kill -0 "$PID" 2>/dev/null
}

# begin PROGRAM WAY: $PID waits before it binds itself.
begin() {
	: >"$T/bound.out"
	"$FIXTURES/$1" "$2" waits <"$T/words" >"$T/bound.out" 2>"$T/bound.err" &
	PID=$!
	ON_EXIT+=("kill -KILL $PID")
	until_is said ready
}

# go_on WORD: from one wait to the next.
go_on() {
	echo >&"$words"
	until_is said "$1"
}

# ended NAME FILE: it ends, and has printed what the file has.
ended() {
	wait "$PID" 2>/dev/null
	local status=$?
	[ $status -eq 0 ] && cmp -s "$T/bound.out" "$2"
	result "$1 (status $status)" $? "$T/bound.out"
}

# untraced PROGRAM WAY: leaves its output in a file of that name.
untraced() {
	begin "$1" "$2"
	go_on bound
	go_on after
	wait "$PID" && cp "$T/bound.out" "$T/untraced.$1.$2"
	result "$1 $2: lives on untraced" $? "$T/bound.err"
}

# bound PROGRAM WAY HOW OPTIONS...: HOW: stays, leaves, changes.
bound() {
	local program=$1 way=$2 how=$3 name="$1 $2, $3, ${*:4}"
	shift 3
	[ -e "$T/untraced.$program.$way" ] || untraced "$program" "$way"
	begin "$program" "$way"
	if ! timeout "$LIMIT" "$BRACE" start "${S[@]}" -p "$PID" "$@" >"$T/out" 2>"$T/err"; then
		grep -q ptrace "$T/err" || { not_ok "$name: attaches"; diag "$T/err"; finish; }
		printf '1..0 # SKIP %s\n' "$(cut -d' ' -f2- "$T/err")"
		exit 0
	fi
	go_on bound
	if [ "$how" = changes ]; then
		check "$name: its settings are changed" "$BRACE" set "${S[@]}" -l work
		check "$name: once more" "$BRACE" set "${S[@]}" -t function
	fi
	if [ "$how" != stays ]; then
		check "$name: is left" "$BRACE" reset "${S[@]}"
		same_text "$name: its text is the files'" "$PID"
	fi
	go_on after
	ended "$name: the same" "$T/untraced.$program.$way"
	[ "$how" != stays ] || check "$name: the session ends" "$BRACE" reset "${S[@]}"
}

# --- by each way to install one
for way in prctl seccomp twice by-hand strict threads by-hand-threads; do
	bound filtered $way stays -l step
	bound filtered $way leaves -l step --args
done
for way in no-pages no-mprotect no-futex no-prctl no-socket questions trap children; do
	bound filtered $way leaves -l step
done
# --- by what is traced
for options in '-t function' '-L *' '--max-graph-depth 9' '--threshold 1ns' '-e syscalls:*' '-l step -e syscalls:* -e task:*'; do
	set -f
	# shellcheck disable=SC2086 # words
	bound filtered threads leaves $options
	# shellcheck disable=SC2086
	bound filtered by-hand stays $options
	set +f
done
# --- when the settings change under it
for way in seccomp no-socket threads; do
	bound filtered $way changes -l step --args
done
# --- without a loader
for way in prctl strict by-hand-threads; do
	bound filtered-static $way leaves -l step
done

# --- what the trace has: 30,000 steps before the filter, 60,000 after, and not one unaccounted for
begin filtered prctl
"$BRACE" record -p "$PID" -l step -o "$T/trace" 2>"$T/summary" &
tracer=$!
attached() {
	grep -q brace-code "/proc/$PID/maps" && grep -qE '^TracerPid:.0$' "/proc/$PID/status"
}
until_is attached
go_on bound
go_on after
ended "brace record: the same" "$T/untraced.filtered.prctl"
wait $tracer
result "it ends with the program" $? "$T/summary"
grep -qE 'filtered\): stopped recording: its seccomp filter forbids rt_sigprocmask' "$T/summary"
result "it says why there is no more" $? "$T/summary"
records=$("$BRACE" info "$T/trace" | awk '$1 == "records" { print $2 }')
lost=$(summary_number lost)
[ "$records" -ge 60000 ] && [ $((records + lost)) -eq 180000 ]
result "kept $records + lost $lost = 180000 produced" $? "$T/summary"

# --- system calls' events at the places that the agent looks at: the calls are recorded all the same
begin filtered seccomp
"$BRACE" start "${S[@]}" -p "$PID" -e syscalls:sys_enter_seccomp >"$T/out" 2>"$T/err"
result "attaches for the event of the call itself" $? "$T/err"
go_on bound
recorded() { "$BRACE" show --no-pager "${S[@]}" 2>/dev/null | grep -qE 'sys_enter_seccomp: op: (0x0*1|SECCOMP_SET_MODE_FILTER), '; }
check_that "the call is recorded" until_is recorded
go_on after
ended "and is a call as before" "$T/untraced.filtered.seccomp"
check "the session ends" "$BRACE" reset "${S[@]}"
finish

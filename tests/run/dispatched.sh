#!/bin/bash
# Programs that dispatch system calls themselves (PR_SET_SYSCALL_USER_DISPATCH, as Wine does),
# launched and attached to: their handler sees the very calls that it sees untraced, they compute
# the same, and brace says where its recording ends.
. "$(dirname "$0")/attach-lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
export TRUTH=$T/truth
SAYS='stopped recording: it dispatches system calls itself'
prepare() { rm -f "$TRUTH"; }

"$FIXTURES/dispatched" all >"$T/out" 2>&1 || {
	printf '1..0 # SKIP the kernel does not dispatch system calls to programs\n'
	exit 0
}

# all_told NAME TIMES: each of the program's entries of step() is recorded or counted as lost.
all_told() {
	local records status
	records=$("$BRACE" info "$T/trace" | awk '$1 == "records" { print $2 }')
	[ $((records + $(summary_number lost))) -eq "$2" ]
	status=$?
	result "$1: kept $records + lost $(summary_number lost) = $2 produced" "$status" "$T/summary"
}

# --- launched
for program in dispatched dispatched-static; do
	for way in all but-libc threads; do
		[ "$program $way" != "dispatched-static but-libc" ] || continue
		for options in '-l step' '-l * --args' '-t function' '--max-graph-depth 9' '--threshold 1ns' '-l step -e task:*' '-L *'; do
			set -f
			# shellcheck disable=SC2086 # words
			same "$program $way, $options: same result" $options -- "$FIXTURES/$program" $way
			set +f
			grep -q "$SAYS" "$T/summary"
			result "$program $way, $options: brace says so" $? "$T/summary"
		done
	done
done
# 150,000 steps, and those of the handler; entries and exits
same "all: same result" -l step -- "$FIXTURES/dispatched" all
all_told "all" $((2 * (150000 + 8)))
same "refused: same result" -l step -- "$FIXTURES/dispatched" refused
counted
nothing_lost "refused: nothing is given up"

# --- attached to before
mkfifo "$T/words"
exec {words}<>"$T/words"
said() {
	grep -q "^$1 " "$T/late.out" || ! kill -0 "$PID" 2>/dev/null
}
go_on() {
	echo >&"$words"
	until_is said "$1"
}
begin() {
	: >"$T/late.out"
	"$FIXTURES/dispatched" "$1" waits <"$T/words" >"$T/late.out" 2>"$T/late.err" &
	PID=$!
	ON_EXIT+=("kill -KILL $PID")
	until_is said ready
}
ended() {
	wait "$PID"
	result "$1: ends as untraced" $? "$T/late.err"
}
S=(--session dispatched)
ON_EXIT+=("$BRACE reset ${S[*]}")
for way in all but-libc threads stays-on; do
	begin "$way"
	go_on bound
	go_on after
	ended "$way, untraced"
	cp "$T/late.out" "$T/untraced"
	for how in stays leaves; do
		begin "$way"
		"$BRACE" start "${S[@]}" -p "$PID" -l step >"$T/out" 2>"$T/err"
		result "$way, $how: attaches" $? "$T/err"
		go_on bound
		[ $how = stays ] || check "$way: is left" "$BRACE" reset "${S[@]}"
		go_on after
		ended "$way, $how"
		check_that "$way, $how: the same output" cmp "$T/untraced" "$T/late.out"
		[ $how = leaves ] || check "$way: the session ends" "$BRACE" reset "${S[@]}"
	done
done
# --- attached to when it does already: since Linux 6.4 the kernel tells a tracer
if printf '6.4\n%s\n' "$(uname -r)" | sort -VC; then
	begin stays-on
	go_on bound
	"$BRACE" record -p "$PID" -l step -o "$T/none" >"$T/out" 2>"$T/err"
	[ $? -ne 0 ] && grep -q "process $PID (dispatched) dispatches system calls itself" "$T/err"
	result "an attach is refused, with the reason" $? "$T/err"
	go_on after
	ended "stays on"
fi
finish

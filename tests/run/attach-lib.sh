# shellcheck shell=bash
# Shared by tests of attaching: a process in the background, and its state that must not change.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"

# start PREFIX PROGRAM...: runs it in the background until its first line; $PID is its process.
start() {
	local prefix=$1
	shift
	: >"$T/$prefix.out" # tail gives up what is not there yet
	"$@" >"$T/$prefix.out" 2>"$T/$prefix.err" &
	PID=$!
	ON_EXIT+=("kill -KILL $PID")
	timeout 20 tail -f --pid=$PID "$T/$prefix.out" 2>/dev/null | head -n 1 >"$T/first"
}

# The kernel's view of a process, which must not change.
state() {
	local blocked=$((-1)) mask
	# A handler that runs just now blocks its signal: what each of 30 readings has is blocked.
	for _ in {1..30}; do
		mask=$(sed -n 's/^SigBlk:.//p' "/proc/$1/status")
		blocked=$((blocked & 16#${mask:-0}))
	done
	printf 'SigBlk: %x\n' "$blocked"
	grep -E '^(SigIgn|SigCgt|TracerPid)' "/proc/$1/status"
	readlink "/proc/$1/fd/"* 2>/dev/null
}

# same_text NAME PID
same_text() {
	check "$1" "$FIXTURES/same_text" "$2"
}

# attach OPTIONS...: records $PID for a moment; leaves summary and trace.
attach() {
	timeout -k 5 "$LIMIT" "$BRACE" record -p "$PID" -o "$T/trace" "$@" >"$T/attach.out" 2>"$T/summary"
	echo $? >"$T/attach.status"
	rm -f "$T/json"
}

# ends_right NAME PREFIX PID: it was undisturbed to the end.
ends_right() {
	local status
	kill -TERM "$3"
	wait "$3"
	status=$?
	[ "$status" -eq 0 ] && [ "$(tail -n 1 "$T/$2.out")" = right ]
	result "$1 (status $status)" $? "$T/$2.err"
}

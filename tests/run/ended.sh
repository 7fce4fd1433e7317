#!/bin/bash
# A process that ends while it is attached is said to have, and how: waited for by its parent, or
# still a zombie.
. "$(dirname "$0")/lib.sh"
LIMIT=60
mkfifo "$T/go"

# attached: brace has hooked $pid and let it go.
attached() {
	grep -q brace-code "/proc/$pid/maps" && grep -qE '^TracerPid:.0$' "/proc/$pid/status"
}
started() { pid=$(cat "$T/pid" 2>/dev/null) && [ -n "$pid" ]; }

# dies PARENT STATUS HOW: sh waits in `read`; then it exits with STATUS, or gets the signal HOW.
dies() {
	local parent=$1 status=$2 signal=${3:-} tracer
	rm -f "$T/pid" "$T/trace"
	# shellcheck disable=SC2016 # for the shells inside
	bash -c '"${@:2}" & case $1 in waits) wait ;; *) exec sleep 1000 ;; esac' _ "$parent" \
		sh -c 'echo $$ >"$1"; read line <"$2"; exit "$3"' sh "$T/pid" "$T/go" "$status" >/dev/null 2>&1 &
	PARENT=$!
	until_is started
	"$BRACE" record -o "$T/trace" -p "$pid" 2>"$T/summary" >/dev/null &
	tracer=$!
	until_is attached
	if [ "$signal" ]; then kill -s "$signal" "$pid"; else echo >"$T/go"; fi
	wait $tracer
	kill $PARENT 2>/dev/null
	wait $PARENT 2>/dev/null
}
for parent in waits sleeps; do
	dies $parent 3
	check "its status (a parent that $parent)" grep -q "^brace: $pid (sh): exited with status 3, while it was attached$" "$T/summary"
	dies $parent 0 SEGV
	check "its signal (a parent that $parent)" grep -Eq "^brace: $pid \(sh\): ended by SIGSEGV \(Segmentation fault\)(, core dumped)?, while it was attached$" "$T/summary"
	"$BRACE" info "$T/trace" >"$T/info" 2>&1
	check "the file has it too" grep -q "$pid (sh): ended by SIGSEGV" "$T/info"
done
# One that lives on is not spoken of.
dies_not() {
	sleep 1000 &
	pid=$!
	"$BRACE" record -o "$T/trace" -p "$pid" -L '*' --duration 50ms 2>"$T/summary" >/dev/null
	kill -0 "$pid" && ! grep -q 'while it was attached' "$T/summary"
}
check_that "of one that lives on nothing is said" dies_not
check "of one that only waits, who tells where" grep -q '^brace: no call was made meanwhile: brace stack -p PID prints where' "$T/summary"
"$BRACE" record -t nop -e 'syscalls:*' -o "$T/trace" -p "$pid" --duration 50ms 2>"$T/summary" >/dev/null
grep -q '^brace: attached for' "$T/summary" && ! grep -q 'no call was made' "$T/summary"
result "not where no calls were to be recorded" $? "$T/summary"
kill "$pid"
finish

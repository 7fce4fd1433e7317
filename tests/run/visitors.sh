#!/bin/bash
# Visitors of a session in the background that say nothing, say it slowly, do not read, or are too
# many (tests/targets/visitor.c): others are answered meanwhile, and `brace reset` ends the session.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
LIMIT=60
brace() { timeout -k 5 "$LIMIT" "$BRACE" "$@" 2>"$T/err" </dev/null; }

# visits WAY TIMES: in the background, from when it stands.
visits() {
	rm -f "$T/visitor"
	mkfifo "$T/visitor"
	"$FIXTURES/visitor" "$XDG_RUNTIME_DIR/brace/default" "$1" "$2" >"$T/visitor" 2>&1 &
	VISITOR=$!
	ON_EXIT+=("kill $VISITOR")
	exec {SAYS}<"$T/visitor"
	read -rt "$LIMIT" -u "$SAYS" SAID
}

leaves() {
	kill $VISITOR 2>/dev/null
	wait $VISITOR 2>/dev/null
	exec {SAYS}<&-
}

start_session() {
	brace start -p "$PID" -l leaf || { not_ok start; diag "$T/err"; finish; }
}

start_program
if ! brace start -p "$PID" -l leaf; then
	grep -q ptrace "$T/err" || { not_ok start; diag "$T/err"; finish; }
	printf '1..0 # SKIP %s\n' "$(cut -d' ' -f2- "$T/err")"
	exit 0
fi
ON_EXIT+=("$BRACE reset" "kill $PID")

# resets NAME WAY TIMES: somebody else is answered, and the session ends.
resets() {
	visits "$2" "$3"
	brace show current_tracer >"$T/out"
	[ "$(cat "$T/out")" = function_graph ]
	result "$1: another is answered" $? "$T/err"
	brace reset
	result "$1: reset ends the session" $? "$T/err"
	leaves
}

resets "a visitor who says nothing" silent 1
start_session
resets "70 who say nothing" silent 70
start_session
resets "a byte a second" slow 1
start_session
tell 20000 # more than a socket takes
resets "one who does not read his answer" unread 1
start_session
resets "one who has the stream, and stands" stands 1
start_session
visits stands 60
brace show trace >"$T/out"
result "60 streams: another is answered" $? "$T/err"
brace reset
result "60 streams: reset ends the session" $? "$T/err"
leaves
start_session
visits slow 1
read -rt "$LIMIT" -u "$SAYS" SAID
[ "$SAID" = "sent away" ]
result "who takes too long for his question is sent away" $?
check "reset" "$BRACE" reset
finish

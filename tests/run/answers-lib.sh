# shellcheck shell=bash
# A program that does what it is told (tests/targets/answers.c), with its input and output at hand.
A=$FIXTURES/${ANSWERS:-answers}

# start_program: PID is its own; SAID what it said last.
start_program() {
	coproc PROGRAM { exec "$A" 2>>"$T/program.err"; }
	exec {TO}>&"${PROGRAM[1]}" {FROM}<&"${PROGRAM[0]}"
	PID=$PROGRAM_PID
	read -rt "$LIMIT" -u "$FROM" SAID
}

# tell LINE...: each is done when this returns.
tell() {
	local line
	for line; do
		echo "$line" >&"$TO"
		read -rt "$LIMIT" -u "$FROM" SAID
	done
}

# It ends by itself; STATUS is how.
end_program() {
	echo q >&"$TO"
	wait "$PID" 2>/dev/null
	STATUS=$?
	exec {TO}>&- {FROM}<&-
}

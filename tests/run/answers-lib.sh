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

# offset FUNCTION [FORMAT]: where a static function begins in the file; needs readelf and nm.
offset() {
	local address begin at
	address=$((16#$(nm "$A" | sed -n "s/^\([0-9a-f]*\) t $1\$/\1/p")))
	read -r begin at < <(readelf -SW "$A" | sed -n 's/.* \.text  *PROGBITS  *\([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p')
	printf "${2:-0x%016x}\n" $((address - 16#$begin + 16#$at))
}

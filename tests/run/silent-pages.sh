#!/bin/bash
# A traced program that maps a file of a file system which never answers, on a thread's stack, where
# patches stand, and where what brace looks at leads to, delays brace and does not keep it: attach,
# change and detach, locks --now and events on events have an end while the server lives, and the
# program goes on.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"

# Each program has a server of its own: a page that one has asked for stays locked.
serve() {
	MOUNT=$(mktemp -d "$T/mount.XXXXXX")
	: >"$T/fs"
	"$FIXTURES/silent_fs" "$MOUNT" "$FIXTURES/bound-preload.so" -1 >"$T/fs" 2>&1 &
	SERVER=$!
	ON_EXIT+=("umount -l $MOUNT" "kill -KILL $SERVER")
	until_is eval 'grep -q ready "$T/fs" || ! kill -0 $SERVER 2>/dev/null'
	grep -q ready "$T/fs"
}

begin_program() {
	if ! serve; then
		skip "file systems that do not answer" "only root mounts here, and needs /dev/fuse"
		finish
	fi
	rm -f "$T/in" "$T/says"
	mkfifo "$T/in" "$T/says"
	"$FIXTURES/silent_pages" "$MOUNT/bound-preload.so" <"$T/in" >"$T/says" &
	PROGRAM=$!
	ON_EXIT+=("kill -KILL $PROGRAM")
	exec 8>"$T/in" 9<"$T/says"
}
# runs [WORD]: the program hears it and answers.
runs() {
	local answer
	echo "${1:-}" >&8
	read -r -t "$LIMIT" answer <&9 && [ "$answer" = runs ]
}
# Its server lives until then: nothing may need its end.
end_program() {
	local status
	exec 8>&- 9<&-
	kill -0 $SERVER && wait $PROGRAM
	status=$?
	diag "$T/fs" 3
	kill -KILL $SERVER
	return $status
}
ended() { ! kill -0 "$TRACER" 2>/dev/null; }
hooked() { grep -q 'memfd:brace-session' "/proc/$PROGRAM/maps" || ended; }

begin_program
check_that "a program with a silent page as a stack runs" runs
"$BRACE" record -o "$T/trace" -l paged -p $PROGRAM >"$T/out" 2>"$T/summary" </dev/null 8>&- 9<&- &
TRACER=$!
ON_EXIT+=("kill -KILL $TRACER")
until_is hooked
check_that "it is attached to, or refused, and runs" runs
kill -TERM $TRACER 2>/dev/null
until_is ended
result "the detach has an end" $? "$T/summary"
diag "$T/summary" 3
check_that "the program runs" runs
end_program
result "and ends well" $?

begin_program
runs
"$BRACE" record -o "$T/trace" -l paged -p $PROGRAM >"$T/out" 2>"$T/summary" </dev/null 8>&- 9<&- &
TRACER=$!
ON_EXIT+=("kill -KILL $TRACER")
until_is hooked
check_that "where a patch stands it maps a silent page" runs text
kill -TERM $TRACER 2>/dev/null
until_is ended
result "the detach has an end, too" $? "$T/summary"
diag "$T/summary" 3
check_that "the program still runs" runs
end_program
result "to its end" $?

begin_program
runs
"$BRACE" start --session silent -l paged -p $PROGRAM >"$T/out" 2>"$T/summary" </dev/null 8>&- 9<&-
result "a session in the background attaches" $? "$T/summary"
runs text
timeout -k 5 "$LIMIT" "$BRACE" set --session silent -l main >"$T/out" 2>"$T/err" 8>&- 9<&-
[ $? -lt 124 -o $? -eq 125 ]
result "a change has an end" $? "$T/err"
diag "$T/err" 3
check_that "after which the program runs" runs
timeout -k 5 "$LIMIT" "$BRACE" reset --session silent >"$T/out" 2>"$T/err" 8>&- 9<&-
[ $? -lt 124 -o $? -eq 125 ]
result "and the session ends" $? "$T/err"
diag "$T/err" 3
end_program
result "as the program does" $?

hooked_and_gone_on() {
	grep -q 'memfd:brace-code' "/proc/$PROGRAM/maps" && grep -q '^TracerPid:.0$' "/proc/$PROGRAM/status" || ended
}
# The records of a killed tracer are recovered from the program, at whichever moment it maps the page.
for moment in before after; do
	begin_program
	runs
	"$BRACE" record -o "$T/trace" -l paged -e syscalls:sys_enter_write -p $PROGRAM >"$T/out" 2>"$T/summary" </dev/null 8>&- 9<&- &
	TRACER=$!
	ON_EXIT+=("kill -KILL $TRACER")
	until_is hooked_and_gone_on
	[ $moment = after ] || runs text
	kill -KILL $TRACER 2>/dev/null
	wait $TRACER 2>/dev/null
	# The records of this answer, if not of earlier ones, are in the memory alone.
	check_that "a tracer is killed ($moment): the program runs" runs
	[ $moment = before ] || runs text
	timeout -k 5 "$LIMIT" "$BRACE" recover -o "$T/recovered" -p $PROGRAM >"$T/out" 2>"$T/err" </dev/null 8>&- 9<&-
	[ $? -eq 0 ]
	result "brace recover has an end ($moment)" $? "$T/err"
	diag "$T/err" 3
	[ "$("$BRACE" info "$T/recovered" | awk '$1 == "records" { print $2 }')" -gt 0 ]
	result "and what the program recorded ($moment)" $? "$T/err"
	check_that "the program still runs ($moment)" runs
	end_program
	result "to its end ($moment)" $?
	rm -f "$T/recovered"
done

# The lock that a thread waits for.
begin_program
runs lock
until_is eval 'grep -q "^202 .* 0x80 0x2 " /proc/$PROGRAM/task/*/syscall'
result "a thread waits for a mutex" $?
check_that "whose page becomes a silent one" runs cover
timeout -k 5 "$LIMIT" "$BRACE" locks --now -p $PROGRAM >"$T/out" 2>"$T/err" </dev/null 8>&- 9<&-
result "brace locks --now has an end" $? "$T/err"
check_that "and the program runs" runs
end_program
result "to its end after locks --now" $?

# A pointer in an event, which an event on it follows.
begin_program
runs
"$BRACE" graph -o "$T/text" -l paged -e 'e:led syscalls.sys_enter_madvise word=+0($start):x32' -p $PROGRAM \
	>"$T/out" 2>"$T/summary" </dev/null 8>&- 9<&- &
TRACER=$!
ON_EXIT+=("kill -KILL $TRACER")
led() { runs advise && grep -q 'led: ' "$T/text" || ended; }
until_is led
check_that "a pointer to a silent page is followed: the program runs" runs
kill -TERM $TRACER 2>/dev/null
until_is ended
result "the recording has an end" $? "$T/summary"
grep -q 'led: .*word=0x0 ' "$T/text"
result "and no word, as the kernel's events where memory is not there" $? "$T/text"
end_program
result "after which the program ends well" $?
finish

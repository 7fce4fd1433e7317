#!/bin/bash
# Nobody that others depend on waits without a bound for what a stranger controls: a process that is
# not the session's and speaks as an agent, a file system that does not answer.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"

# begin PROGRAM...: a recorded program, in the background; its pid is in $T/pid when it runs. TRACER
# is brace. A SIGHUP that was ignored (nohup) is not: one of these tests sends it.
begin() {
	env --default-signal=HUP "$BRACE" record -o "$T/trace" "$@" >"$T/out" 2>"$T/summary" </dev/null &
	TRACER=$!
	ON_EXIT+=("kill -KILL $TRACER")
}
calls() { "$BRACE" report --json "$T/trace" 2>&1 | grep -q "\"name\":\"$1\",\"module\":\"$2\",\"calls\":$3,"; }
said() { grep -q "$1" "$T/summary"; }

# --- a process of our user's, which nobody told the token
mkfifo "$T/go"
begin -- bash -c "echo \$\$ >'$T/pid.new'; mv '$T/pid.new' '$T/pid'; read x <'$T/go'"
until_is test -s "$T/pid"
check "a stranger that speaks as an agent is sent away" "$FIXTURES/caller" stranger $TRACER
tr '\0' '\n' <"/proc/$(cat "$T/pid")/environ" >"$T/environ"
check_that "the token is not in the environment that others of the user can read" \
	bash -c "grep -q '^PATH=' '$T/environ' && ! grep -q '@brace-' '$T/environ'"
echo >"$T/go"
wait $TRACER
result "the session ends as its program does" $? "$T/summary"
check_that "and says that a connection was refused" said '1 connection was refused: process [0-9]* is none of the session'

# --- a file system that answers so many times, and then no more (tests/targets/silent_fs.c)
# serve OPENS: $MOUNT/bound-preload.so can be opened so often; then $T/fs says "silent", and who
# opens it waits.
serve() {
	MOUNT=$(mktemp -d "$T/mount.XXXXXX")
	: >"$T/fs" # the last server's "ready" is not this one's
	"$FIXTURES/silent_fs" "$MOUNT" "$FIXTURES/bound-preload.so" "$1" >"$T/fs" 2>&1 &
	SERVER=$!
	ON_EXIT+=("umount -l $MOUNT" "kill -KILL $SERVER")
	until_is eval 'grep -q ready "$T/fs" || ! kill -0 $SERVER 2>/dev/null'
	grep -q ready "$T/fs"
}
end_server() {
	kill -KILL $SERVER 2>/dev/null
	wait $SERVER 2>/dev/null
	umount -l "$MOUNT"
}

if ! serve 1000; then
	skip "file systems that do not answer" "only root mounts here, and needs /dev/fuse"
	finish
fi
"$BRACE" record -L 'bound-*' -l strlen -l reader_loop -o "$T/trace" -- bash -c "LD_PRELOAD=$MOUNT/bound-preload.so bash -c :" \
	>"$T/out" 2>"$T/summary" </dev/null
result "a library on a file system that a process serves: the program runs" $? "$T/summary"
check_that "and the library's function is traced" calls strlen bound-preload.so '[0-9]*'
end_server

# Its loader opens it once, brace would be the second.
serve 1
others="LD_PRELOAD=$MOUNT/bound-preload.so '$FIXTURES/caller' step & p=\$!
	for i in 1 2 3 4 5; do '$FIXTURES/caller' step || echo bad; done; kill -0 \$p && echo first; wait \$p && echo well"
"$BRACE" record -L 'bound-*' -l step -l reader_loop -o "$T/trace" -- bash -c "$others" >"$T/out" 2>"$T/summary" </dev/null
result "one that does not answer: the session ends as its program does" $? "$T/summary"
check_that "others were executed meanwhile, and it ran, too" [ "$(tr '\n' ' ' <"$T/out")" = "first well " ]
check_that "their calls are there, and its own" calls step caller 18
check_that "the file that did not answer is named" said '^brace: bound-preload.so is not traced: its file does not answer'

end_server
serve 1
begin -L 'bound-*' -l step -l reader_loop -- bash -c "LD_PRELOAD=$MOUNT/bound-preload.so '$FIXTURES/caller' step"
until_is grep -q silent "$T/fs"
# INT is ignored in the background of a script.
kill -TERM $TRACER
wait $TRACER
result "brace that is interrupted while a file does not answer ends" $? "$T/summary"
end_server

# --- a page of a process where brace looks for what it wrote (tests/targets/absent.c). The process itself waits, too: the kernel 
# keeps its memory from changing while somebody reads there.
serve -1
timeout -k 5 30 "$BRACE" record -L 'libuntyped*' -l paged -l step -l reader_loop -o "$T/trace" -- bash -c \
	"'$FIXTURES/absent' '$FIXTURES/libuntyped.so' '$MOUNT/bound-preload.so' &
	until grep -q silent '$T/fs'; do sleep 0.01; done
	'$FIXTURES/caller' step && echo others; kill -KILL $SERVER; wait" >"$T/out" 2>"$T/summary" </dev/null
result "a page of a process that brace looks at is read by nobody: the session ends" $? "$T/summary"
check_that "others were executed meanwhile, and the process ran to its end" [ "$(tr '\n' ' ' <"$T/out")" = "others child " ]
check_that "and what was executed is traced" calls step caller 3
end_server

# --- the same, while nobody may read the process's mappings: its own program has ended, and brace asks whether it runs 
serve -1
begin -L 'libuntyped*' -l paged -l reader_loop -- bash -c \
	"'$FIXTURES/absent' '$FIXTURES/libuntyped.so' '$MOUNT/bound-preload.so' busy <'$T/go' & echo \$! >'$T/busy'; wait"
until_is test -s "$T/busy"
exec 9>"$T/go"
# One of brace's threads waits in the kernel: the one that reads there, or the one that was made for
# it.
waits() { grep -qs '^State:.*D' "/proc/$TRACER/task"/*/status; }
until_is waits
result "where the mappings of a process cannot be read, brace waits" $?
exec 9>&-
# Two kinds, for two of one kind count as one while the first waits.
kill -HUP $TRACER
kill -TERM $TRACER
until_is eval '! kill -0 $TRACER 2>/dev/null'
ended=$?
end_server
wait $TRACER
result "and ends all the same" $ended "$T/summary"

# --- into a process that runs, and by name
serve 1
LD_PRELOAD=$MOUNT/bound-preload.so bash -c "echo \$\$ >'$T/running'; read x <'$T/go'" &
RUNNING=$!
ON_EXIT+=("kill -KILL $RUNNING")
until_is test -s "$T/running"
"$BRACE" record -L 'bound-*' -o "$T/trace" -p "$(cat "$T/running")" >"$T/out" 2>"$T/summary" </dev/null &
TRACER=$!
ON_EXIT+=("kill -KILL $TRACER")
hooked() { grep -q 'memfd:brace-session' "/proc/$(cat "$T/running")/maps"; }
until_is hooked
echo >"$T/go"
wait $TRACER
result "a process that maps it is attached to all the same" $? "$T/summary"
check_that "and the file is named there, too" said 'bound-preload.so is not traced: its file does not answer'
"$BRACE" list -f "$MOUNT/bound-preload.so" >"$T/out" 2>"$T/summary" </dev/null
[ $? -ne 0 ] && said 'bound-preload.so does not answer: a process serves its file system, and brace waited 3 s$'
result "brace list says that it does not answer" $? "$T/summary"
end_server
finish

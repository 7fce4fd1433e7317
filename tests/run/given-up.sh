#!/bin/bash
# Who interrupts brace twice while it attaches does not wait for a thread that does not stop, and
# the program is unharmed.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"

mkfifo "$T/go"
"$FIXTURES/vfork_waits" <"$T/go" >"$T/well" &
PROGRAM=$!
ON_EXIT+=("kill -KILL $PROGRAM")
exec 9>"$T/go"
in_vfork() { grep -q '^State:.*D' "/proc/$PROGRAM/status"; }
until_is in_vfork
result "a program waits in vfork" $?

ended() { ! kill -0 "$TRACER" 2>/dev/null; }
# TERM (0x4000): INT is ignored in the background of a script.
catches_term() { (($((16#$(sed -n 's/^SigCgt:\s*//p' "/proc/$TRACER/status"))) & 0x4000)); }
begins() { catches_term 2>/dev/null || ended; }
# Two of a kind count as one while the first is not taken yet, hence as often as it takes.
stop_it() { kill -TERM "$TRACER" 2>/dev/null; ended; }
gave_up() { grep -q "^brace: interrupted: process $PROGRAM was not stopped, and runs on$" "$T/summary"; }

# brace gives up by itself after two seconds: where that comes first, once more.
for try in 1 2 3 4 5; do
	"$BRACE" record -o "$T/trace" -p $PROGRAM >"$T/out" 2>"$T/summary" 9>&- </dev/null &
	TRACER=$!
	until_is begins
	until_is stop_it
	wait $TRACER
	status=$?
	! gave_up || break
done
echo "# try $try"
gave_up
result "brace that is interrupted twice says that it gave up" $? "$T/summary"
check_that "its status is its own" [ $status -eq 125 ]
check_that "it leaves no file" [ ! -e "$T/trace" ]
check_that "the program still waits" in_vfork
check_that "and is nobody's" grep -q '^TracerPid:\s*0$' "/proc/$PROGRAM/status"
check_that "with nothing of brace's" bash -c "! grep -q brace '/proc/$PROGRAM/maps'"
echo >&9
wait $PROGRAM
check_that "it ends as it would have" [ $? -eq 7 -a "$(cat "$T/well")" = well ]
finish

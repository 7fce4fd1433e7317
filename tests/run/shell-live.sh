#!/bin/bash
# Unmodified trace-cmd on a running user-space program, in a shell where the tree stands at
# /sys/kernel/tracing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
need trace-cmd
start_program
# The commands come from outside, one line each; "." is the end of what each prints.
coproc SHELL_ { exec "$BRACE" shell -p "$PID" -- bash -c 'echo begun; while read -r line; do eval "$line"; echo .; done' 2>"$T/err"; }
SHELL_PID=$SHELL__PID
exec {TO_SHELL}>&"${SHELL_[1]}" {FROM_SHELL}<&"${SHELL_[0]}"
read -rt "$LIMIT" -u "$FROM_SHELL" line
if [ "$line" != begun ]; then
	grep -qE '/dev/fuse|namespace|ptrace' "$T/err" || { not_ok shell; diag "$T/err"; finish; }
	printf '1..0 # SKIP %s\n' "$(cut -d' ' -f2- "$T/err")"
	exit 0
fi
# in_shell COMMAND: its output in $T/out.
in_shell() {
	echo "{ $*; } 2>&1" >&"$TO_SHELL"
	while read -rt "$LIMIT" -u "$FROM_SHELL" line && [ "$line" != . ]; do
		printf '%s\n' "$line"
	done >"$T/out"
}
printed() { # N PATTERN NAME
	[ "$(grep -cE -- "$2" "$T/out")" -eq "$1" ]
	result "$3" $? "$T/out"
}

in_shell trace-cmd list -f
printed 1 '^leaf$' "trace-cmd list -f: the program's functions"
in_shell trace-cmd start -p function -l leaf -l request
tell 5
in_shell trace-cmd show
printed 5 ': leaf <-request$' "trace-cmd start -p function, show"
printed 1 ': request <-main$' "with each function named"
in_shell trace-cmd stat
printed 1 '^Tracer: function$' "trace-cmd stat: the tracer"
printed 2 '^ *(leaf|request)$' "and its filter"
in_shell trace-cmd stop
tell 7
in_shell trace-cmd show
printed 5 ': leaf <-request$' "trace-cmd stop"
in_shell trace-cmd restart
tell 2
in_shell trace-cmd show
printed 7 ': leaf <-request$' "trace-cmd restart"
in_shell trace-cmd clear
tell 3
in_shell trace-cmd show
printed 3 ': leaf <-request$' "trace-cmd clear"
in_shell trace-cmd reset
tell 9
in_shell trace-cmd show
printed 0 leaf "trace-cmd reset"
in_shell trace-cmd start -p function_graph -g request
tell 4
in_shell trace-cmd show
printed 1 '\|  request\(\) \{$' "trace-cmd start -p function_graph -g"
printed 4 '\|    leaf\(\);$' "and what it calls"
printed 0 main "and nothing else"
in_shell trace-cmd start -p function -l nonesuch
printed 0 leaf "a function that is not there"
[ -s "$T/out" ]
result "is told" $? "$T/out"
in_shell trace-cmd reset
in_shell trace-cmd start -B mine -p function -l leaf
tell 6
in_shell trace-cmd show -B mine
printed 6 ': leaf <-request$' "trace-cmd start -B: an instance"
in_shell trace-cmd reset -B mine
echo 'exit 3' >&"$TO_SHELL"
wait "$SHELL_PID"
[ $? -eq 3 ]
result "the shell ends as its command does" $? "$T/err"
! grep -qE 'brace-(session|code|image)' "/proc/$PID/maps"
result "and the program is left as it was" $?
tell 1
end_program
[ "$STATUS" -eq 0 ] && [ "$SAID" = "done 37" ]
result "which goes on" $?

# --- env, as the program of --run: the program is there at once, with its variables
at_once=0
for _ in 1 2 3 4 5; do
	timeout "$LIMIT" "$BRACE" shell --run="env X=Y $FIXTURES/kern" -- \
		/bin/sh -c 'echo "p:one vfs_read" >/sys/kernel/tracing/kprobe_events' >"$T/out" 2>"$T/err" </dev/null || at_once=1
done
result "a definition of a function of the program that env starts is taken at once" $at_once "$T/err"
# variables NAME WANTED ENV...: what the program and the command have
variables() {
	mkfifo "$T/said"
	timeout "$LIMIT" "$BRACE" shell --run="$3 /bin/sh -c 'echo \"\$ONE \$TWO \$HOME\" >$T/said' name" -- \
		/bin/sh -c 'read -r line <"$0"; echo "$line ${ONE-unset}"' "$T/said" >"$T/out" 2>"$T/err" </dev/null
	[ "$(cat "$T/out")" = "$2" ]
	result "$1" $? "$T/err"
	rm "$T/said"
}
export TWO=before
variables "env's variables are the program's alone, the last of a name" "1 two $HOME unset" "env ONE=0 TWO=two ONE=1"
variables "and those that brace looks at" "1 before /nowhere unset" "env ONE=1 HOME=/nowhere"
variables "and options are env's" "two $HOME unset" "env -u ONE TWO=two"
finish

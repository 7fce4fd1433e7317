#!/bin/bash
# A program that is traced and writes to its own tree: what changes it, with it standing, is done,
# and the answer is true.
. "$(dirname "$0")/lib.sh"
D=$T/tree
mkdir "$D"

# drives SHELL: it says what became of each write, and what the file then was. `both` are a filter
# and its contrary: nothing is left to trace, which is found when the program was held already.
cat >"$T/drive.sh" <<'END'
while ! [ -e current_tracer ]; do cd . && cd "$1"; done
say() { echo "$* $(cat "$FILE" | head -1)"; }
put() { FILE=$1; echo "$2" 2>/dev/null >"$1"; say "$1" $?; }
put current_tracer function
put current_tracer nonsense
put current_tracer function_graph
put set_event sched:sched_process_fork
put set_event
mkdir instances/a
put instances/a/current_tracer function
rmdir instances/a
echo rmdir $? $(ls instances)
both=$(sed -n '2{s/ .*//;p}' available_filter_functions)
put current_tracer nop
echo "$both" >set_ftrace_filter
echo "$both" >set_ftrace_notrace
put current_tracer function
echo >set_ftrace_notrace
put current_tracer function
echo >set_ftrace_filter
(while :; do :; done) & # another of the traced ones
for i in 1 2 3 4 5 6; do
	echo nop >current_tracer && echo function >current_tracer || echo failed
done
kill $!
put current_tracer nop
echo end
END
cat >"$T/want" <<'END'
current_tracer 0 function
current_tracer 1 function
current_tracer 0 function_graph
set_event 0 sched:sched_process_fork
set_event 0 
instances/a/current_tracer 0 function
rmdir 0
current_tracer 0 nop
current_tracer 1 nop
current_tracer 0 function
current_tracer 0 nop
end
END

# has_said FILE: it has come to its end; 30 s at most.
has_said() {
	local tries
	for ((tries = 0; tries < 600; tries++)); do
		! grep -qs '^end$' "$1" || return 0
		read -rt 0.05 _ <> <(:)
	done
	return 1
}

ON_EXIT+=("$BRACE umount --lazy $D")
for shell in bash dash; do
	command -v "$shell" >"$T/out" || continue
	"$BRACE" mount --foreground "$D" -- "$(cat "$T/out")" "$T/drive.sh" "$D" >"$T/said.$shell" 2>"$T/err" </dev/null &
	has_said "$T/said.$shell" || [ -s "$T/said.$shell" ] || no_mount
	diff "$T/want" "$T/said.$shell" >"$T/diff"
	result "$shell drives its own tree" $? "$T/diff"
	"$BRACE" umount --lazy "$D" || break
	wait $!
	result "and brace ends as usual" $? "$T/err"
done
finish

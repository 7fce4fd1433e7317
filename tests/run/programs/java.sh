#!/bin/bash
# Java: HotSpot finds the callers of its virtual machine in code of its own making. Launched and
# attached.
. "$(dirname "$0")/../lib.sh"
need java javac

java=(java -XX:-OmitStackTraceInFastThrow -cp "$T" Prog) # every exception has its stack
check "the program is compiled" javac -d "$T" "$HERE/programs/Prog.java"
for mode in '-b 8M' '-p function' '--max-graph-depth 4'; do
	# shellcheck disable=SC2086 # an option is two words
	same "the virtual machine open, $mode" -L libjvm.so $mode -- "${java[@]}"
	nothing_lost "nothing lost, $mode" 1000
done

mkfifo "$T/line"
"${java[@]}" on <"$T/line" >"$T/java.out" 2>"$T/java.err" &
PID=$!
ON_EXIT+=("kill -KILL $PID")
exec 3>"$T/line"
until_is [ -s "$T/java.out" ]
for times in once again; do
	check "attached $times" "$BRACE" record -p $PID -L libjvm.so --duration 500ms -o "$T/trace"
	check "attached $times: what was recorded" "$BRACE" report "$T/trace"
done
echo >&3
wait $PID
result "it ends as it would have" $? "$T/java.err"
check_that "it computed the same" [ "$(tail -n 1 "$T/java.out")" = right ]
finish

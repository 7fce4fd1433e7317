#!/bin/bash
# Mono, with its runtime open: what it makes calls the runtime, which asks who called. Launched and
# attached.
. "$(dirname "$0")/../lib.sh"
need mono mcs

check "the program is compiled" mcs -out:"$T/prog.exe" "$HERE/programs/prog.cs"
for mode in '-b 8M' '-p function' '--max-graph-depth 4'; do
	# shellcheck disable=SC2086 # an option is two words
	same "the runtime open, $mode" $mode -- mono "$T/prog.exe"
	nothing_lost "nothing lost, $mode" 1000
done

# Code that was compiled ahead of time, with every library open.
check "it is compiled ahead of time" mono --aot "$T/prog.exe"
same "ahead of time, every library open" -b 8M -L '*' -- mono "$T/prog.exe"
"$BRACE" list -f "$T/prog.exe.so" --why >"$T/list" 2>&1
check "its functions are not hooked, and that is said" grep -q 'brace: 0 of .*not hooked: [0-9]* runtime' "$T/list"
rm "$T/prog.exe.so"

mkfifo "$T/line"
mono "$T/prog.exe" on <"$T/line" >"$T/mono.out" 2>"$T/mono.err" &
PID=$!
ON_EXIT+=("kill -KILL $PID")
exec 3>"$T/line"
until_is [ -s "$T/mono.out" ]
for times in once again; do
	check "attached $times" "$BRACE" record -p $PID --duration 500ms -o "$T/trace"
	check "attached $times: what was recorded" "$BRACE" report "$T/trace"
done
echo >&3
wait $PID
result "it ends as it would have" $? "$T/mono.err"
check_that "it computed the same" [ "$(tail -n 1 "$T/mono.out")" = right ]
finish

#!/bin/bash
# OCaml, native: exceptions and a caught stack overflow, which look at return addresses and at the fault's place, the collector, which
# walks stacks; limits of depth where returns are not followed. Launched and attached.
. "$(dirname "$0")/../lib.sh"
need ocamlopt

cp "$HERE/programs/prog.ml" "$T"
check "the program is compiled" sh -c 'cd "$1" && ocamlopt unix.cmxa prog.ml -o prog' - "$T"
check "and computes right" sh -c '[ "$("$1")" = right ]' - "$T/prog"
[ "$TAP_FAILED" = 0 ] || finish
for mode in '-b 8M' '-t function' '--max-graph-depth 3' '--threshold 10us' "-g camlProg__fib_*"; do
	# shellcheck disable=SC2086 # an option is two words
	same "$mode" $mode -- "$T/prog"
done
same "every library open" -b 8M -L '*' -- "$T/prog"

# fib 20 makes 21,891 calls of itself, once.
"$BRACE" record -q --mode block -l 'camlProg__fib_*' -o "$T/trace" -- "$T/prog" >"$T/out" 2>"$T/err"
[ "$(json_calls Prog.fib)" = 21891 ]
result "every call is counted" $? "$T/err"
rm "$T/json"
"$BRACE" record -q --mode block -g 'camlProg__fib_*' -o "$T/trace" -- "$T/prog" >"$T/out" 2>"$T/err"
[ "$(json_calls Prog.fib)" = 21891 ]
result "-g counts the calls within, by the stack pointer" $? "$T/err"
rm "$T/json"
"$BRACE" record -q --mode block -g 'camlProg__fib_*' --max-graph-depth 5 -o "$T/trace" -- "$T/prog" >"$T/out" 2>"$T/err"
[ "$(json_calls Prog.fib)" = 31 ]
result "--max-graph-depth 5: 1 + 2 + 4 + 8 + 16" $? "$T/err"

mkfifo "$T/line"
"$T/prog" on <"$T/line" >"$T/prog.out" 2>"$T/prog.err" &
PID=$!
ON_EXIT+=("kill -KILL $PID")
exec 3>"$T/line"
until_is [ -s "$T/prog.out" ]
for mode in '-b 8M' '--max-graph-depth 3' '-t function' '-b 8M'; do
	# shellcheck disable=SC2086 # an option is two words
	check "attached, $mode" "$BRACE" record -p $PID $mode --duration 500ms -o "$T/trace"
	check "attached, $mode: what was recorded" "$BRACE" report "$T/trace"
done
echo >&3
wait $PID
result "it ends as it would have" $? "$T/prog.err"
check_that "it computed the same" [ "$(tail -n 1 "$T/prog.out")" = right ]
finish

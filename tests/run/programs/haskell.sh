#!/bin/bash
# Haskell: GHC's code has a stack of its own, and calls C, which calls it back. Launched and
# attached.
. "$(dirname "$0")/../lib.sh"
need ghc

cp "$HERE/programs/prog.hs" "$T"
check "the program is compiled" ghc -O1 -threaded -rtsopts -outputdir "$T/objects" -o "$T/prog" "$T/prog.hs"
for mode in '-b 8M' '-p function' '--max-graph-depth 4' '--threshold 10us' '-g stg_*'; do
	# shellcheck disable=SC2086 # an option is two words
	same "$mode" $mode -- "$T/prog"
done
same "every library open" -b 8M -L '*' -- "$T/prog"
nothing_lost "every library open: nothing lost" 100000
same "an exception because the stack may grow no more" -- "$T/prog" +RTS -K1m
same "the same, with a limit of depth" --max-graph-depth 3 -- "$T/prog" +RTS -K1m
strip -o "$T/stripped" "$T/prog"
same "stripped" -- "$T/stripped"

"$BRACE" list -f "$T/prog" --why >"$T/list" 2>&1
grep -c '(entry only: ' "$T/list" >"$T/entries"
grep -E ' (Main|ZCMain|base|stg)_' "$T/list" | grep -vE '\((entry only|not hooked): ' >"$T/followed"
check_that "no return is followed where there is no return address ($(cat "$T/entries") functions)" \
	[ "$(wc -l <"$T/followed")" -eq 0 ]

mkfifo "$T/line"
"$T/prog" on <"$T/line" >"$T/prog.out" 2>"$T/prog.err" &
PID=$!
ON_EXIT+=("kill -KILL $PID")
exec 3>"$T/line"
until_is [ -s "$T/prog.out" ]
for mode in '-b 8M' '-b 8M' '--max-graph-depth 3' '-p function' '-b 8M' '-b 8M'; do
	# shellcheck disable=SC2086 # an option is two words
	check "attached, $mode" "$BRACE" record -p $PID $mode --duration 500ms -o "$T/trace"
	check "attached, $mode: what was recorded" "$BRACE" report "$T/trace"
done
echo >&3
wait $PID
result "it ends as it would have" $? "$T/prog.err"
check_that "it computed the same" [ "$(tail -n 1 "$T/prog.out")" = right ]
finish

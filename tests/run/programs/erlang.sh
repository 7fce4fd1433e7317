#!/bin/bash
# Erlang's emulator, whose JIT makes code that calls it: processes, exceptions, collections.
. "$(dirname "$0")/lib.sh"
need erl erlc
cat >"$T/prog.erl" <<'end'
-module(prog).
-export([main/0]).
fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).
caught(F) -> try F() catch error:E:Stack -> {E, length(Stack) > 0} end.
main() ->
	Self = self(),
	[spawn(fun() -> Self ! fib(N) end) || N <- lists:seq(10, 18)],
	Sum = lists:sum([receive X -> X end || _ <- lists:seq(10, 18)]),
	L = lists:sort([N * 7919 rem 1009 || N <- lists:seq(1, 5000)]),
	erlang:garbage_collect(),
	io:format("~p ~p ~p~n", [Sum, lists:sum(L), caught(fun() -> hd(tl(L -- L)) end)]),
	halt(0).
end
check "the program is compiled" erlc -o "$T" "$T/prog.erl"
for mode in '-b 8M' '-b 8M -L *' '-p function' '--max-graph-depth 4'; do
	set -f
	# shellcheck disable=SC2086 # an option is two words
	same "erl, $mode" $mode -- erl -noshell -pa "$T" -s prog main
	set +f
	nothing_lost "nothing lost, $mode" 1000
done
finish

#!/bin/bash
# The self-checking programs of tests/targets: the same result as untraced, and every count they
# keep themselves equal to the trace's, in every way of recording.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
export TRUTH=$T/truth
LIMIT=60
prepare() { rm -f "$TRUTH"; }

# target NAME OPTIONS... -- PROGRAM ARGS...
target() {
	local name=$1
	shift
	same "$name: same result" "$@"
	counted
}

# The ways to record: as ever, with state kept (another way to follow returns), the function tracer.
STATE='--max-graph-depth 100000000'
tracers() {
	local name=$1
	shift
	# shellcheck disable=SC2086 # an option is two words
	target "$name, with state" $STATE "$@"
	TRACER=function target "$name, function tracer" -p function "$@"
}

# each NAME PROGRAM ARGS...: its own functions, then those of every library. A threshold leaves out
# calls: the result only.
each() {
	local name=$1
	shift
	target "$name" -- "$@"
	if [ "$name" = pcs ]; then
		# Its stacks end where the agent has no room, in 20,200 calls (ROUNDS + AGAIN of
		# pcs.c).
		check_that "$name: nothing lost but where a stack ends" [ "$(summary_number lost)" -le 20200 ]
	else
		nothing_lost "$name: nothing lost"
	fi
	tracers "$name" -- "$@"
	target "$name, all libraries" -L '*' -- "$@"
	tracers "$name, all libraries" -L '*' -- "$@"
	same "$name, with a threshold: same result" --threshold 1us -- "$@"
}

for name in threads forks spawns signals jumps recursion tails arguments registers callbacks contexts cancels \
	exceptions exceptions-libunwind panics callers ifuncs faults pcs overflow twice; do
	[ -x "$FIXTURES/$name" ] || { skip "$name" "not built here (no libunwind, no rustc)"; continue; }
	each $name "$FIXTURES/$name"
done
# An exception thrown by a handler that is not hooked leaves trampolines, too.
if [ -x "$FIXTURES/thrown" ]; then
	each thrown "$FIXTURES/thrown"
	for options in '-l load* -l catches' '-n on_fault' '-t function -l load* -l catches'; do
		set -f
		# shellcheck disable=SC2086 # an option is two words
		same "thrown, $options" $options -- "$FIXTURES/thrown"
		set +f
	done
fi
each loads "$FIXTURES/loads" "$FIXTURES/plugin.so"
export PLUGIN_COUNTS=yes
for options in '' "$STATE" '-p function'; do
	# shellcheck disable=SC2086 # an option is two words
	target "loads and what is loaded${options:+, $options}" -L '*' $options -- "$FIXTURES/loads" "$FIXTURES/plugin.so"
	calls_are inner 120
	calls_are plugin_answer 120
done
unset PLUGIN_COUNTS
# The handler sees the stack end where the program's own would: the same result, though records are
# lost.
for options in '' '-b 128K' '-p function' '--max-graph-depth 3' "$STATE" '--threshold 1us' '-g descends'; do
	# shellcheck disable=SC2086 # an option is two words
	same "the stack ends${options:+, $options}" $options -- "$FIXTURES/stack_ends"
	[ "$options" != '-p function' ] || n=$(summary_number lost)
done
# Of 330,000 calls that are so near: where a sub-buffer ends, not behind it.
check_that "only records that need the slow path are lost ($n)" [ "$n" -gt 0 -a "$n" -lt 50000 ]
# The stack ends under the agent's own frames, in a thread's first record.
target "overflow at its first call" -l last -- "$FIXTURES/overflow" edge
tracers "overflow at its first call" -l last -- "$FIXTURES/overflow" edge
for way in noexcept uncaught second nothing library thread last-word library-last-word handler joinable; do
	target "terminate $way" -- "$FIXTURES/terminate" $way
	tracers "terminate $way, all libraries" -L '*' -- "$FIXTURES/terminate" $way
done
# Threads without libc: exact, because who starts them is seen in the program.
for way in shared zero own process vfork libc storm beside none; do
	target "clone ($way)" -- "$FIXTURES/clones" $way
	tracers "clone ($way), all libraries" -L '*' -- "$FIXTURES/clones" $way
done
# In mode block: where brace gets no turn, so many take all that there is to write to.
for options in '' '-L *' "$STATE" '-p function'; do
	set -f
	# shellcheck disable=SC2086 # an option is two words
	target "10,000 threads${options:+, $options}" --mode block $options -- "$FIXTURES/crowd" 1 10000 3
	set +f
done

# gdb, attached to a program that stands deep in traced calls: the frames that are not the agent's
# are the untraced ones.
frames() { # NAME COMMAND...
	local out=$1 pid
	shift
	rm -f "$T/there"
	"$@" "$FIXTURES/callers" wait "$T/there" >/dev/null 2>&1 &
	pid=$!
	until_is test -e "$T/there"
	timeout 50 gdb -nx -batch -p "$(pgrep -f "^$FIXTURES/callers wait $T/there")" -ex 'set print frame-arguments none' -ex bt >"$out.gdb" 2>&1
	rm -f "$T/there"
	wait $pid
	sed -nE 's/^#[0-9]+ +(0x[0-9a-f]+ in )?(.*)/\2/p' "$out.gdb" | grep -v '^agent_arena ' | sed -n '/^look /,$p' >"$out"
}
if command -v gdb >/dev/null; then
	frames "$T/frames.plain"
	for options in '' "$STATE"; do
		# shellcheck disable=SC2086 # an option is two words
		frames "$T/frames.traced" "$BRACE" record -o "$T/trace" $options --
		diff "$T/frames.plain" "$T/frames.traced" >"$T/differences" && [ "$(grep -c '^down ' "$T/frames.traced")" -eq 13 ]
		result "gdb shows the true frames${options:+, $options}" $? "$T/differences"
	done
fi

# Ways to end: the status or the signal is passed on, the records up to there are in the file.
for way in 'exit 7' 'return 9' '_exit 3' 'quick 4' 'thread 5' 'abort 0' 'signal 9' 'signal 15' \
	'signal 2' 'fault 16'; do
	# shellcheck disable=SC2086 # a way is two words
	target "ends by $way" -- "$FIXTURES/ends" $way
done
# shellcheck disable=SC2016 # for the shell inside
sh -c '"$0" record -o "$1" -- "$2" signal 9 >/dev/null 2>&1; kill -l $?' "$BRACE" "$T/trace" "$FIXTURES/ends" >"$T/check.log" 2>&1
grep -qx KILL "$T/check.log"
result "brace itself ends by the program's signal" $? "$T/check.log"
prepare() { :; }
same "an uncaught exception aborts" -- "$FIXTURES/exceptions" uncaught
finish

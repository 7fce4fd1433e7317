#!/bin/bash
# Stacks through code that programs make (made): the names that they tell profilers, by map files and
# jitdump; node's own functions, against the stack that node itself shows; files that brace must not
# take for the program's.
. "$(dirname "$0")/lib.sh"
made=$FIXTURES/made
MADE=()
ON_EXIT+=('rm -f "${MADE[@]}"')

# Each line is a stack, from its innermost call to the last, with blanks between these.
stacks_of() { sed -n '/<stack trace>/{s/.*/stack/;p};/^ => /p' "$1" | sed 's/^ => //' | tr '\n' '\t' | sed 's/stack\t/\n/g'; }
is_seen() { stacks_of "$T/lines" | grep -qE -- "$1"; }

# stacks HOW PATTERN OPTION...: those of its getppid, until one has the pattern, in $T/lines; what it made in $T/truth.
mkfifo "$T/hold"
stacks() {
	local brace seen
	: >"$T/lines"
	(cd "$T" && exec timeout -k 5 "$LIMIT" "$BRACE" graph --mode block "${@:3}" -O sym-addr -O sym-offset -e syscalls:sys_enter_getppid \
		-R stacktrace -o "$T/lines" -- "${PROGRAM[@]}" "$1") <"$T/hold" >"$T/truth" 2>"$T/err" &
	brace=$!
	exec {HOLD}>"$T/hold"
	until_is is_seen "$2"
	seen=$?
	exec {HOLD}>&-
	wait "$brace"
	MADE+=("/tmp/perf-$(sed -n 's/^pid //p' "$T/truth").map"{,.other})
	return $seen
}
PROGRAM=("$made")
whole='asks_parent.*made.*call\+.*main\+'
# The two calls, under these names, at the addresses that the program told.
two_calls() {
	local inner outer
	inner=$(sed -n 's/^made_inner //p' "$T/truth")
	outer=$(sed -n 's/^made_outer //p' "$T/truth")
	stacks_of "$T/lines" | grep -E "$whole" | tail -n 1 | tr '\t' '\n' | sed -n '/^asks_parent/,/^call/p' | sed '1d;$d' >"$T/between"
	printf '%s+0x6/0x8 <%s>\n%s+0x10/0x12 <%s>\n' "$1" "$inner" "$2" "$outer" | cmp -s - "$T/between"
}
for how in map dump; do
	for tracer in nop 'function_graph -l call'; do
		# shellcheck disable=SC2086 # two options
		stacks $how "$whole" -t $tracer
		two_calls made_inner 'made outer'
		result "a stack through what is told by $how, tracer ${tracer%% *}" $? "$T/lines"
	done
done
stacks damaged "$whole" -t nop
two_calls 'made\033]52;c;ZXZpbA==\007inner' 'made\033[2J\302\233outer' && ! grep -q $'\033' "$T/lines"
result "lines that are none, and names that a terminal would obey" $? "$T/lines"
stacks all "$whole" -t nop
two_calls made_inner 'made outer' && ! grep -q everything "$T/lines"
result "a line that claims all of memory renames no function of a file" $? "$T/lines"
for how in link hardlink fifo; do
	stacks $how 'asks_parent.*0x[0-9a-f]+ <' -t nop
	grep -q '^ => asks_parent' "$T/lines" && ! grep -q '^ => made' "$T/lines"
	result "a map that is a $how is not read" $? "$T/lines"
done
if [ "$(id -u)" -eq 0 ]; then # only root can make such a file
	cat >"$T/others.sh" <<-'P'
		echo "1000 ffffffffffff others" >/tmp/perf-$$.map
		chown 12345 /tmp/perf-$$.map
		exec "$@"
	P
	PROGRAM=(bash "$T/others.sh" "$made")
	stacks dump "$whole" -t nop
	two_calls made_inner 'made outer' && ! grep -q '^ => others' "$T/lines"
	result "another user's file is not read" $? "$T/lines"
	PROGRAM=("$made")
fi
(cd "$T" && timeout -k 5 "$LIMIT" "$BRACE" hist 'sys_enter_getppid common_stacktrace.stacktrace' -- "$made" map) >"$T/hist" 2>"$T/err" </dev/null
MADE+=("/tmp/perf-$(sed -n 's/^pid //p' "$T/hist").map")
grep -q 'made_inner' "$T/hist" && grep -q 'made outer' "$T/hist"
result "in a histogram's keys" $? "$T/hist"

# --- node: the stack that it shows itself, of functions that it interprets and compiles
if command -v node >"$T/node"; then
	cat >"$T/program.js" <<-'P'
		const fs = require('fs');
		function innermost(n) { if (n == 299) fs.writeSync(2, new Error().stack + '\n'); fs.writeSync(1, 'x'); return n; }
		function between(n) { return innermost(n) + 1; }
		function outermost() { let s = 0; for (let i = 0; i < 300; i++) s += between(i); return s; }
		outermost();
	P
	(cd "$T" && timeout -k 5 "$LIMIT" "$BRACE" record --mode block -t nop -e syscalls:sys_enter_write -R 'stacktrace if count == 1' \
		-o "$T/trace" -- node --perf-basic-prof --interpreted-frames-native-stack program.js) >"$T/out" 2>"$T/node.err" </dev/null
	"$BRACE" replay --no-pager "$T/trace" >"$T/lines" 2>"$T/err"
	"$BRACE" info "$T/trace" >"$T/info"
	MADE+=("/tmp/perf-$(sed -n 's/^program *\([0-9]*\) node.*/\1/p' "$T/info").map")
	sed -n 's/^    at \([a-z]*most\|between\) .*/\1/p' "$T/node.err" >"$T/own"
	stacks_of "$T/lines" | tail -n 1 | tr '\t' '\n' | grep . >"$T/last"
	sed -n 's/.*[*^~]\(innermost\|between\|outermost\) .*/\1/p' "$T/last" | cmp -s "$T/own" - && [ "$(wc -l <"$T/own")" -eq 3 ] &&
		tail -n 1 "$T/last" | grep -q '^_start'
	result "node's functions: as node's own stack, to its beginning" $? "$T/last"
	[ "$(grep -cE '^module .*/tmp/perf-[0-9]+\.map, [0-9]+ functions$' "$T/info")" -eq 1 ]
	result "... what it made is one line of info" $? "$T/info"
fi
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
# Conditions on arguments (`f if n > 4` in set_ftrace_filter) in several instances at once: each shows its own calls, which are those that
# the same condition selects alone, in a recording of the same program. The functions are called directly, by jumps and in recursion.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/answers-lib.sh"
need gcc
cat >"$T/several.c" <<'END'
#include <stdio.h>
#include <string.h>
__attribute__((noipa)) int leaf(int n) { return n + 1; }
__attribute__((noipa)) int work(int n, const char *name) { return n % 7 ? leaf(n) : (int)strlen(name); }
__attribute__((noipa)) int tailed(int n) { return n & 1 ? work(n, "tail") : n; }
__attribute__((noipa)) int deep(int n) { return n ? deep(n - 1) + leaf(n) : 0; }
int main(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && *line != 'q') {
		for (int i = 0; i < 200; i++) {
			char name[8];

			snprintf(name, sizeof(name), "%c%d", "ab"[i & 1], i);
			work(i, name);
			tailed(i);
			deep(i % 6);
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
END
A=$T/several
gcc -g -O2 -o "$A" "$T/several.c" 2>"$T/err" || not_ok "gcc" "$T/err"
D=$T/tree
mkdir "$D"

# calls_of: "DEPTH name(arguments)" lines, of ends the name alone
calls_of() { sed -nE 's:^[^|#]*\|  ( *)([a-z]+\([^)]*\)|\}).*$:\1\2:p' "$1"; }

# alone FILE OPTION...: what the conditions select in a recording of their own
alone() {
	echo 1 | "$BRACE" record -q --mode block -o "$T/trace" "${@:2}" -- "$A" >/dev/null 2>"$T/err"
	"$BRACE" replay "$T/trace" >"$T/graph" && calls_of "$T/graph" >"$1"
}

# instance DIR TRACER LINE...: traces the functions, with arguments
instance() {
	local dir=$1 tracer=$2
	shift 2
	[ -d "$dir" ] || mkdir "$dir"
	printf '%s\n' "$@" >"$dir/set_ftrace_filter" && echo "$tracer" >"$dir/current_tracer" && echo 1 >"$dir/options/funcgraph-args" &&
		echo 1 >"$dir/options/func-args"
}

# shows NAME DIR EXPECTED: the instance's calls
shows() {
	calls_of "$2/trace" >"$T/calls"
	[ -s "$3" ] && diff "$3" "$T/calls" >"$T/differences"
	result "$1" $? "$T/differences"
}

FIRST=('work if n > 100' 'leaf if n < 50' 'tailed')
SECOND=('work if name ~ "b*"' 'deep if n == 3' 'leaf')
alone "$T/first" --args "${FIRST[@]/#/-l}"
alone "$T/second" --args "${SECOND[@]/#/-l}"

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")

instance "$D" function_graph "${FIRST[@]}" && instance "$D/instances/two" function_graph "${SECOND[@]}"
result "conditions in two instances" $? "$D/error_log"
tell 1
shows "the first one's calls" "$D" "$T/first"
shows "the second one's" "$D/instances/two" "$T/second"
check_that "the conditions are listed" grep -qx 'work if name ~ "b\*"' "$D/instances/two/set_ftrace_filter"

# An instance without a condition has all calls, and without the option no arguments.
echo >"$D/instances/two/trace"
instance "$D/instances/two" function_graph work leaf
echo 0 >"$D/instances/two/options/funcgraph-args"
echo >"$D/trace"
tell 1
shows "beside one without conditions" "$D" "$T/first"
[ "$(grep -c 'work()' "$D/instances/two/trace")" = 300 ] && [ "$(grep -c 'leaf()' "$D/instances/two/trace")" -gt 500 ]
result "which has all calls" $? "$D/instances/two/trace"

# Alone again, the programs apply the condition.
echo nop >"$D/instances/two/current_tracer"
echo >"$D/trace"
tell 1
shows "alone again" "$D" "$T/first"

# With the other tracer.
instance "$D/instances/two" function 'work if n == 8' 'leaf if n == 8'
echo >"$D/trace"
echo >"$D/instances/two/trace"
tell 1
sed -nE 's/^[^#].*: ([a-z]+\(.*\)) <-.*$/\1/p' "$D/instances/two/trace" >"$T/calls"
[ "$(tr '\n' ';' <"$T/calls")" = 'work(n=8, name="a8");leaf(n=8);' ]
result "the function tracer's" $? "$T/calls"
shows "beside the graph" "$D" "$T/first"

# Triggers look at the instance's own records.
echo nop >"$D/instances/two/current_tracer"
echo 'deep:traceoff' >>"$D/set_ftrace_filter"
echo >"$D/trace"
tell 1
grep -q 'work(n=' "$D/trace" || [ "$(cat "$D/tracing_on")" = 0 ]
result "beside a command on a function" $? "$D/trace"
echo '!deep:traceoff' >>"$D/set_ftrace_filter"
echo 1 >"$D/tracing_on"

# What cannot be judged is refused.
instance "$D" function_graph leaf && instance "$D/instances/two" function_graph leaf
echo 'work if nope > 3' >"$D/instances/two/set_ftrace_filter" 2>"$T/err"
[ "$(cat "$D/instances/two/set_ftrace_filter")" = leaf ] &&
	grep -q 'set_ftrace_filter: error: work has no such argument that can be compared, it has n, name' "$D/instances/two/error_log"
result "a name that the function does not have is refused" $? "$D/instances/two/error_log"
instance "$D" function_graph 'work if n > 100'
! echo 1 >"$D/function_profile_enabled" 2>"$T/err" && grep -q 'busy' "$T/err"
result "the profile is refused" $? "$T/err" "$D/error_log"

# The programs would apply a condition in set_graph_function to the calls of all instances, whatever the top's tracer is.
instance "$D" function_graph leaf
echo nop >"$D/current_tracer"
instance "$D/instances/two" function_graph 'work if n > 100'
mkdir "$D/instances/three"
instance "$D/instances/three" function_graph leaf
echo 'work if n > 50' >"$D/set_graph_function" 2>"$T/err" # a list is taken when its file is closed: echo does not see that it is refused
! grep -q if "$D/set_graph_function" &&
	grep -q 'in set_graph_function cannot stand where functions are traced for several purposes' "$D/error_log"
result "a condition in set_graph_function beside two instances is refused" $? "$T/err" "$D/error_log"
echo nop >"$D/instances/three/current_tracer"
echo 'work if n > 50' >"$D/set_graph_function" && ! echo function_graph 2>"$T/err" >"$D/instances/three/current_tracer" &&
	grep -q 'busy' "$T/err" && [ "$(cat "$D/instances/three/current_tracer")" = nop ]
result "and a second instance beside one" $? "$T/err" "$D/error_log"
echo >"$D/set_graph_function"
end_program
check_that "the program ends by itself" [ "$STATUS" = 0 ]
finish

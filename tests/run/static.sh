#!/bin/bash
# Static programs, which no loader brings the agent into: glibc's (also position independent),
# musl's, Go's, one without a libc, busybox. Results as untraced, counts as the programs keep them.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
export TRUTH=$T/truth
export LIMIT=60

# target NAME OPTIONS... -- PROGRAM ARGS...
target() {
	local name=$1 function count
	shift
	rm -f "$TRUTH"
	prepare() { rm -f "$TRUTH"; }
	same "$name: same result" "$@"
	[ -s "$TRUTH" ] || not_ok "$name: writes its counts"
	while read -r function count; do
		calls_are "$function" "$count"
	done <"$TRUTH"
	nothing_lost "$name: nothing lost"
}

for name in threads forks signals jumps recursion tails arguments callbacks contexts cancels; do
	target "$name, static" -- "$FIXTURES/$name-static"
done
for name in threads jumps cancels; do
	target "$name, static-pie" -- "$FIXTURES/$name-static-pie"
done
target "C++ exceptions, static" -- "$FIXTURES/exceptions-static"

# --- musl
for name in threads forks signals jumps recursion arguments cancels; do
	if [ -x "$FIXTURES/$name-musl" ]; then
		target "$name, musl" -- "$FIXTURES/$name-musl"
	else
		skip "$name, musl" "musl-gcc is not installed"
	fi
done

if [ -x "$FIXTURES/threads-musl-dynamic" ]; then
	target "threads, with musl's loader" -- "$FIXTURES/threads-musl-dynamic"
else
	skip "threads, with musl's loader" "musl-gcc is not installed"
fi

# --- stripped: names are gone, results are not
for name in threads-static jumps-static-pie cancels-static exceptions-static threads-musl bare-static; do
	[ -x "$FIXTURES/$name" ] || continue
	strip -o "$T/$name" "$FIXTURES/$name"
	same "$name, stripped: same result" -- "$T/$name"
	nothing_lost "$name, stripped: nothing lost"
done
prepare() { :; }

# --- Go: entries; a call that makes its stack grow, or meets a wish for its processor, begins twice: once more behind each morestack 
if [ -x "$FIXTURES/goroutines" ]; then
	for options in "" "-t function"; do
		# shellcheck disable=SC2086 # words
		same "Go${options:+ with }$options: same result" $options -- "$FIXTURES/goroutines"
		nothing_lost "Go${options:+ with }$options: nothing lost" 100000
	done
	workers=$(json_calls main.worker)
	[ "$workers" -ge 100 ] && [ "$workers" -le $((100 + $(json_calls runtime.morestack))) ]
	result "main.worker was called 100 times, and begun $((workers - 100)) times more" $? "$T/summary"
	[ "$(json_calls main.deep)" -ge 105050 ]
	result "every call of main.deep is there" $? "$T/summary"
else
	skip "Go" "go is not installed"
fi

# --- busybox, stripped by Debian
if command -v busybox >/dev/null && ! readelf -l "$(command -v busybox)" | grep -q INTERP; then
	same "busybox: a script" -- busybox sh "$WORK/static.sh"
	nothing_lost "busybox: nothing lost" 10000
	printf '#!%s sh\n. %s\n' "$(command -v busybox)" "$WORK/static.sh" >"$T/script"
	chmod +x "$T/script"
	same "a script whose interpreter is static" -- "$T/script"
	nothing_lost "a script whose interpreter is static: nothing lost" 10000
else
	skip "busybox" "no static busybox is installed"
fi

# --- what it executes is traced on, or named
programs() { "$BRACE" info "$T/trace" | grep -c '^program'; }

says() { # NAME WORDS
	grep -qE -- "$2" "$T/summary"
	result "$1" $? "$T/summary"
}
for way in execve fexecve execveat vfork spawn system popen syscall; do
	target "exec by $way" -- "$FIXTURES/executes-static" $way /usr/bin/env
	wanted=2
	case $way in system | popen) wanted=3 ;; esac
	[ "$(programs)" -eq $wanted ]
	status=$?
	result "exec by $way: $(programs) programs traced" $status "$T/summary"
done
strip -o "$T/executes-static" "$FIXTURES/executes-static"
prepare() { :; }
same "exec by spawn, stripped" -- "$T/executes-static" spawn /usr/bin/env
check_that "exec by spawn, stripped: 2 programs traced" [ "$(programs)" -eq 2 ]
same "exec of a static program" -- "$FIXTURES/executes-static" vfork "$FIXTURES/shapes-static"
says "exec of a static program: said" '1 program ran untraced: 1 static \(shapes-static\)'
same "an exec that fails" -- "$FIXTURES/executes-static" vfork /nowhere
if [ -x "$FIXTURES/threads-musl-dynamic" ]; then
	same "exec of a program with musl's loader" -- sh -c "'$FIXTURES/threads-musl-dynamic'; true"
	says "exec of a program with musl's loader: said" '1 with another C library \(threads-musl-dyn'
fi

# --- filters, limits
for way in no-mprotect questions strict prctl; do
	same "a filter ($way)" -l step -- "$FIXTURES/filtered-static" $way
done
says "a filter: brace says why" "stopped recording: its seccomp filter forbids rt_sigprocmask"
for way in address-space locked descriptors; do
	target "its $way" -l step -- "$FIXTURES/worlds-static" $way
done

# --- where ptrace is forbidden
run_in "$T/traced" "$FIXTURES/filtered" no-ptrace "$BRACE" record -- "$FIXTURES/shapes-static"
split_summary
says "without ptrace: refused, with the word" '^brace: .*needs ptrace'
check_that "without ptrace: brace's own status" [ "$(cat "$T/traced.status")" -eq 125 ]
check_that "without ptrace: nothing is left behind" [ -z "$(ls -A "$RUN_DIR")" ]

# --- before main, and up to the end
record -- "$FIXTURES/recursion-static"
"$BRACE" replay "$T/trace" >"$T/replay" 2>&1
grep -q ' main() {' "$T/replay"
result "main is in the trace of a static program" $? "$T/replay"
[ "$(json_calls exit)" -eq 1 ]
result "so is exit" $? "$T/replay"

# --- no libc, no thread pointer
for way in static static-pie; do
	same "no libc, $way: same result" -- "$FIXTURES/bare-$way"
	calls_are work 1000
	calls_are leaf 2000
	calls_are longjmp 1000
	calls_are _start 1
	nothing_lost "no libc, $way: nothing lost" 4001
	same "no libc, $way: with a depth" --max-graph-depth 1 -- "$FIXTURES/bare-$way"
	calls_are leaf 0
done

# --- every way of tracing
for options in "-t function" "--max-graph-depth 4" "-g recursive" "--threshold 1us" "--mode overwrite" \
	"-L *" "-l recur* -n leaf"; do
	set -f
	# shellcheck disable=SC2086 # words
	same "shapes with $options: same result" $options -- "$FIXTURES/shapes-static"
	set +f
done

# --- ends
for name in ends-static ends-static-pie ends-musl; do
	[ -x "$FIXTURES/$name" ] || continue
	for way in 'exit 7' '_exit 3' 'thread 5' 'abort 0' 'signal 9' 'signal 15' 'fault 16'; do
		# shellcheck disable=SC2086 # a way is two words
		target "$name by $way" -- "$FIXTURES/$name" $way
	done
done
finish

#!/bin/bash
# Programs that change their own world: each computes the same, is traced as far as can be, and
# where it cannot be, brace says so.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
export TRUTH=$T/truth
LIMIT=60
prepare() { rm -f "$TRUTH"; }

target() { # NAME OPTIONS... -- PROGRAM ARGS...
	local name=$1
	shift
	same "$name: same result" "$@"
	counted
}

says() { # NAME WORDS: brace's closing words have a line with these
	grep -qE -- "$2" "$T/summary"
	result "$1" $? "$T/summary"
}

programs() { "$BRACE" info "$T/trace" | grep -c '^program'; }

# --- seccomp
for way in no-pages no-mprotect no-futex no-prctl no-socket questions trap; do
	target "a filter ($way)" -l step -- "$FIXTURES/filtered" $way
	nothing_lost "a filter ($way): nothing lost"
done
# No signals can be blocked: what is not recorded any more is counted. 30,000 steps before, 30,000
# after.
for way in strict prctl seccomp twice; do
	same "a filter ($way): same result" -l step -- "$FIXTURES/filtered" $way
	says "a filter ($way): brace says why" "filtered\): stopped recording: its seccomp filter forbids rt_sigprocmask"
	records=$("$BRACE" info "$T/trace" | awk '$1 == "records" { print $2 }')
	[ $((records + $(summary_number lost))) -eq 120000 ]
	status=$?
	result "a filter ($way): kept $records + lost $(summary_number lost) = 120000 produced" $status "$T/summary"
done
# Installed by an instruction of the program's own.
for way in by-hand by-hand-threads; do
	same "a filter ($way): same result" -l step -- "$FIXTURES/filtered" $way
	says "a filter ($way): brace says why" "filtered\): stopped recording: its seccomp filter forbids rt_sigprocmask"
	same "a filter ($way), only events" -t nop -e 'syscalls:*' -- "$FIXTURES/filtered" $way
done
for mode in '-p function' '--max-graph-depth 9' '--threshold 1ns'; do
	# shellcheck disable=SC2086 # an option is two words
	same "a filter, $mode: same result" $mode -- "$FIXTURES/filtered" prctl
done
# Installed by an instruction of the program's own, which the system call's event sees.
for events in 'syscalls:*' syscalls:sys_enter_access; do
	same "a filter that forbids copies ($events): same result" -l step -e "$events" -- "$FIXTURES/filtered" no-copies
	[ "$("$BRACE" replay --no-pager "$T/trace" | grep -c 'sys_enter_access: filename: 0x[0-9a-f]* "", ')" = 100 ]
	result "a filter that forbids copies ($events): the calls without them" $? "$T/summary"
done
for way in copies-threads copies-hand-threads; do
	same "a filter over threads whose arguments are copied ($way): same result" -t nop -e syscalls:sys_enter_access -- \
		"$FIXTURES/filtered" $way
done
for way in strict no-prctl threads children executes; do
	same "a filter ($way), and its events: same result" -l step -e 'task:*' -e 'sched:*' -- "$FIXTURES/filtered" $way
done
same "a filter over threads that record: same result" -l step -- "$FIXTURES/filtered" threads
same "a filter in a child: same result" -l step -- "$FIXTURES/filtered" children
says "a filter in a child: brace says so" "stopped recording"
same "exec under a filter: same result" -- "$FIXTURES/filtered" executes
says "exec under a filter: brace says so" "1 program ran untraced: 1 under a seccomp filter"
same "every library open, under a filter" -L '*' -- "$FIXTURES/filtered" seccomp

# --- root, user, namespaces, descriptors, limits, memory
for way in root user dumpable namespaces descriptors daemon limits address-space locked; do
	if [ "$way" = root ] || [ "$way" = user ] && [ "$(id -u)" -ne 0 ]; then
		skip "its $way" "only root may change it"
		continue
	fi
	if [ "$way" = namespaces ] && ! unshare -U true 2>/dev/null; then
		skip "its $way" "none may be made here"
		continue
	fi
	target "its $way" -l step -- "$FIXTURES/worlds" $way
	nothing_lost "its $way: nothing lost"
done
# shellcheck disable=SC2016 # for the shell inside
same "a shell's ulimit -v" -- bash -c 'ulimit -v 300000; ulimit -v; x=$(seq 1 50000); echo ${#x}; bash -c "ulimit -v"'
check_that "a shell's ulimit -v: all were traced" [ "$(programs)" -eq 3 ]
# shellcheck disable=SC2016
same "a shell's ulimit -f" -- bash -c 'ulimit -f 1; ls -d /'

# --- brace's own limit for files, which its shared memory meets too
before=$(ulimit -Sf)
ulimit -Sf 300000
# shellcheck disable=SC2016 # for the shell inside
same "under ulimit -f: the program has the limit, and meets it, as untraced" -- bash -c 'ulimit -f; grep -E "Sig(Ign|Blk|Cgt)" /proc/self/status
	exec 2>/dev/null; dd if=/dev/zero of=big bs=1 count=1 seek=400M; echo $?'
nothing_lost "under ulimit -f: nothing lost"
ulimit -Sf 100
record -- true
says "under a small ulimit -f: brace says what it needs" \
	'the limit for the size of files \(ulimit -f\) is 100 KiB, and brace needs [0-9]+ KiB of shared memory: raise it'
check_that "under a small ulimit -f: brace's own status" [ "$(cat "$T/traced.status")" -eq 125 ]
ulimit -Sf 4000
record -b 64K --mode block -- bash -c 'for ((i = 0; i < 100000; i++)); do :; done; echo done; exit 7'
says "a trace file that meets ulimit -f: brace says so" 'cannot write trace file .*: File too large'
check_that "a trace file that meets ulimit -f: the program computes all the same" grep -qx done "$T/traced.out"
check_that "a trace file that meets ulimit -f: it ends as untraced" [ "$(cat "$T/traced.status")" -eq 7 ]
says "a trace file that meets ulimit -f: how much is lost" 'File too large: [0-9,]+ of [0-9,]+ records are lost'
ulimit -Sf "$before"
"$BRACE" info "$T/trace" >"$T/info" 2>"$T/err" && [ ! -s "$T/err" ] && grep -q 'could not take all: File too large' "$T/info"
result "a trace file that meets ulimit -f: has an end that says so" $? "$T/info"
same "a shell's ulimit -n" -- bash -c 'ulimit -n 5; ls -d /'

# --- debuggers' means, code that is made and changed
target "breakpoints and steps" -- "$FIXTURES/traps"
target "code that is made" -- "$FIXTURES/jit"
target "code that is made, all libraries" -L '*' -- "$FIXTURES/jit"
target "more call sites than there is room for" -- "$FIXTURES/jit" many
target "its own text" -- "$FIXTURES/jit" text

# --- ways to execute
for way in execve execv empty execveat fexecve path syscall syscallat vfork spawn system popen; do
	target "exec by $way" -- "$FIXTURES/executes" $way /usr/bin/env
	wanted=2
	case $way in system | popen) wanted=3 ;; esac
	[ "$(programs)" -eq $wanted ]
	status=$?
	result "exec by $way: $(programs) programs traced" $status "$T/summary"
	same "exec by $way of a static program" -- "$FIXTURES/executes" $way "$FIXTURES/shapes-static"
	says "exec by $way of a static program: brace says so" '1 program ran untraced: 1 static \(shapes-static\)'
done

# --- programs that cannot be traced
printf '#!%s\n' "$FIXTURES/shapes-static" >"$T/script" && chmod 755 "$T/script"
same "a script of a static interpreter" -- sh -c "'$T/script'; '$T/script'; '$FIXTURES/shapes-static'; true"
says "a script of a static interpreter: said" '3 programs ran untraced: 3 static \(shapes-static\)'
"$BRACE" info --json "$T/trace" | grep -q '"type":"note","kind":"static","program":"shapes-static",.*"count":3'
result "brace info --json has it" $? "$T/summary"
printf '\177ELF\001\001\001' >"$T/bits32" && head -c 100 /dev/zero >>"$T/bits32" && chmod 755 "$T/bits32"
same "an exec that fails" -- sh -c "'$T/bits32' 2>/dev/null; true"
! grep -q 'ran untraced' "$T/summary"
result "an exec that fails: nothing is said" $? "$T/summary"
if [ "$(id -u)" -eq 0 ]; then
	cp /usr/bin/env "$T/setuid" && chown 65534 "$T/setuid" && chmod 4755 "$T/setuid" && chmod 755 "$T"
	same "a set-uid child" -- sh -c "'$T/setuid' id -un; true"
	says "a set-uid child: said" '1 set-uid \(setuid\)'
	same "a child of another user" -- su -s /bin/sh nobody -c 'id -u; env | wc -l'
	check_that "a child of another user: all were traced" [ "$(programs)" -ge 3 ]
fi
if unshare -rn true 2>/dev/null; then
	same "another network namespace" -- unshare -rn sh -c 'echo inside; ls /'
	says "another network namespace: said" '1 in another network namespace \(sh\)'
	same "another pid namespace" -- unshare -rpf sh -c 'echo $$'
	check_that "another pid namespace: all were traced" [ "$(programs)" -ge 2 ]
fi

# --- real sandboxes and wrappers, where they are installed
real() { # PROGRAM ARGS...
	if command -v "$1" >/dev/null; then
		same "$*" -- "$@"
	else
		skip "$*" "$1 is not installed"
	fi
}
real file /bin/sh /etc/passwd "$FIXTURES/shapes-static"
real man --pager=cat ls
real bwrap --ro-bind / / --unshare-all --die-with-parent id -u
real strace -f -o /dev/null sh -c 'ls /; true'
real valgrind -q ls /
real fakeroot id -u
real eatmydata ls /
# Without -f the clock's seconds begin at a fraction of one: a program that runs across a second prints another date.
real faketime -f '2020-01-01 00:00:00' date -u
real faketime -f '@2020-01-01 00:00:00' date -u +%Y
real stdbuf -oL ls /
real openssl version
real luajit -e 'local n = 0 for i = 1, 2000 do local ok = pcall(error, "x") if not ok then n = n + 1 end end print(n)'
real luajit -e 'local t = {} for i = 1, 500 do t[#t + 1] = loadstring("return function(n) local s = 0 for i = 1, n do s = s + i % " .. i .. " end return s end")()(200) end print(#t, t[100])'
real gdb -nx -batch -ex 'set print frame-arguments none' -ex 'break main' -ex run -ex bt -ex 'kill inferiors 1' "$FIXTURES/filtered"
if [ -e /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 ]; then
	export LD_PRELOAD=libjemalloc.so.2
	same "jemalloc preloaded" -- bash -c 'echo $LD_PRELOAD; ls /'
	same "jemalloc preloaded, every library" -L '*' -- ls /
	unset LD_PRELOAD
fi
for sanitizer in address undefined thread leak; do
	[ -x "$FIXTURES/sanitized-$sanitizer" ] || continue
	same "built with -fsanitize=$sanitizer" -- "$FIXTURES/sanitized-$sanitizer"
	same "built with -fsanitize=$sanitizer, every library" -L '*' -- "$FIXTURES/sanitized-$sanitizer"
done
finish

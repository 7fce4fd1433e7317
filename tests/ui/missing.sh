#!/bin/bash
# Functions that are named but not there: said before the program runs, with the right status.
. "$(dirname "$0")/../run/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
: "${FIXTURE:?is a program without debug information}" "${FIXTURE_G:?is one with}"
program_output=$("$FIXTURE_G")
SHORT_OUTPUT=$("$SHORT")

# refuses NAME WORD ARGUMENT...: record ends with 125 and says WORD; the program did not run.
refuses() {
	local name=$1 word=$2
	shift 2
	rm -f "$T/trace"
	timeout "$LIMIT" "$BRACE" record -o "$T/trace" "$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 125 ] && grep -q -- "$word" "$T/err" && [ ! -s "$T/out" ] && [ ! -e "$T/trace" ]
	result "$name" $? "$T/err"
}

# warns NAME WORD ARGUMENT...: a warning with WORD, then the program runs as ever.
warns() {
	local name=$1 word=$2
	shift 2
	rm -f "$T/trace"
	timeout "$LIMIT" "$BRACE" record -o "$T/trace" "$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 0 ] && grep -q -- "^brace: warning: .*$word" "$T/err" &&
		[ "$(cat "$T/out")" = "$program_output" ] && [ -s "$T/trace" ]
	result "$name" $? "$T/err"
}

quiet() { # NAME ARGUMENT...: runs without a warning
	local name=$1
	shift
	timeout "$LIMIT" "$BRACE" record -q -o "$T/trace" "$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq 0 ] && [ ! -s "$T/err" ]
	result "$name" $? "$T/err"
}

refuses "-l of a function that is inlined everywhere" '`everywhere` is inlined: 3 copies' -l everywhere -- "$FIXTURE_G"
grep -q 'trace the callers: -l ' "$T/err" && grep -q -- '-l alpha' "$T/err" &&
	grep -q -- '-l beta' "$T/err" && grep -q -- '-l gamma_' "$T/err"
result "... offers the callers" $? "$T/err"
refuses "-g of it" '`everywhere` is inlined: 3 copies' -g everywhere -- "$FIXTURE_G"
warns "another pattern matches" '`everywhere` is inlined: 3 copies' -l everywhere -l alpha -- "$FIXTURE_G"
warns "a function with a body and a copy" '`somewhere` is inlined: 1 copy' -l somewhere -- "$FIXTURE_G"
refuses "without debug information" 'cannot know whether it was inlined' -l everywhere -- "$FIXTURE"
refuses "a name that exists nowhere" 'nearest names: not_inlined' -l not_inlind -- "$FIXTURE_G"
refuses "a name of nothing of a package" "install ${PYTHON##*/}-minimal-dbgsym" -l nonesuch -- "$PYTHON" -c ''
refuses "a program found in PATH" 'no function `nonesuch`' -l nonesuch -- sh -c :
printf '#!%s\n' "$FIXTURE_G" >"$T/script" && chmod +x "$T/script"
refuses "the interpreter of a script" '`everywhere` is inlined' -l everywhere -- "$T/script"
warns "a library that is not linked" 'links no library libnone' -L 'libnone.so*' -- "$FIXTURE_G"
quiet "functions that are there" -l alpha -l beta -- "$FIXTURE_G"
warns "a glob that matches nothing" 'no function of .* matches `nonesuch\*`' -l 'alph*' -l 'nonesuch*' -- "$FIXTURE_G"
refuses "nothing but globs that match nothing" 'no function of .* matches `nonesuch\*`' -l 'nonesuch*' -- "$FIXTURE_G"
quiet "a glob that matches" -l 'alph*' -- "$FIXTURE_G"
quiet "a glob of a library that is opened" -L libc.so.6 -l 'qsor*' -l alpha -- "$FIXTURE_G"
quiet "a function of a library that is opened" -L libc.so.6 -l qsort -l alpha -- "$FIXTURE_G"
quiet "a call into a library" -l printf -l alpha -- "$FIXTURE_G"
nameless=$("$BRACE" list -f "$PYTHON" "${PYTHON##*/}+0x*" 2>"$T/err" | head -n 1)
quiet "a function without a symbol ($nameless)" -l "$nameless" -- "$PYTHON" -c ''
quiet "all libraries" -L '*' -- "$FIXTURE_G"
quiet "a library by any of its names" -L libc -L libc.so -L 'libc.*' -- "$FIXTURE_G"
quiet "a removal" -l 'a* !alfa' -- "$FIXTURE_G"

# --- what is there, and cannot be hooked ----------------------------------------------------
refuses "-l of a function that is too short" '`tiny_one` cannot be hooked: too-short (shorter' -l tiny_one -- "$SHORT"
refuses "-g of it" '`tiny_one` cannot be hooked: too-short (shorter' -g tiny_one -- "$SHORT"
refuses "a glob of such" 'none of the 2 functions that `tiny_\*` means can be hooked' -l 'tiny_*' -- "$SHORT"
refuses "such a graph function beside filters" 'cannot be hooked: too-short' -l large -g tiny_one -- "$SHORT"
program_output=$SHORT_OUTPUT
warns "beside one that can be" '`tiny_one` cannot be hooked: too-short' -l tiny_one -l large -- "$SHORT"
quiet "a graph function of which the filters leave calls" -l large -g 'l*' -- "$SHORT"

# --- what is in a library, or left out --------------------------------------------------------
refuses "a function @ a library that is not opened" 'libc.so.6 is not opened: add -L libc.so.6' -l malloc@libc -- "$SHORT"
refuses "a function of such a library" '`qsort` is a function of libc.so.6, which is not opened: add -L' -l qsort -- "$SHORT"
warns "beside one of the program" 'libc.so.6 is not opened' -l malloc@libc -l large -- "$SHORT"
warns "-n of what is not there" '-n leaves out nothing: .*`nonesuch`' -n nonesuch -- "$SHORT"
warns "-n of a glob that matches nothing" '-n leaves out nothing: .*`none\*`' -n 'none*' -- "$SHORT"
quiet "-n of what is there, be it too short" -n tiny_one -n 'lar*' -- "$SHORT"

# --- events ---------------------------------------------------------------------------------------
refuses "an event without its system, misspelt" 'did you mean sys_enter_read?' -e sys_enter_raed -- "$SHORT"
refuses "a word that is no event" 'no event has the name bogus' -e bogus -- "$SHORT"
warns "a glob of events that matches none" 'no event that the program has now matches sdt_\*:\*' -e 'sdt_*:*' -- "$SHORT"
quiet "events by their name alone, or their system's" -e sched_process_exit -e task -- "$SHORT"
warns "-L with events alone" '-L opens libraries for functions, .*: add -t function_graph' -L libc.so.6 -e task:task_exec -- "$SHORT"

# --- the other commands ---------------------------------------------------------------------------
says() { # NAME STATUS WORD ARGUMENT...
	local name=$1 status=$2 word=$3
	shift 3
	timeout "$LIMIT" "$BRACE" "$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq "$status" ] && grep -q -- "$word" "$T/err"
	result "$name" $? "$T/err"
}
says "graph" 125 '`tiny_one` cannot be hooked' graph -l tiny_one -- "$SHORT"
says "start" 125 '`folded` is inlined: 2 copies' start -g folded -- "$SHORT"
says "start: an event" 125 'no event has this name' start -e bogus -- "$SHORT"
mkdir "$T/tree"
says "mount" 125 '`folded` is inlined: 2 copies' mount "$T/tree" -g folded -- "$SHORT"
says "shell" 125 '`tiny_one` cannot be hooked' shell --run "$SHORT" -l tiny_one -- true
"$BRACE" record -q -o "$T/trace" -- "$SHORT" >/dev/null
says "report" 125 'no function that was called matches' report "$T/trace" nonesuch
says "report of one that is there too" 0 'no function that was called matches `nonesuch`' report "$T/trace" large nonesuch

# --- a session: the write is refused as the kernel's, the error_log says why ----------------------
mkfifo "$T/go"
"$SHORT" wait <"$T/go" >"$T/ready" &
P=$!
exec 9>"$T/go"
until_is grep -q . "$T/ready"
says "attached" 125 '`tiny_one` cannot be hooked' record -o "$T/trace" -p "$P" -l tiny_one
says "attached: inlined" 125 '`folded` is inlined: 2 copies' graph -p "$P" -g folded
if "$BRACE" start -p "$P" -l large 2>"$T/err"; then
	for option in -l -n -g; do
		says "$option of an inlined one" 125 '`folded` is inlined: 2 copies, in large() at short.c:' set $option folded
		says "$option of one that is too short" 125 '`tiny_one` cannot be hooked: too-short' set $option tiny_one
		says "$option of a library's" 125 'a function of libc.so.6, which is not opened' set $option qsort
		says "$option of nothing" 125 'there is no function `nonesuch` in short' set $option nonesuch
	done
	[ "$("$BRACE" show set_ftrace_filter)" = large ] && "$BRACE" show error_log >"$T/log" &&
		grep -q 'set_graph_function: error: .*nonesuch' "$T/log"
	result "lists are what they were, the error_log has the reason" $? "$T/log"
	"$BRACE" reset
else
	skip "a session" "$(cat "$T/err")"
fi
exec 9>&-
wait "$P"
finish

#!/bin/bash
# Events at tracepoints by `t:` in dynamic_events; -e with t:, e: and f: on the command line; arguments
# of functions by their names; what an f: leaves out. The program has the kernel's functions and
# static events, and ticks once for each line that it reads.
. "$(dirname "$0")/lib.sh"
K=$FIXTURES/kern
ticks() { printf '%s\n' a b c; }
# has N TEXT: so many of the last output's lines end with it
has() { [ "$(grep -c -- "$2\$" "$T/out")" = "$1" ]; }

# --- on the command line
ticks | "$BRACE" graph -q -e 't:two kmem:kmalloc $arg2 twice=bytes_alloc:x16' -e 't:all kmem_cache_free $arg*' \
	-e 'e:of kmem/kmalloc n=$bytes_req:u32 if bytes_req == 64' -e 't:text sched_waking comm first=+0($arg1):char' \
	-- "$K" lone >"$T/out" 2>"$T/err"
has 3 ' two: (kmem.kmalloc) bytes_req=64 twice=0x40' && has 3 ' of: (kmem.kmalloc) n=64'
result "t: and e: on the command line" $? "$T/out"
has 6 ' all: (kmem.kmem_cache_free) call_site=[0-9]* ptr=[0-9]* name="task_struct"' && has 3 ' text: (sched.sched_waking) comm="kern" first='"'k'"
result "\$arg* and names of a tracepoint's fields, strings too" $? "$T/out"
ticks | "$BRACE" record -q -o "$T/t.brace" -e 't:r kmalloc $arg2' -- "$K" lone >"$T/out" 2>"$T/err"
"$BRACE" replay "$T/t.brace" >"$T/out" 2>"$T/err"
has 3 ' r: (kmem.kmalloc) bytes_req=64'
result "recorded, and replayed" $? "$T/out" "$T/err"
ticks | "$BRACE" record -o "$T/f.brace" -e 'f:n vfs_*%return got=$retval' -e 'f:m vfs_[rw]*' -- "$K" lone >"$T/out" 2>"$T/err"
"$BRACE" replay "$T/f.brace" >"$T/out" 2>>"$T/err"
has 3 ' n: (.* <- .*) got=0x[0-9a-f]*' || has 6 ' n: (.* <- .*) got=0x[0-9a-f]*'
result "f: at the returns of several functions" $? "$T/out" "$T/err"
has 6 ' m: (0x[0-9a-f]*)'
result "and at their begins" $? "$T/out" "$T/err"
# libc has most of these twice, as versions of one symbol at addresses of their own. How often the program waits is a matter of how its
# threads run: each call has its event, in each run.
waits() {
	rm -f "$T/f.brace"
	"$BRACE" record -o "$T/f.brace" -L libc.so.6 -l 'pthread_cond_*wait' -e "$1" -- "$FIXTURES/waking" >"$T/out" 2>"$T/err" </dev/null
	"$BRACE" replay "$T/f.brace" >"$T/calls"
	[ "$(grep -c ' x: (' "$T/calls")" = "$(grep -c 'pthread_cond_wait.*();$\|pthread_cond_wait.*() {$' "$T/calls")" ]
}
# until_waits EVENT: in each run, of which twenty at most, until there are some waits.
until_waits() {
	for _ in {1..20}; do
		waits "$1" || return
		! grep -q ' x: (' "$T/calls" || return 0
	done
	return 1
}
until_waits 'f:x libc.so.6:pthread_cond_*wait' && until_waits 'f:x libc.so.6:pthread_cond_wait'
result "f: at functions of one name" $? "$T/err" "$T/calls"
: | "$BRACE" graph -e 'f:some *%return' -- "$K" lone >"$T/out" 2>"$T/err"
grep -q 'warning: f:some \*%return: [0-9]* of [0-9]* functions cannot be probed, and are left out (' "$T/err"
result "what f: leaves out is said" $? "$T/err"
ticks | "$BRACE" graph -q -e 't:who kfree from=call_site:symstr' -- "$K" lone >"$T/out" 2>"$T/err"
has 3 ' who: (kmem.kfree) from="sched_tick+0x[0-9a-f]*"'
result "symstr is a function's name in quotes" $? "$T/out"
# refused NAME DEFINITION SENTENCE COLUMN
refused() {
	! "$BRACE" graph -e "$2" -- "$K" lone >"$T/out" 2>"$T/err" </dev/null &&
		printf '%s\n' "  $2" "$(printf '%*s^' $((2 + $4)) '')" >"$T/wanted" &&
		head -n 1 "$T/err" | grep -qF -- "$3" && sed -n '2,3p' "$T/err" | cmp -s - "$T/wanted"
	result "$1" $? "$T/err"
}
refused "a tracepoint that is not there" 't:a absent' 'Tracepoint is not found' 4
refused "a definition without a name" 'e kmem/kmalloc' 'this event needs a name here: e:NAME SYSTEM/EVENT' 1
refused "functions that are not there" 'f:a absent*' 'no function of this file matches' 4
refused "a tracepoint's stack" 't:a kfree $stack' "a tracepoint's record keeps no stack" 10
refused "a symbol of a number" 't:a kfree at=\1:symstr' "Symbol String doesn't accept data" 16
refused "a field that is not there" 't:a kfree absent' 'This variable is not found at this probe point' 10

# --- in the tree
cat >"$T/tree.sh" <<'E2'
cd /sys/kernel/tracing || exit
define() { printf '%s\n' "$1" >>dynamic_events; }
define 't:tracepoints/a kfree ptr' 2>&1
define 'f:fn kfree $arg*'
define 'f:one vfs_read count $arg4'
define 'p:kp vfs_read $arg*'
define 'f:some *%return'
cat dynamic_events
sed 's/^/log: /' error_log
echo >error_log
for line in 'f:a vfs_read absent' 'f:a kfree $arg2' 'f:a vfs_read x=$arg*' 'f:a kfree%return $retval' 'f:tracepoints/a kfree' 't:a kfree ptr:u8' 't:a kfree ptr' 't:a kmalloc ptr=$arg2:u64'; do
	define "$line" 2>/dev/null && echo "taken: $line"
done
sed 's/^\[.*\]/refused:/' error_log
E2
"$BRACE" shell --run="$K lone" -- sh "$T/tree.sh" >"$T/out" 2>"$T/err" </dev/null
cat >"$T/wanted" <<'E2'
t:tracepoints/a kfree ptr=ptr
f:fprobes/fn kfree object=object
f:fprobes/one vfs_read count=count pos=pos
p:kprobes/kp vfs_read file=file buf=buf count=count pos=pos
f:fprobes/some *%return
E2
grep '^[ftp]:' "$T/out" | cmp -s - "$T/wanted"
result "names of arguments are listed as they were written" $? "$T/out" "$T/err"
grep -q '^log: .*trace_fprobe: error: [0-9]* of [0-9]* functions are left out, the first one: ' "$T/out"
result "the error_log has what a pattern leaves out" $? "$T/out"
cat >"$T/wanted" <<'E2'
refused: trace_fprobe: error: This variable is not found at this probe point
  Command: f:a vfs_read absent
                        ^
refused: trace_fprobe: error: This variable is not found at this probe point
  Command: f:a kfree $arg2
                     ^
refused: trace_fprobe: error: Invalid $-variable specified
  Command: f:a vfs_read x=$arg*
                          ^
refused: trace_fprobe: error: This function returns 'void' type
  Command: f:a kfree%return $retval
                            ^
refused: trace_fprobe: error: Probe type is different from existing probe
  Command: f:tracepoints/a kfree
           ^
refused: trace_fprobe: error: Argument type or name is different from existing probe
  Command: t:a kfree ptr:u8
                     ^
refused: trace_fprobe: error: There is already the exact same probe event
  Command: t:a kfree ptr
           ^
refused: trace_fprobe: error: an event has one tracepoint: name this one otherwise
  Command: t:a kmalloc ptr=$arg2:u64
           ^
E2
sed -n '/^refused:/,$p' "$T/out" | cmp -s - "$T/wanted"
result "what is wrong is said in the kernel's words, with its place" $? "$T/out"
! grep -q '^taken' "$T/out"
result "and nothing of it is defined" $? "$T/out"
finish

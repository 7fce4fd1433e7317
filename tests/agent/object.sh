#!/bin/bash
# Properties that make libbrace-agent.so harmless in any process: no symbol it needs from
# others, no library, no instruction that changes a vector or x87 register, nothing to relocate in its text, no page
# writable and executable at once, no stack that is.
. "$(dirname "$0")/../run/lib.sh"
AGENT=${AGENT:-$(dirname "$BRACE")/libbrace-agent.so}

# none NAME FILE: passes when the file is empty (what it holds is the complaint).
none() {
	[ ! -s "$2" ]
	result "$1" $? "$2"
}

[ -s "$AGENT" ]
result "the agent is there" $?
nm -D --undefined-only "$AGENT" >"$T/undefined"
none "no undefined symbol" "$T/undefined"
readelf -dW "$AGENT" >"$T/dynamic"
grep NEEDED "$T/dynamic" >"$T/needed"
none "needs no library" "$T/needed"
grep -q 'FLAGS_1.* NOW' "$T/dynamic"
result "bound when it is loaded" $? "$T/dynamic"
grep -E 'TEXTREL|RPATH|RUNPATH' "$T/dynamic" >"$T/text"
none "no relocation in its text, no search path" "$T/text"
readelf -rW "$AGENT" | grep -E 'R_X86_64_' | grep -vE 'R_X86_64_(RELATIVE|TPOFF64 +0$)' >"$T/relocations"
none "no relocation that names a symbol" "$T/relocations"
objdump -d --no-show-raw-insn "$AGENT" >"$T/code"
grep -cE '^ ' "$T/code" >"$T/instructions"
instructions=$(cat "$T/instructions")
[ "$instructions" -gt 500 ]
result "its code could be read ($instructions instructions)" $?
grep -E '%[xyz]mm[0-9]|%st\b|%mm[0-7]|%k[0-7]\b|\s(f?xsave|f?xrstor|emms|fld|fst|vzero)' "$T/code" >"$T/named"
# Arguments are read from vector registers (arguments.S), and what functions return (entry.S): only stored, and only there.
stores='\smovq +%xmm[0-7],0x[0-9a-f]+\(%rsp\)$'
awk '/^[0-9a-f]+ </ { inside = $2 == "<agent_arguments>:" || $2 == "<agent_slow_state_exit>:" } inside' "$T/code" | grep -E "$stores" >"$T/read"
[ "$(wc -l <"$T/read")" -eq 9 ] && grep -vxFf "$T/read" "$T/named" >"$T/vector"
none "no vector, x87 or mask register is changed" "$T/vector"
readelf -lW "$AGENT" >"$T/segments"
grep -E '(LOAD|GNU_STACK).* RWE ' "$T/segments" >"$T/writable"
none "no segment writable and executable" "$T/writable"
grep -q GNU_STACK "$T/segments"
result "says that it needs no executable stack" $? "$T/segments"
nm -D --defined-only "$AGENT" | awk '{ print $3 }' | sed 's/@.*//' >"$T/exported"
grep -vE '^(brace_|_?_?cyg_profile|dlopen|fork|vfork)' "$T/exported" >"$T/foreign"
none "exports no name a program could meet by accident" "$T/foreign"
readelf -SW "$AGENT" | awk '$2 ~ /^\.t(bss|data)$/ || $3 ~ /^\.t(bss|data)$/ { print }' >"$T/tls"
# shellcheck disable=SC2016 # of awk
check_that "thread-local storage of at most 64 bytes" \
	awk '{ for (i = 1; i < NF; i++) if ($i ~ /^\.t(bss|data)$/) n += strtonum("0x" $(i + 4)) } END { exit n > 64 }' "$T/tls"

# --- the stack that its C takes: what assembly touches first, and what goroutines are asked for
SOURCES=$HERE/../../src/arch/x86_64/agent
# called_by MACRO: the C functions that assembly calls by it. constant NAME FILE: its value.
called_by() { grep -hoE "^\s+$1\s+\w+" "$SOURCES"/*.S | awk '{ print $2 }' | grep -vx function | sort -u; }
constant() { awk -v name="$1," '$1 == ".set" && $2 == name { print $3 }' "$SOURCES/$2"; }
# deepest FUNCTION...: the bytes of the deepest, in all its calls.
deepest() {
	/usr/bin/python3 "$HERE/../agent/depth.py" "$AGENT" "$@" >"$T/depths" 2>"$T/said" &&
		awk '$2 > most { most = $2 } END { print most }' "$T/depths"
}
KEPT=$((128 + 64 + 8)) # CALL_C: the bytes that the ABI gives the program, eight registers, alignment
fits() { # NAME BYTES LIMIT
	[ -n "$2" ] && [ -n "$3" ] && [ "$2" -le "$3" ]
	result "$1: $2 of $3 bytes" $? "$T/said" "$T/depths"
}
# A loader's call of _dl_debug_state has a thread's whole stack.
# shellcheck disable=SC2046 # words
depth=$(deepest $(called_by CALL_C | grep -vx agent_modules_changed))
fits "slow paths of calls" $((KEPT + ${depth:-99999})) "$(constant C_STACK entry.S)"
fits "the same on a stack of the agent's own" "${depth:-99999}" 4096
depth=$(deepest go_stack_take go_stack_give)
fits "the way to that stack" $((KEPT + 16 + ${depth:-99999})) "$(constant GO_ROOM entry.S)"
# shellcheck disable=SC2046 # words
depth=$(deepest $(called_by PROBE_CALLS))
fits "slow paths of probes" $((8 * 20 + ${depth:-99999})) "$(constant C_STACK probe_frame.h)"
depth=$(deepest agent_arguments_hit)
fits "arguments" $(($(constant FRAME arguments.S) + 24 + ${depth:-99999})) "$(constant C_STACK arguments.S)"
depth=$(deepest agent_lock_enter agent_lock_got)
fits "locks" $(($(constant FRAME lock.S) + 8 + ${depth:-99999})) "$(constant C_STACK lock.S)"
finish

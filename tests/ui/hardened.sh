#!/bin/bash
# The build's defences against hostile files and processes: position independence,
# canaries, checked sizes, nothing writable that decides where control goes. The agent's own list is
# in tests/agent/object.sh.
. "$(dirname "$0")/../run/lib.sh"
need readelf
need nm
need objdump
readelf -hlW "$BRACE" >"$T/segments"
readelf -dW "$BRACE" >"$T/dynamic"
nm -D --undefined-only "$BRACE" | sed 's/@.*//; s/.* //' | sort >"$T/imports"

grep -q 'Type: *DYN' "$T/segments" && grep -q 'FLAGS_1.* PIE' "$T/dynamic"
result "position-independent" $? "$T/dynamic"
grep -q 'FLAGS_1.* NOW' "$T/dynamic"
result "bound when it starts" $? "$T/dynamic"
grep -q 'GNU_RELRO' "$T/segments"
result "and what is bound is read-only from then on" $? "$T/segments"
! readelf -SW "$BRACE" | grep -E ' \.got\.plt '
result "with no table of functions left out of it" $?
grep -qE 'GNU_STACK.* RW  ' "$T/segments"
result "no executable stack" $? "$T/segments"
! grep -E 'LOAD.* RWE ' "$T/segments"
result "no segment both writable and executable" $? "$T/segments"
! grep -E 'TEXTREL|RPATH|RUNPATH' "$T/dynamic"
result "no relocation in its text, no search path" $? "$T/dynamic"
# libiberty, which is linked in, has some 40 in any case.
objdump -d --no-show-raw-insn "$BRACE" | awk '/^[0-9a-f]+ </ { f = $2 } /call.*<__stack_chk_fail/ { print f }' | sort -u >"$T/canaries"
[ "$(wc -l <"$T/canaries")" -gt 200 ]
result "canaries in brace's own functions" $? "$T/canaries"

# Of the functions that have a checked form, those with a buffer whose size is known use it.
for function in memcpy snprintf vsnprintf; do
	grep -qx "__${function}_chk" "$T/imports"
	result "checked sizes: $function" $? "$T/imports"
done
finish

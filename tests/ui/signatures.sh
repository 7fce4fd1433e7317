#!/bin/bash
# brace list --signatures: what functions take and return. The truth is the compiler's: each
# signature is given back to it as a declaration beside the source, and in C++ as a pointer to which
# the function is assigned; and gdb's, by name and type.
. "$(dirname "$0")/../run/lib.sh"

signatures() { "$BRACE" list -f "$@" --signatures 2>"$T/err"; }
own() { grep -vE '^(main|_|de?register_tm|frame_dummy).*\(|\(\?\)$|^int main' "$1"; }

# --- C
gcc -g -O1 -w -o "$T/c" "$HERE/../ui/signatures.c"
result "a C program is built" $?
signatures "$T/c" | own /dev/stdin >"$T/said"
check_that "it has a signature for each function" [ "$(wc -l <"$T/said")" = "$(grep -c '^\(static \)\?FUNCTION' "$HERE/../ui/signatures.c")" ]
{ cat "$HERE/../ui/signatures.c" && sed 's/$/;/' "$T/said"; } >"$T/again.c"
gcc -fsyntax-only -w "$T/again.c" 2>"$T/errors"
result "the compiler takes each for the function's own declaration" $? "$T/errors" "$T/said"
sed 's/\<int flags, \.\.\.);/long flags, ...);/' "$T/again.c" >"$T/wrong.c"
gcc -fsyntax-only -w "$T/wrong.c" 2>"$T/errors"
[ $? -ne 0 ] && grep -q 'conflicting types' "$T/errors"
result "which it does not of a wrong one" $? "$T/errors"
check_that "parameters have their names" grep -qx 'int opened(const char \*pathname, int flags, ...)' "$T/said"
check_that "one of them by name" [ "$(signatures "$T/c" only_here)" = 'long only_here(unsigned long a)' ]

# --- C++
g++ -g -O1 -w -o "$T/cc" "$HERE/../ui/signatures.cc"
result "a C++ program is built" $?
signatures "$T/cc" 'shop::*' | grep -v '(?)' >"$T/said"
# Free functions and static members as pointers: "double shop::price(...)" is "double (*p1)(...) =
# shop::price".
{ cat "$HERE/../ui/signatures.cc" && grep -v '\<this\>' "$T/said" |
	sed -E 's/^(.*[ *&])(shop::[A-Za-z_:]+(<[a-z]+>)?)\((.*)\)$/\1(*pNR)(\4) = \2;/' | awk '{ sub(/pNR/, "p" NR); print }'; } >"$T/again.cc"
check_that "each free function's is there" [ "$(grep -c '^.*(\*p[0-9]*)' "$T/again.cc")" = 7 ]
g++ -fsyntax-only -w "$T/again.cc" 2>"$T/errors"
result "the compiler takes each for the function's type" $? "$T/errors" "$T/said"
check_that "a member has its object" grep -qx 'int shop::counter::add(shop::counter \*const this, int by)' "$T/said"
check_that "a constant one's is constant" grep -qx 'int shop::counter::now(const shop::counter \*const this)' "$T/said"

# --- gdb, over a program of a thousand functions and more
cat >"$T/types.py" <<'PY'
import json, re, sys
def plain(text):
    return re.sub(r'\s+', '', text)
said = [json.loads(line) for line in open(sys.argv[1])][1:]
same, wrong = 0, []
for f in said:
    if not f['signature']:
        continue
    block = gdb.block_for_pc(f['address'] + base)
    outer = None # what is inlined at the entry has a block of its own there
    while block and not block.is_static:
        outer, block = block if block.function else outer, block.superblock
    if not outer or outer.start != f['address'] + base:
        continue
    theirs = sorted((s.print_name, plain(str(s.type).replace('_Bool', 'bool').replace('struct __va_list_tag *', 'va_list'))) for s in outer if s.is_argument)
    ours = sorted((p['name'], plain(re.sub(r'\b%s\b(?!.*\b%s\b)' % (p['name'], p['name']), '', p['declared']))) for p in f['parameters'])
    if theirs == ours:
        same += 1
    else:
        wrong.append((f['signature'], theirs))
print(same, len(wrong))
for w in wrong[:20]:
    print(*w)
PY
if command -v gdb >"$T/out"; then
	signatures "$BRACE" --json >"$T/json"
	gdb -nx -batch -ex 'python import sys; sys.argv = ["", "'"$T/json"'"]; base = 0' -ex "source $T/types.py" "$BRACE" >"$T/said" 2>&1
	read -r same wrong <<<"$(grep -E '^[0-9]+ [0-9]+$' "$T/said")"
	[ "${same:-0}" -gt 1000 ] && [ "$wrong" = 0 ]
	result "gdb knows the same names and types of brace's own functions (${same:-0})" $? "$T/said"
else
	skip "gdb knows the same" "there is no gdb"
fi

# --- without debug information, and bad ways to ask
gcc -O1 -w -s -o "$T/stripped" "$HERE/../ui/signatures.c"
"$BRACE" list -f "$T/stripped" --signatures >"$T/out" 2>"$T/err"
[ $? -eq 0 ] && grep -q 'has no debug information' "$T/err" && grep -q '(?)$' "$T/out"
result "a stripped program's are not known, and that is said" $? "$T/err" "$T/out"
"$BRACE" list --signatures >"$T/out" 2>"$T/err"
[ $? -ne 0 ] && grep -q -- '--signatures goes with -f' "$T/err"
result "without a file it is refused" $? "$T/err"
"$BRACE" list -f "$T/c" --signatures --why >"$T/out" 2>"$T/err"
[ $? -ne 0 ] && grep -q 'one of them' "$T/err"
result "and with --why" $? "$T/err"
finish

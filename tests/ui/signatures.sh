#!/bin/bash
# brace list --signatures: what functions take and return. The truth is the compiler's: each
# signature is given back to it as a declaration beside the source, and in C++ as a pointer to which
# the function is assigned; and gdb's, by name and type.
. "$(dirname "$0")/../run/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)

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

# --- functions of the C library, of which no debug information tells: its headers do. Each is called with what it is said to
# take; the compiler refuses another number of arguments, a number for a pointer, and a size that is not the value's.
HEADERS=(stdio.h stdlib.h string.h unistd.h fcntl.h dirent.h poll.h pthread.h signal.h sys/mman.h sys/socket.h sys/stat.h sys/wait.h)
CALLED=(open openat fopen read pread lseek setenv strncmp strchr strtoul stat mkdir rename opendir readlink realpath
	poll socket connect accept mmap mprotect execvp kill waitpid usleep perror pthread_create pthread_mutex_lock send fwrite calloc
	memset free strlen puts malloc memchr fopen64 lseek64 dup2 isatty fsync unlink chdir getcwd closedir bind
	listen munmap)
{
	echo 'int main(int argc) { if (argc > 9) {'
	printf '%s();\n' "${CALLED[@]}"
	echo '} return 0; }'
} >"$T/calls.c"
gcc -std=gnu89 -O0 -w -s -fno-builtin -pthread -o "$T/calls" "$T/calls.c" 2>"$T/errors"
result "a program that calls the C library is built" $? "$T/errors"
signatures "$T/calls" | grep -vE '^(main|_.*|de?register_tm.*|frame_dummy|sub_.*)\(' | grep -v '(?)$' | sort -u >"$T/said"
{
	printf '#include <%s>\n' "${HEADERS[@]}"
	"$PYTHON" - "$T/said" <<-'PY'
		import re, sys
		for i, line in enumerate(open(sys.argv[1])):
		    returns, name, takes = re.match(r'(.*?[ *])(\w+)\((.*)\)$', line.strip()).groups()
		    types = [] if takes == 'void' else [re.match(r'(.*?)\w+$', p)[1].strip() for p in takes.split(', ')]
		    call = '%s(%s)' % (name, ', '.join('(%s)0' % t for t in types))
		    if returns.strip() == 'void':
		        print('void f%d(void) { %s; }' % (i, call))
		    else:
		        print('%s f%d(void) { _Static_assert(sizeof(%s) == sizeof(%s), ""); return %s; }' % (returns, i, call, returns, call))
	PY
} >"$T/again.c"
gcc -D_GNU_SOURCE -fsyntax-only -Werror=int-conversion -Werror=incompatible-pointer-types -Werror=implicit-function-declaration "$T/again.c" 2>"$T/errors"
[ $? -eq 0 ] && [ "$(wc -l <"$T/said")" -eq ${#CALLED[@]} ]
status=$?
result "the compiler takes the $(wc -l <"$T/said") declarations of the C library's functions" "$status" "$T/errors" "$T/said"
sed 's/\<lseek((int)0/lseek((void *)0/' "$T/again.c" >"$T/wrong.c"
gcc -D_GNU_SOURCE -fsyntax-only -Werror=int-conversion "$T/wrong.c" 2>"$T/errors"
[ $? -ne 0 ] && grep -q 'integer from pointer' "$T/errors"
result "which it does not of a wrong one of these" $? "$T/errors"
check_that "an import is known in a file without debug information" [ "$(signatures "$T/calls" puts)" = 'int puts(const char *s)' ]
check_that "and in JSON" grep -q '"signature":"void \*malloc(unsigned long size)","parameters":\[{"name":"size","declared":"unsigned long size"}\]' <(signatures "$T/calls" malloc --json)

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

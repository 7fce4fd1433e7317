#!/bin/bash
# SPDX-License-Identifier: MIT
# --args and --retval: what functions are called with and return, held line by line against what a program tells itself
# (tests/targets/typed.c), and against gdb's values at the same calls.
. "$(dirname "$0")/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
FUNCTIONS=(-l price -l many -l paint -l area -l is_odd -l letter -l nothing)
need gcc

# calls_of FILE: "name(arguments) = value" lines of a graph whose calls are all leaves
calls_of() { sed -nE 's:^.*\|  ([a-z_]+\(.*\));( /\* = (.*) \*/)?$:\1 = \3:p' "$1" | sed 's/ = $//'; }

# accounts NAME PROGRAM ARGUMENT...: a recorded run tells what the program does
accounts() {
	ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" "${FUNCTIONS[@]}" --args --retval "${@:3}" -- "$2" 7 2000 2>"$T/err"
	local status=$?
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	calls_of "$T/graph" >"$T/calls"
	[ "$status" -eq 0 ] && [ "$(wc -l <"$T/account")" -eq 2800 ] && diff "$T/account" "$T/calls" >"$T/differences"
	result "$1" $? "$T/differences"
}

for level in 0 1 2 s; do
	gcc -g -O$level -pthread -no-pie -o "$T/typed$level" "$HERE/../targets/typed.c" 2>"$T/err" || not_ok "gcc -O$level" "$T/err"
	accounts "gcc -O$level" "$T/typed$level"
done
if type -P clang >/dev/null; then
	clang -g -O0 -pthread -no-pie -o "$T/typedc" "$HERE/../targets/typed.c" 2>"$T/err"
	accounts "clang" "$T/typedc"
else
	skip "clang" "there is no clang"
fi
accounts "in state mode, by C code" "$T/typed2" --max-graph-depth 9
accounts "graph functions" "$T/typed2" "${FUNCTIONS[@]/-l/-g}"

# --- structures, and classes of the C++ library
STRUCTURES=(-l price -l little -l mix -l much -l crowded -l follow -l kin -l odd -l turn -l sum -l halved -l precise -l squared)
# structures_account NAME PROGRAM OPTION...: a recorded run tells what the program does
structures_account() {
	ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" --args --args-depth=1 --retval "${@:3}" -- "$2" 5 800 2>"$T/err"
	local status=$?
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	calls_of "$T/graph" >"$T/calls"
	[[ " ${*:3} " == *" text "* ]] || sed -i '/^text(/d' "$T/account"
	[ "$status" -eq 0 ] && [ "$(wc -l <"$T/account")" -ge 1800 ] && diff "$T/account" "$T/calls" >"$T/differences"
	result "$1" $? "$T/differences"
}
if type -P g++ >/dev/null; then
	for level in 0 1 2 s; do
		g++ -g -std=c++17 -O$level -o "$T/structures$level" "$HERE/../targets/structures.cc" 2>"$T/err" || not_ok "g++ -O$level" "$T/err"
		structures_account "structures, g++ -O$level" "$T/structures$level" "${STRUCTURES[@]}" -l text
	done
	ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" --args -l follow -- "$T/structures2" 5 8 2>"$T/err"
	"$BRACE" replay "$T/trace" | grep -qE 'follow\(i=0x[0-9a-f]+, n=0x[0-9a-f]+\);'
	result "without --args-depth pointers are numbers" $? "$T/err"
	! "$BRACE" record -q -o "$T/trace" --args --args-depth=2 -- "$T/structures2" 5 8 2>"$T/err"
	result "there is no second level" $? "$T/err"
else
	skip "structures" "there is no g++"
fi
# by_address COMPILER LEVEL: what C++ passes by address is a pointer, and does not move the arguments behind it.
by_address() {
	type -P "$1" >/dev/null || { skip "classes by address, $1 -O$2" "there is no $1"; return; }
	"$1" -g -std=c++17 -O"$2" -o "$T/by_address" "$HERE/../targets/by_address.cc" 2>"$T/err" || not_ok "by_address, $1" "$T/err"
	"$BRACE" graph -o "$T/graph" --args --retval -l 'f?' -l 'mk?' -- "$T/by_address" >"$T/out" 2>"$T/err"
	sed -nE 's/.* ((f|mk).\(.*)/\1/p' "$T/graph" | sort | sed -E 's/0x[0-9a-f]+/ADDRESS/g' >"$T/calls"
	[ "$(cat "$T/out")" = '12 13 14 15 16 112 17' ] && diff - "$T/calls" >"$T/differences" <<-'C'
	fb(n=ADDRESS); /* = 12 */
	fc(n=ADDRESS); /* = 13 */
	fm(n={v=15}); /* = 15 */
	fp(n={v=16}); /* = 16 */
	fs(n=ADDRESS); /* = 14 */
	mkb(a=17); /* = {v=17} */
	mku(a=1, s="one"); /* = ADDRESS */
	C
	result "classes by address, $1 -O$2" $? "$T/differences"
}
by_address g++ 0
by_address g++ 2
by_address clang++ 0

if type -P clang++ >/dev/null; then
	clang++ -g -O0 -std=c++17 -o "$T/structuresc" "$HERE/../targets/structures.cc" 2>"$T/err"
	structures_account "structures, clang++" "$T/structuresc" "${STRUCTURES[@]}"
else
	skip "structures, clang++" "there is no clang++"
fi

# --- returned floating-point numbers and strings; what the program computes stays the same
ANSWERS=(scale half name made kept seen thrown plain)
# answers NAME PROGRAM OPTION...: a recorded run tells what the program does
answers() {
	local printed
	printed=$(ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" --args --retval "${ANSWERS[@]/#/-l}" "${@:3}" -- "$2" 7 700 2>"$T/err")
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	calls_of "$T/graph" >"$T/calls"
	# an exception is no return; the last call is not of the account
	grep -v '^thrown(x=-[^=]*)$' "$T/calls" | sed '$d' | diff "$T/account" - >"$T/differences" && [ "$(wc -l <"$T/account")" -gt 600 ] &&
		[ "$printed" = "$(ACCOUNT='' "$2" 7 700)" ]
	result "$1" $? "$T/differences"
}
if type -P g++ >/dev/null; then
	g++ -g -std=c++17 -O2 -pthread -o "$T/answers2" "$HERE/../targets/answers.cc" 2>"$T/err" || not_ok "answers, g++" "$T/err"
	answers "returned numbers and strings" "$T/answers2"
	ACCOUNT=$T/account "$BRACE" graph -q -o "$T/graph" --mode block "${ANSWERS[@]/#/-l}" --args --retval -- "$T/answers2" 7 700 >/dev/null 2>"$T/err"
	calls_of "$T/graph" | grep -v '^thrown(x=-[^=]*)$' | sed '$d' | diff "$T/account" - >"$T/differences"
	result "the same live" $? "$T/differences"
	answers "the same in state mode" "$T/answers2" --max-graph-depth 9
	answers "the same of graph functions" "$T/answers2" "${ANSWERS[@]/#/-g}"
	# four threads fill the buffers by themselves: each call has its own value
	printed=$("$BRACE" record -q --mode block -o "$T/trace" --args --retval -l scale -l name -- "$T/answers2" 7 700 4 2>"$T/err")
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	[ "$printed" = "$("$T/answers2" 7 700 4)" ] && "$PYTHON" - "$T/graph" >"$T/differences" 2>&1 <<-'END'
		import re, sys
		calls = re.findall(r'\|  (scale|name)\(([xi])=(\S+)\); /\* = (.*) \*/', open(sys.argv[1]).read())
		wrong = [c for c in calls if not (float(c[3]) == 2 * float(c[2]) if c[0] == 'scale' else c[3] in ('0x0', '(fault)') or
		                                  c[3].startswith('"x' + c[2]))]
		print(len(calls), wrong[:5])
		sys.exit(len(calls) < 600 or bool(wrong))
	END
	result "the same on threads" $? "$T/differences"
else
	skip "returned numbers and strings" "there is no g++"
fi

# --- with their types, in formats that have some
# typed NAME: those of the last trace, as Chrome's JSON and Perfetto's protobuf
typed() {
	rm -f "$T"/typed.*
	"$BRACE" export --to chrome "$T/trace" -o "$T/typed.json" 2>"$T/err" && "$BRACE" export --to perfetto "$T/trace" -o "$T/typed.pf" 2>>"$T/err" &&
		"$PYTHON" "$HERE/typed_arguments.py" "$T/account" "$T/typed.json" "$T/typed.pf" >"$T/differences" 2>&1
	result "$1" $? "$T/differences"
}
ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" "${FUNCTIONS[@]}" --args --retval -- "$T/typed2" 7 300 2>"$T/err"
typed "numbers are numbers, in JSON and protobuf"
if [ -x "$T/answers2" ]; then
	ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" "${ANSWERS[@]/#/-l}" --args --retval -- "$T/answers2" 7 300 >/dev/null 2>"$T/err"
	typed "returned strings, too"
	ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" "${STRUCTURES[@]}" --args --args-depth=1 --retval -- "$T/structures0" 5 200 2>"$T/err"
	sed -i '/^text(/d' "$T/account"
	typed "structures are objects"
fi

ACCOUNT=$T/account "$BRACE" graph -q -o "$T/graph" --mode block "${FUNCTIONS[@]}" --args --retval -- "$T/typed2" 7 2000 2>"$T/err"
calls_of "$T/graph" >"$T/calls"
diff "$T/account" "$T/calls" >"$T/differences"
result "live" $? "$T/differences"

ACCOUNT=$T/account "$BRACE" record -q --mode block -t function "${FUNCTIONS[@]}" --args -o "$T/trace" -- "$T/typed2" 7 2000 2>"$T/err"
"$BRACE" replay "$T/trace" | sed -nE 's/^[^#].*: ([a-z_]+(\(.*\))?) <-.*$/\1/p' >"$T/calls"
sed -E 's/ = [^=]*$//; s/^nothing\(\)$/nothing/' "$T/account" | diff - "$T/calls" >"$T/differences"
result "the function tracer" $? "$T/differences"

# Its -O has the last word, and a glob means these functions only.
[ "$("$BRACE" replay "$T/trace" -O nofunc-args | grep -c 'cents=')" -eq 0 ]
result "nofunc-args" $?
ACCOUNT=$T/account "$BRACE" record -q -o "$T/trace" --args='p*' --retval=price -- "$T/typed2" 7 50 2>"$T/err"
"$BRACE" replay "$T/trace" >"$T/graph"
grep -q 'price(cents=' "$T/graph" && grep -q 'paint(colour=' "$T/graph" && grep -q ' many();' "$T/graph"
result "arguments of a glob" $? "$T/graph"
grep -qE ' price\(.*\); /\* = -?[0-9]+ \*/$' "$T/graph" && [ "$(grep -c ' = ' "$T/graph")" -eq "$(grep -cE ' price\(' "$T/graph")" ]
result "values of another" $? "$T/graph"

# --- the C library's functions, in a program without debug information
cat >"$T/nodebug.c" <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	int fd;

	if (getenv("NOBODYS"))
		return 1;
	setenv("NOBODYS", "b", 1);
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	access("/", R_OK);
	write(fd, "abc", 3);
	rename("/nowhere/a", "/nowhere/b");
	close(fd);
	return 0;
}
END
gcc -O1 -w -fno-builtin -o "$T/nodebug" "$T/nodebug.c" 2>"$T/err"
"$BRACE" record -o "$T/trace" --mode block --args --retval -l getenv -l setenv -l open -l access -l write -l rename -l close -- "$T/nodebug" >"$T/out" 2>"$T/err"
"$BRACE" replay "$T/trace" | sed -nE 's/^[^|#]*\|  ([a-z]+\(.*)$/\1/p' | sed -E 's/0x[0-9a-f]{3,}/ADDRESS/' >"$T/calls"
diff - "$T/calls" >"$T/differences" <<'C'
getenv(name="NOBODYS"); /* = 0x0 */
setenv(name="NOBODYS", value="b", overwrite=1); /* = 0 */
open(pathname="/dev/null", flags=O_WRONLY|O_CLOEXEC); /* = 3 */
access(pathname="/", mode=R_OK); /* = 0 */
write(fd=3, buf=ADDRESS, count=0x3); /* = 3 */
rename(oldpath="/nowhere/a", newpath="/nowhere/b"); /* = -1 */
close(fd=3); /* = 0 */
C
result "the C library's functions without debug information" $? "$T/differences"
! grep -q 'no debug information' "$T/err"
result "which needs none" $? "$T/err"
if type -P git >/dev/null && type -P strace >/dev/null; then
	# Each file that git itself opens is one that strace sees it open.
	HOME=$T timeout 60 strace -f -e trace=openat -o "$T/strace.txt" git -C "$T" --version >"$T/out" 2>&1
	HOME=$T "$BRACE" record -o "$T/trace" --mode block --args -l open64 -- git -C "$T" --version >"$T/out" 2>"$T/err"
	"$BRACE" replay "$T/trace" | sed -nE 's/.*open64\(pathname=("[^"]*"), .*/\1/p' | sort -u >"$T/calls"
	sed -nE 's/.*openat\([^"]*("[^"]*"),.*/\1/p' "$T/strace.txt" | sort -u | comm -13 - "$T/calls" >"$T/differences"
	[ -s "$T/calls" ] && [ ! -s "$T/differences" ]
	result "git's open64, as strace has it" $? "$T/calls" "$T/differences"
else
	skip "git's open64, as strace has it" "there is no git, or no strace"
fi

# --- gdb, at the same calls
if type -P gdb >/dev/null && [ -x "$T/answers2" ]; then
	{
		for function in scale half name; do
			echo "break $function"
		done
		echo 'run 7 60'
		for _ in {1..15}; do printf 'finish\ncontinue\n'; done
	} >"$T/script"
	DEBUGINFOD_URLS='' ACCOUNT='' timeout -s KILL 120 gdb -nx -batch -x "$T/script" "$T/answers2" >"$T/gdb" 2>"$T/err" </dev/null
	"$BRACE" record -q --mode block -o "$T/trace" -l scale -l half -l name --retval -- "$T/answers2" 7 60 >/dev/null 2>"$T/err"
	"$BRACE" replay "$T/trace" | sed -nE 's/.* = (.*) \*\/$/\1/p' | head -n 15 >"$T/calls"
	"$PYTHON" - "$T/gdb" "$T/calls" >"$T/differences" 2>&1 <<-'END'
		import re, struct, sys
		gdb = re.findall(r'Value returned is \$\d+ = (.*)', open(sys.argv[1]).read())
		ours = open(sys.argv[2]).read().splitlines()
		def same(a, b):
		    if a.startswith('0x'):
		        a = a.split(' ', 1)[1] if '"' in a else '0x0' if a == '0x0' else '(fault)'
		        return a == b or b.endswith('...') and a.startswith(b[:-4])
		    return struct.pack('f', float(a)) == struct.pack('f', float(b))
		wrong = [p for p in zip(gdb, ours) if not same(*p)]
		print(len(gdb), len(ours), wrong)
		sys.exit(len(gdb) != 15 or len(ours) != 15 or bool(wrong))
	END
	result "gdb's finish has the same values" $? "$T/differences"
fi
if type -P gdb >/dev/null; then
	for level in 0 2; do
		{
			echo 'set print elements 200'
			echo 'set print frame-arguments none'
			for function in price many paint area is_odd letter nothing; do
				printf 'break %s\ncommands\nsilent\necho CALL %s\\n\ninfo args\ncontinue\nend\n' $function $function
			done
			echo 'run 7 200'
		} >"$T/script"
		# Without debuginfod, the user's settings, or a terminal.
		export ACCOUNT=$T/account
		DEBUGINFOD_URLS='' timeout -s KILL 120 gdb -nx -batch -x "$T/script" "$T/typed$level" >"$T/gdb" 2>"$T/err" </dev/null
		"$BRACE" record -q --mode block -o "$T/trace" "${FUNCTIONS[@]}" --args --retval -- "$T/typed$level" 7 200 2>"$T/err"
		"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
		calls_of "$T/graph" >"$T/calls"
		"$PYTHON" "$HERE/gdb_arguments.py" "$T/gdb" "$T/calls" >"$T/differences"
		status=$?
		result "gdb has the same values at -O$level: $(tail -n 1 "$T/differences")" $status "$T/differences"
	done
else
	skip "gdb's values" "there is no gdb"
fi

if type -P gdb >/dev/null && type -P g++ >/dev/null; then
	for level in 0 2; do
		{
			echo 'set print elements 200'
			echo 'set print frame-arguments none'
			echo 'set print pretty off'
			for function in price little much crowded; do
				printf 'break %s\ncommands\nsilent\necho CALL %s\\n\ninfo args\ncontinue\nend\n' $function $function
			done
			echo 'run 5 200'
		} >"$T/script"
		export ACCOUNT=$T/account
		DEBUGINFOD_URLS='' timeout -s KILL 120 gdb -nx -batch -x "$T/script" "$T/structures$level" >"$T/gdb" 2>"$T/err" </dev/null
		"$BRACE" record -q --mode block -o "$T/trace" -l price -l little -l much -l crowded --args --retval -- "$T/structures$level" 5 200 2>"$T/err"
		"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
		calls_of "$T/graph" >"$T/calls"
		"$PYTHON" "$HERE/gdb_arguments.py" "$T/gdb" "$T/calls" >"$T/differences"
		status=$?
		result "gdb has the same structures at -O$level: $(tail -n 1 "$T/differences")" $status "$T/differences"
	done
else
	skip "gdb's structures" "there is no gdb, or no g++"
fi

# --- pointers to functions have their names: gdb knows what lies at each address
gcc -g -O1 -no-pie -o "$T/pointed" "$HERE/../targets/pointed.c" 2>"$T/err" || not_ok "pointed" "$T/err"
"$BRACE" record -q --mode block -o "$T/trace" -l keep -l inside -l run -l by_address --args --args-depth=1 --retval -- "$T/pointed" 2>"$T/err"
"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
[ "$(grep -oE '(handler|any|first|compare|at)=0x[0-9a-f]+ <(on_signal|by_number)' "$T/graph" | wc -l)" -eq 160 ] && grep -q '= 0x[0-9a-f]* <on_signal>' "$T/graph"
result "arguments, members and values that point to functions have names" $? "$T/graph" "$T/err"
if type -P gdb >/dev/null; then
	grep -oE '0x[0-9a-f]+( <[^>]*>)?' "$T/graph" | sort -u >"$T/pointers"
	sed -E 's/^(0x[0-9a-f]+).*/echo \1|\ninfo symbol \1/' "$T/pointers" >"$T/script"
	DEBUGINFOD_URLS='' timeout -s KILL 120 gdb -nx -batch -x "$T/script" "$T/pointed" >"$T/gdb" 2>"$T/err" </dev/null
	"$PYTHON" - "$T/pointers" "$T/gdb" >"$T/differences" 2>&1 <<-'END'
		import re, sys
		ours = [line.rstrip('\n').partition(' ')[::2] for line in open(sys.argv[1])]
		theirs = {}
		for at, symbol in re.findall(r'^(0x\w+)\|(.*)$', open(sys.argv[2]).read(), re.M):
		    found = re.match(r"([\w.]+)(?: \+ (\d+))? in section", symbol)
		    theirs[at] = '<%s%s>' % (found[1], '+0x%x' % int(found[2]) if found[2] else '') if found else ''
		wrong = [(at, name, theirs.get(at)) for at, name in ours if theirs.get(at) != name]
		print(len(ours), 'pointers', sum(bool(name) for _, name in ours), 'named', wrong)
		sys.exit(bool(wrong) or sum(bool(name) for _, name in ours) < 3 or len(ours) < 7)
	END
	status=$?
	result "gdb has the same symbols: $(tail -n 1 "$T/differences")" "$status" "$T/differences" "$T/gdb"
else
	skip "gdb's symbols" "there is no gdb"
fi

# --- nothing that is read may fault the program
"$BRACE" record -q --mode block -o "$T/trace" -l letter --args -- "$T/typed2" unmap 20000 2>"$T/err"
result "strings that another thread unmaps: the program survives" $? "$T/err"
"$BRACE" replay "$T/trace" >"$T/graph"
[ "$(grep -c ' letter(' "$T/graph")" -eq 20000 ] && ! grep ' letter(' "$T/graph" | grep -vE "letter\(c='a', unused=(\"\"|\(fault\)), \.\.\.\);" >"$T/odd"
result "and each is empty, or a fault" $? "$T/odd"

# Several strings of a call are read at once: each is what it is by itself, also behind one that cannot be read, and at the end
# of what is mapped.
cat >"$T/texts.c" <<'END'
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
static _Atomic int over;
static char *page; /* comes and goes, if the program has an argument; no page behind it */
__attribute__((noipa)) long texts(const char *a, const char *b, int n, const char *c, const char *d) { return n + (a == b) + (c == d); }
static void *unmap(void *arg)
{
	while (!over) {
		munmap(page, 4096);
		mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
	return arg;
}
int main(int argc, char **argv)
{
	static char text[] = "in the data", edge[] = "the last";
	char own[16] = "on the stack";
	pthread_t thread;

	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(page + 4096, 4096);
	if (argc > 1) {
		pthread_create(&thread, NULL, unmap, NULL);
		for (int i = 0; i < 20000; i++)
			texts(text, page + i % 4096, i, own, text);
		over = 1;
		return pthread_join(thread, NULL);
	}
	strcpy(page + 4096 - sizeof(edge), edge);
	memset(page + 3000, 'x', 100);
	texts(text, page + 4096 - sizeof(edge), 1, own, page + 3000);
	texts((char *)8, text, 2, page + 4096, own);
	texts(NULL, (char *)-1, 3, "", NULL);
	return 0;
}
END
gcc -g -O2 -pthread -o "$T/texts" "$T/texts.c" 2>"$T/err"
result "calls with four strings" $? "$T/err"
"$BRACE" record -q --mode block -o "$T/trace" -l texts --args -- "$T/texts" 2>"$T/err" && "$BRACE" replay "$T/trace" >"$T/graph"
sed -nE 's/^.* (texts\(.*\));.*/\1/p' "$T/graph" | diff - <(
	x=$(printf '%064d' 0 | tr 0 x)
	printf 'texts(a="in the data", b="the last", n=1, c="on the stack", d="%s"...)\n' "$x"
	printf '%s\n' 'texts(a=(fault), b="in the data", n=2, c=(fault), d="on the stack")' 'texts(a=0x0, b=(fault), n=3, c="", d=0x0)'
) >"$T/differences"
result "each is what it is" $? "$T/differences"
"$BRACE" record -q --mode block -o "$T/trace" -l texts --args -- "$T/texts" unmap 2>"$T/err"
result "one that another thread unmaps: the program survives" $? "$T/err"
"$BRACE" replay "$T/trace" >"$T/graph"
[ "$(grep -cE ' texts\(a="in the data", b=(""|\(fault\)), n=[0-9]+, c="on the stack", d="in the data"\);' "$T/graph")" -eq 20000 ]
result "and the others are what they are" $? "$T/graph"

# --- a function whose rare part the compiler put elsewhere
cat >"$T/rare.c" <<'END'
#include <stdlib.h>
__attribute__((cold, noinline)) void rarely(int n) { if (n < 9) abort(); }
__attribute__((noipa)) int parted(int n, const char *text) { if (n < 0) { rarely(n); rarely(n + 1); } return n + *text; }
int main(void) { return parted(3, "") + parted(4, "") != 7; }
END
gcc -g -O2 -o "$T/rare" "$T/rare.c" 2>"$T/err" && nm "$T/rare" | grep -q ' parted.cold$'
result "a function in two pieces" $? "$T/err"
"$BRACE" record -q --mode block -o "$T/trace" -l parted --args --retval -- "$T/rare" 2>"$T/err" && "$BRACE" replay "$T/trace" >"$T/graph"
calls_of "$T/graph" >"$T/calls"
printf '%s\n' 'parted(n=3, text="") = 3' 'parted(n=4, text="") = 4' | diff - "$T/calls" >"$T/differences"
result "has its arguments" $? "$T/differences"

# --- a program that is killed for the call that reads memory: its strings cannot be read then
cat >"$T/closed.c" <<'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
__attribute__((noipa)) int first(const char *text) { return *text; }
int main(void)
{
	struct sock_filter code[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
				      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
				      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 4, code };
	char *text = strdup("Where?");
	int n = first(text);

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	return n != first(text);
}
END
gcc -g -O2 -o "$T/closed" "$T/closed.c" 2>"$T/err" &&
	"$BRACE" record -q --mode block -o "$T/trace" -l first --args --retval -- "$T/closed" 2>>"$T/err"
result "a filter that kills for process_vm_readv" $? "$T/err"
"$BRACE" replay "$T/trace" >"$T/graph"
calls_of "$T/graph" >"$T/calls"
printf '%s\n' 'first(text="Where?") = 87' 'first(text=(fault)) = 87' | diff - "$T/calls" >"$T/differences"
result "then strings are faults" $? "$T/differences"

# --- pointers to variables have their names: the program knows them
globals_account() { # NAME PROGRAM OPTION...
	ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" -l take --args "${@:3}" -- "$2" 2>"$T/err"
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	calls_of "$T/graph" | sed 's/ =.*$//' >"$T/calls"
	grep -oE 'take\(at=[^)]*\)' "$T/graph" | diff "$T/account" - >"$T/differences" && [ "$(wc -l <"$T/account")" -eq 75 ]
	result "$1" $? "$T/differences"
}
for kind in "" -no-pie -static; do
	# shellcheck disable=SC2086 # none, or one word
	gcc -g -O1 $kind -o "$T/globals" "$HERE/../targets/globals.c" 2>"$T/err" || not_ok "gcc $kind" "$T/err"
	globals_account "pointers to variables, gcc $kind" "$T/globals"
done
gcc -g -O1 -o "$T/globals" "$HERE/../targets/globals.c"
objcopy --only-keep-debug "$T/globals" "$T/globals.debug" && strip "$T/globals" && objcopy --add-gnu-debuglink="$T/globals.debug" "$T/globals"
globals_account "by the separate debug file" "$T/globals"
ACCOUNT=$T/account "$BRACE" graph --args -l take -- "$T/globals" >"$T/graph" 2>"$T/err"
grep -oE 'take\(at=[^)]*\)' "$T/graph" | diff "$T/account" - >"$T/differences"
result "the same without a file" $? "$T/differences"
"$BRACE" record -q -o "$T/trace" -l take -- "$T/globals" && ! "$BRACE" replay "$T/trace" | grep -q '<table'
result "without arguments there are none" $?

# --- decimal numbers and _Float16: gdb's info args, digit by digit; each returns its argument
if ! gcc -g -O1 -o "$T/decimals" "$HERE/../targets/decimals.c" 2>"$T/err"; then
	skip "decimal numbers and _Float16" "gcc has none"
elif ! type -P gdb >/dev/null; then
	skip "decimal numbers and _Float16" "there is no gdb"
else
	"$BRACE" record -q --mode block -o "$T/trace" -l half -l wide -l narrow -l widest -l mix --args --retval -- "$T/decimals" 2>"$T/err"
	"$BRACE" replay "$T/trace" >"$T/graph" 2>>"$T/err"
	calls_of "$T/graph" >"$T/calls"
	cat >"$T/script" <<-'END'
		set confirm off
		set pagination off
		set print frame-arguments none
		break half
		break wide
		break narrow
		break widest
		break mix
		commands 1-5
		silent
		info args
		echo .\n
		cont
		end
		run
	END
	DEBUGINFOD_URLS='' timeout -s KILL 120 gdb -nx -batch -x "$T/script" "$T/decimals" >"$T/gdb" 2>"$T/err" </dev/null
	"$PYTHON" - "$T/calls" "$T/gdb" >"$T/differences" 2>&1 <<-'END'
		import re, sys
		ours, returned = [], 0
		for line in open(sys.argv[1]):
		    name, args, value = re.match(r'(\w+)\((.*)\) = (.*)$', line).groups()
		    ours.append(args)
		    if name != 'mix' and value == re.search(r'\ba=([^,]*)', args)[1]:
		        returned += 1
		stops = open(sys.argv[2]).read().split('\n.\n')[:-1]
		theirs = [', '.join(l.replace(' = ', '=') for l in s.splitlines() if re.match(r'\w+ = ', l)) for s in stops]
		wrong = [(a, b) for a, b in zip(ours, theirs) if a != b]
		print(len(ours), 'calls', len(theirs), 'of gdb', returned, 'returned', wrong[:5])
		sys.exit(bool(wrong) or len(ours) != len(theirs) or len(ours) < 300 or returned < len([a for a in ours if not a.startswith('m=')]))
	END
	status=$?
	result "decimal numbers and _Float16 are gdb's: $(tail -n 1 "$T/differences")" "$status" "$T/differences" "$T/err"
fi

# --- a program without debug information has plain calls
strip -g -o "$T/nameless" "$T/typed0"
ACCOUNT=$T/account "$BRACE" record -o "$T/trace" -l price -l many --args -- "$T/nameless" 7 50 2>"$T/err"
"$BRACE" replay "$T/trace" | grep -q ' price();'
result "without debug information" $? "$T/err"
grep -q '^brace: nameless has no debug information: arguments and types of 2 functions are not known (' "$T/err"
result "which is said" $? "$T/err"

# A function that is named has the registers, by the numbers that arguments have in them.
ACCOUNT=$T/account "$BRACE" record -q --mode block -o "$T/trace" -l price -l many -l letter --args=price --args=many -- "$T/nameless" 7 50 2>"$T/err"
"$BRACE" replay "$T/trace" >"$T/graph"
sed -nE 's/^price\(.*cents=(-?[0-9]+).*/\1/p' "$T/account" >"$T/cents"
sed -nE 's/^.* price\((arg1=0x[0-9a-f]+, .*arg6=0x[0-9a-f]+)\);.*/\1/p' "$T/graph" >"$T/calls"
[ -s "$T/cents" ] && [ "$(wc -l <"$T/cents")" -eq "$(wc -l <"$T/calls")" ] && ! grep -q ' letter(arg' "$T/graph"
result "a named function has its registers" $? "$T/graph"
while IFS= read -r cents && IFS= read -r call <&3; do
	printf '%d %d\n' "$cents" $((($(sed -E "s/.*arg1=(0x[0-9a-f]+).*/\1/" <<<"$call") << 32) >> 32))
done <"$T/cents" 3<"$T/calls" | awk '$1 != $2 { print "account " $1 ", register " $2; bad = 1 } END { exit bad || !NR }' >"$T/differences"
result "with what the program passed" $? "$T/differences"

ACCOUNT=$T/account "$BRACE" record -o "$T/trace" -l price --args='pri*' --retval=letter -- "$T/typed0" 7 50 2>"$T/err"
grep -q '^brace: no traced function matches --retval=GLOB: ' "$T/err" && ! grep -q -e ' --args=GLOB' -e 'debug information' "$T/err"
result "and so is a glob that no traced function matches" $? "$T/err"
finish

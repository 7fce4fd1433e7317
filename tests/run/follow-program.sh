#!/bin/bash
# SPDX-License-Identifier: MIT
# brace follow over a program's own objects (tests/targets/clients.c): the calls that it tells are those at which gdb's
# breakpoints with the same condition stop, by the field and by identity; C++; without debug information.
. "$(dirname "$0")/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
need gcc

# calls_of JSON [OBJECT]: the functions, in the order of their entries
calls_of() {
	"$PYTHON" - "$@" <<'PY'
import json, sys
for line in open(sys.argv[1]):
    event = json.loads(line)
    if event.get("is_return") is False and (len(sys.argv) < 3 or event["object"] == int(sys.argv[2])):
        print(event["function"])
PY
}

# follow OPTION... -- PROGRAM...: JSON into $T/json, the summary into $T/err
follow() { "$BRACE" follow --json -o "$T/json" "$@" >"$T/out" 2>"$T/err"; }

# gdb_calls PROGRAM WHAT: functions at whose beginning the client of fd 17 is the argument; WHAT: field or identity
gdb_calls() {
	local f condition
	{
		echo 'set $it = (client_t *)0'
		for f in answer:c measure:c link_to:from link_to:to copy:c drop:c; do
			condition="${f#*:}->fd == 17"
			[ "$2" = field ] || condition="${f#*:} == \$it"
			printf 'break %s if %s\ncommands\nsilent\nprintf "call %s\\n"\ncontinue\nend\n' "${f%:*}" "$condition" "${f%:*}"
		done
		# it begins with handle(), and after the call by drop() its memory is another's
		printf 'break handle if c->fd == 17\ncommands\nsilent\nset $it = c\nprintf "call handle\\n"\ncontinue\nend\n'
		condition='c->fd == 17'
		[ "$2" = field ] || condition='c == $it'
		printf 'break parse if %s\ncommands\nsilent\nprintf "call parse\\n"\nif !*text\nset $it = (client_t *)0\nend\ncontinue\nend\nrun\n' "$condition"
	} >"$T/gdb"
	gdb -q -batch -nx -x "$T/gdb" "$1" 2>"$T/gdb.err" </dev/null | sed -n 's/^.*call \([a-z_]*\)$/\1/p'
}

for level in 0 2; do
	gcc -g -O$level -pthread -o "$T/clients$level" "$HERE/../targets/clients.c" 2>"$T/err" || not_ok "gcc -O$level" "$T/err"
	for by in field identity; do
		follow 'struct client.fd==17' --by $by --end drop --mode block -- "$T/clients$level"
		calls_of "$T/json" 1 >"$T/calls"
		if type -P gdb >/dev/null; then
			gdb_calls "$T/clients$level" $by >"$T/truth"
			[ -s "$T/truth" ] && diff "$T/truth" "$T/calls" >"$T/differences"
			result "by $by: the calls at which gdb stops, gcc -O$level" $? "$T/differences"
		[ $by = identity ] ||
			check "by field: other calls leave no record, gcc -O$level" grep -q "^brace: $(wc -l <"$T/calls") calls recorded; lost: 0 records" "$T/err"
		else
			skip "by $by: the calls at which gdb stops, gcc -O$level" "there is no gdb"
		fi
	done
	[ "$(calls_of "$T/json" 2 | paste -sd' ')" = "link_to parse drop parse" ]
	result "what copy() returns is followed, to drop(), gcc -O$level" $? "$T/json"
done

# --- all clients: as many as the program has, each to its end, and nothing else
follow client --end drop --mode block -- "$T/clients2"
check "each object, call and return" grep -qx 'brace: 80 objects, 520 calls, 520 returned' "$T/err"
check "480 calls are recorded, and none is lost" grep -qx 'brace: 480 calls recorded; lost: 0 records, 0 calls without their arguments' "$T/err"
check "seven functions take one" grep -qE '^brace: 7 of 7 functions that take a struct client watched' "$T/err"

# --- fields, text, bits; what an address leads to that is not there
"$BRACE" follow 'client.fd==17' --end drop --show 'c->fd,session->user,session->level,name,flags,served' -o "$T/text" -- "$T/clients2" 2>"$T/err"
check "fields through pointers" grep -qF 'parse(); /* c->fd=17 session->user="user17" session->level=-17 name="odd" flags=5 served=0 ret=20 */' "$T/text"
check "what cannot be read" grep -qF 'link_to(); /* c->fd=-1 session->user=? session->level=? name="odd"' "$T/text"
check "an object of an object" grep -qE '^# object 2: struct client at 0x[0-9a-f]+, made of object 1 by copy, 4 calls, ended by drop$' "$T/text"
follow 'client.session->level < -30 && flags==0' --by field -- "$T/clients2"
[ "$(calls_of "$T/json" | sort | uniq -c | paste -sd, | tr -s ' ')" = " 9 handle" ]
result "a condition behind a pointer, with a sign" $? "$T/json"
# The sentences' figures, in the lines that end the JSON.
tr -d , <"$T/err" | sed -n 's/^brace: \([0-9]*\) objects* \([0-9]*\) calls* \([0-9]*\) returned$/\1 \2 \3/p
	s/^brace: \([0-9]*\) of \([0-9]*\) functions that take .*/\1 of \2/p; s/^brace: \([0-9]*\) calls recorded; lost: \([0-9]*\) records \([0-9]*\) calls .*/\1 \2 \3/p' >"$T/sentences"
tail -n 2 "$T/json" | "$PYTHON" -c 'import json, sys
objects, program = map(json.loads, sys.stdin)
print(objects["objects"], objects["calls"], objects["returns"])
print(program["watched"], "of", program["takes"])
print(program["recorded"], program["lost_records"], program["without_arguments"])' >"$T/lines"
[ "$(grep -c . "$T/sentences")" = 3 ] && diff "$T/sentences" "$T/lines" >"$T/diff"
result "--json ends with the summary, with the sentences' figures" $? "$T/diff"
follow 'client.fd==17' -l 'a*' -l parse -n answer --by field -- "$T/clients2"
check "-l and -n" grep -qx 'brace: 1 of 7 functions that take a struct client watched; not watched: 6 not chosen' "$T/err"

follow 'client.fd==17' --by field --max-depth 1 --mode block -o "$T/text" -- "$T/clients2"
check "--max-depth: the graph alone is cut, all calls are counted" grep -qx 'brace: 1 object, 4 calls, 4 returned' "$T/err"

# --- faults
refuses() { # NAME STATUS WORDS COMMAND...
	"${@:4}" >"$T/out" 2>"$T/err"
	local status=$?
	[ $status -eq "$2" ] && grep -qF -- "$3" "$T/err"
	result "$1" $? "$T/err"
}
refuses "an unknown type" 125 'did you mean client?' "$BRACE" follow 'struct clint.fd==1' -- "$T/clients2"
refuses "an unknown field" 125 'has no member df' "$BRACE" follow 'client.df==1' -- "$T/clients2"
refuses "a field that is no integer" 125 'the field is no integer' "$BRACE" follow 'client.pad==1' -- "$T/clients2"
refuses "a number that it never has" 125 'the field has 3 bits' "$BRACE" follow 'client.flags==9' -- "$T/clients2"
refuses "neither a program nor the kernel" 125 'or -k for objects of the kernel' "$BRACE" follow 'client.fd==1'
refuses "an option of the kernel's" 125 'is for objects of the kernel' "$BRACE" follow --limit 7 'client' -- "$T/clients2"
refuses "a preset of the kernel's" 125 'is an object of the kernel' "$BRACE" follow file:/etc/passwd -- "$T/clients2"

refuses "-l that names none" 125 'of the 7 functions that take a struct client none can be watched: 7 are not chosen' \
	"$BRACE" follow client -l main -- "$T/clients2"

# --- without debug information, and attached: by the address
gcc -O1 -s -pthread -o "$T/bare" "$HERE/../targets/clients.c"
refuses "no debug information" 125 "an object is followed by its address: '\$any==0x...'" "$BRACE" follow 'client.fd==1' -- "$T/bare"
# waits PROGRAM: a process that has told its client's address
waits() {
	rm -f "$T/in" "$T/told"
	mkfifo "$T/in"
	"$1" wait <"$T/in" >"$T/told" &
	CHILD=$!
	exec 9>"$T/in"
	until_is test -s "$T/told"
}
# attached OPTION...: JSON of the process, which goes on when it is attached to
is_attached() { grep -q memfd:brace-agent "/proc/$CHILD/maps"; }
attached() {
	"$BRACE" follow --json -o "$T/json" -p $CHILD "$@" 2>"$T/err" &
	local brace=$!
	until_is is_attached
	echo >&9
	exec 9>&-
	wait $brace
}
gcc -O1 -pthread -o "$T/plain" "$HERE/../targets/clients.c"
waits "$T/plain"
attached "\$any==$(cat "$T/told")"
[ "$(calls_of "$T/json" | grep -v free | paste -sd' ')" = "handle parse answer measure hidden answer drop parse" ]
result "by the value of an argument" $? "$T/json"
waits "$T/clients2"
attached 'client.fd==2017'
[ "$(calls_of "$T/json" | paste -sd' ')" = "handle parse answer measure answer drop parse" ]
result "attached, by the field" $? "$T/json"

# --- a type that only a library has, which is loaded later: -L names its file
cat >"$T/plugin.c" <<'CC'
struct plugin { long number; };
__attribute__((noinline)) long work(struct plugin *p) { __asm__ volatile(""); return p->number; }
long run(void) { struct plugin a = { 1 }, b = { 2 }; return work(&a) + work(&b) + work(&b); }
CC
cat >"$T/host.c" <<'CC'
#include <dlfcn.h>
int main(int argc, char **argv) { void *l = dlopen(argv[1], RTLD_NOW); return l ? (int)((long (*)(void))dlsym(l, "run"))() - 5 : 1; }
CC
gcc -g -O0 -shared -fPIC -o "$T/plugin.so" "$T/plugin.c" && gcc -g -o "$T/host" "$T/host.c" -ldl
refuses "a type of a library that is loaded later" 125 'if the program loads its library later' "$BRACE" follow 'struct plugin.number==2' -- "$T/host" "$T/plugin.so"
follow 'struct plugin.number==2' -L "$T/plugin.so" --by field --mode block -- "$T/host" "$T/plugin.so"
[ "$(calls_of "$T/json" | paste -sd' ')" = "work work" ]
result "-L with its file finds it" $? "$T/err"

# --- C++: this, references, namespaces; a call that an exception leaves
if type -P g++ >/dev/null; then
	cat >"$T/shop.cc" <<'CC'
#include <stdexcept>
namespace shop {
struct Client { int fd = 0; __attribute__((noinline)) int read(int n) { asm volatile(""); if (n > 2) throw std::runtime_error("x"); return n; } };
__attribute__((noinline)) int look(const Client &c) { asm volatile(""); return c.fd; }
__attribute__((noinline)) int serve(double d, Client &&c) { asm volatile(""); try { return c.read(3); } catch (...) { return look(c); } }
}
int main() { shop::Client a, b; a.fd = 1; b.fd = 2; return shop::serve(1, static_cast<shop::Client &&>(b)) + shop::serve(2, static_cast<shop::Client &&>(a)) - 3; }
CC
	g++ -g -O1 -o "$T/shop" "$T/shop.cc"
	"$BRACE" follow 'class shop::Client.fd==2' -o "$T/text" -- "$T/shop" 2>"$T/err"
	check "this, const & and &&" grep -qx 'brace: 1 object, 3 calls, 3 returned' "$T/err"
	check "an exception leaves a call" grep -qE '(read|shop::Client::read).*unwound' "$T/text"
	# a class is followed through what takes one derived from it, by the base in it
	cat >"$T/base.cc" <<'CC'
struct Tag { long tag = 7; };
struct Base { int fd = 0; };
struct Derived : Tag, Base { long own = 1; __attribute__((noinline)) long use(long n) { asm volatile(""); return n + own; } };
struct Further : Derived { char name[8]; };
__attribute__((noinline)) int look(const Base *b) { asm volatile(""); return b ? b->fd : 0; }
__attribute__((noinline)) int take(Further &f) { asm volatile(""); return look(&f); }
__attribute__((noinline)) int other(Tag *t, Derived *d) { asm volatile(""); return (int)t->tag + look(d); }
int main() { Further a, b; a.fd = 1; b.fd = 2; return take(a) + take(b) + (int)b.use(3) + other(&a, &b) + other(&b, nullptr) - 23; }
CC
	g++ -g -O1 -o "$T/base" "$T/base.cc"
	for by in field identity; do
		follow 'struct Base.fd==2' --by $by --mode block -- "$T/base"
		[ "$(calls_of "$T/json" | paste -sd' ')" = "take look Derived::use other look" ]
		result "a base class, in what takes a derived one, by $by" $? "$T/json"
	done
	check "functions that take a derived class are counted" grep -qE '^brace: [0-9]+ of [0-9]+ functions that take a struct Base watched' "$T/err"
	# and a derived class through what takes a base of it, its pointer led back to the object
	cat >"$T/derived.cc" <<'CC'
struct Tag { long tag = 7; };
struct Base { int fd = 0; __attribute__((noinline)) int hello(int n) { asm volatile(""); return n + fd; } };
struct Middle : Tag, Base { long between = 3; };
struct Derived : Middle { long own = 1; };
struct Other : Base { };
__attribute__((noinline)) int look(const Base *b) { asm volatile(""); return b ? b->fd : 0; }
__attribute__((noinline)) long mark(int n, Tag &t) { asm volatile(""); return n + t.tag; }
__attribute__((noinline)) long take(Derived &d) { asm volatile(""); return look(&d) + mark(1, d) + d.hello(2); }
__attribute__((noinline)) int sibling(Other *o) { asm volatile(""); return o->fd; }
int main() { Derived a, b; Other o; b.own = 2; long n = look(&b); n += take(a) + take(b) + look(&o) + look(nullptr) + sibling(&o); mark(0, b); look(&a); return n != 20; }
CC
	g++ -g -O1 -o "$T/derived" "$T/derived.cc"
	follow 'struct Derived.own==2' --mode block -- "$T/derived"
	[ "$(calls_of "$T/json" | paste -sd' ')" = "take look mark Base::hello mark" ]
	result "a derived class, in what takes a base of it" $? "$T/json"
	check "all of its bases' functions are watched, a sibling's are not" grep -qE '^brace: 4 of 4 functions that take a struct Derived watched' "$T/err"
	follow 'struct Derived.own==2' --by field --mode block -- "$T/derived"
	[ "$(calls_of "$T/json" | paste -sd' ')" = take ]
	result "by the field, a base tells nothing" $? "$T/json"
else
	skip "C++" "there is no g++"
fi
finish

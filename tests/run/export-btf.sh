#!/bin/bash
# `brace export --to trace.dat.v7` of a trace with arguments: the file has BTF. libbpf reads it, and a trace-cmd that knows of it (3.4;
# $TRACE_CMD if that is another one) prints the arguments that the program's source has, or the program itself tells. Values that were
# returned are in the records, which a trace-cmd of any age prints raw, and 3.4 beside the call.
. "$(dirname "$0")/lib.sh"
need cc zstd python3 trace-cmd
read -ra TRACE_CMD <<<"${TRACE_CMD:-trace-cmd}"

cat >"$T/given.c" <<'C'
#include <stdbool.h>
#include <stdio.h>
enum colour { RED = -1, GREEN, BLUE };
enum state { OFF, ON };
enum mask { LOW = 1, HIGH = 0x7fffffffffffffff };
struct big { long a, b, c; };
#define N __attribute__((noinline, noclone))
N int add(int a, unsigned b) { __asm__ volatile(""); return a + (int)b; }
N long narrow(signed char a, unsigned short b, long c, unsigned long d) { __asm__ volatile(""); return a + b + c + (long)d; }
N int letter(char c, bool yes) { __asm__ volatile(""); return c + yes; }
N int text(int before, const char *text, int behind) { __asm__ volatile(""); return text[0] + before + behind; }
N double real(double x, float y) { __asm__ volatile(""); return x + (double)y; }
N int paint(enum colour c, int *where) { __asm__ volatile(""); return *where + (int)c; }
N int turn(enum state s) { __asm__ volatile(""); return (int)s; }
N long wide(enum mask m) { __asm__ volatile(""); return (long)m; }
N long all(struct big p, int last) { __asm__ volatile(""); return p.a + p.b + p.c + last; }
N int many(int n, ...) { __asm__ volatile(""); return n; }
N int nothing(void) { __asm__ volatile(""); return 1; }
N int same(int n) { __asm__ volatile(""); return n; }
N int other(OTHER n) { __asm__ volatile(""); return n != 0; }
N long deep(long n) { __asm__ volatile(""); return n ? deep(n - 1) + add((int)-n, 7) : 0; }
N int minus(void) { __asm__ volatile(""); return -5; }
N unsigned positive(void) { __asm__ volatile(""); return 0xfffffffb; }
N signed char small(void) { __asm__ volatile(""); return -2; }
N bool agree(void) { __asm__ volatile(""); return true; }
N enum colour shade(void) { __asm__ volatile(""); return RED; }
N float half(void) { __asm__ volatile(""); return 0.5f; }
N void *at(void *p) { __asm__ volatile(""); return p; }
N const char *word(const char *w) { __asm__ volatile(""); return w + 1; }
N struct big make(void) { __asm__ volatile(""); return (struct big){ 1, 2, 3 }; }
N void none(void) { __asm__ volatile(""); }
int main(void)
{
	static char bytes[] = "bytes";
	int where = 5;
	struct big b = { 1, 2, 3 };
	add(-3, 4); narrow(-2, 0xffff, -5000000000, 1ul << 63); letter('x', true); text(3, "hello", 4); real(1.5, 2.5f);
	paint(RED, &where); paint(BLUE, &where); turn(ON); wide(HIGH); all(b, 8); many(2, 3, 4); nothing(); same(6); other(7); deep(2);
	minus(); positive(); small(); agree(); shade(); half(); at(&where); word(bytes); make(); none();
	printf("%p\n%p\n", (void *)&where, (void *)(bytes + 1));
	return 0;
}
C
cc -g -O1 -fno-optimize-sibling-calls -DOTHER=int -o "$T/given" "$T/given.c" && cc -g -O1 -fno-optimize-sibling-calls -DOTHER=long -o "$T/second" "$T/given.c"
result "programs are compiled" $?

# as_btf NAME: NAME.dat of NAME.brace, and the BTF in it, NAME.btf
cat >"$T/section.py" <<'P'
"""section.py FILE: the section 23 of a trace.dat of version 7, as it is decompressed; without one there is no output."""
import struct, subprocess, sys
data = open(sys.argv[1], "rb").read()
assert data[:12] == b"\x17\x08\x44tracing7\0", data[:16]
at = data.index(b"\0", data.index(b"zstd\0") + 5) + 1
at = struct.unpack_from("<Q", data, at)[0] + 16
while True:
    option, size = struct.unpack_from("<HI", data, at)
    if option == 0:
        break
    if option == 23:
        place, = struct.unpack_from("<Q", data, at + 6)
        number, flags, _, size = struct.unpack_from("<HHIQ", data, place)
        packed, raw = struct.unpack_from("<II", data, place + 16)
        assert (number, flags) == (23, 1) and size == packed + 8, (number, flags, size, packed)
        btf = subprocess.run(["zstd", "-dcq"], input=data[place + 24:place + 24 + packed], stdout=subprocess.PIPE, check=True).stdout
        assert len(btf) == raw, (len(btf), raw)
        sys.stdout.buffer.write(btf)
        break
    at += 6 + size
P
as_btf() {
	"$BRACE" export --to trace.dat.v7 "$T/$1.brace" -o "$T/$1.dat" 2>"$T/$1.said" && python3 "$T/section.py" "$T/$1.dat" >"$T/$1.btf" 2>"$T/err"
	result "$1: a file is written, and its sections lead to each other" $? "$T/err"
}
timeout -k 5 "$LIMIT" "$BRACE" record -q --args --retval --mode block -o "$T/one.brace" -- "$T/given" >"$T/where" 2>"$T/err" </dev/null
result "a trace with arguments is made" $? "$T/err"
timeout -k 5 "$LIMIT" "$BRACE" record -q --args --mode block -o "$T/two.brace" -- sh -c "'$T/given'; '$T/second'" >"$T/out" 2>"$T/err" </dev/null
result "a trace of two programs is made" $? "$T/err"
timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/none.brace" -- "$T/given" >"$T/out" 2>"$T/err" </dev/null
result "a trace without arguments is made" $? "$T/err"
for name in one two none; do as_btf $name; done
check_that "texts, which have no place, are told" grep -qx 'brace: trace.dat.v7 has no place for some of the trace, which is left out: 2 arguments that are texts, 2 returned values that are texts or structures' "$T/one.said"
check_that "without arguments there is no BTF" test -s "$T/one.btf" -a ! -s "$T/none.btf"

# --- libbpf's reading of it
if pkg-config --exists libbpf 2>"$T/err"; then
	cat >"$T/parse.c" <<'C'
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>
/* parse FILE: each function, its parameters' names and types. */
static void put(const struct btf *b, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(b, id);
	const char *name = btf__name_by_offset(b, t->name_off);

	if (!id || btf_is_ptr(t))
		printf("%s", id ? "*" : "-");
	else if (btf_is_int(t))
		printf("%s%u%s", btf_int_encoding(t) & BTF_INT_SIGNED ? "s" : "u", btf_int_bits(t), btf_int_encoding(t) & BTF_INT_BOOL ? "b" : "");
	else
		printf("%s%u", btf_is_enum(t) ? btf_kflag(t) ? "enum" : "uenum" : btf_is_struct(t) ? "struct" : btf_is_float(t) ? name : "?", t->size);
	for (unsigned i = 0; btf_is_enum(t) && i < btf_vlen(t); i++)
		printf(":%s=%d", btf__name_by_offset(b, btf_enum(t)[i].name_off), btf_enum(t)[i].val);
}
int main(int argc, char **argv)
{
	struct btf *b = btf__parse_raw(argv[1]);

	if (!b || (long)b < 0)
		return 1;
	for (__u32 id = 1; id < btf__type_cnt(b); id++) {
		const struct btf_type *f = btf__type_by_id(b, id), *p = btf_is_func(f) ? btf__type_by_id(b, f->type) : NULL;

		if (!p)
			continue;
		if (!btf_is_func_proto(p))
			return 2;
		printf("%s(", btf__name_by_offset(b, f->name_off));
		for (unsigned i = 0; i < btf_vlen(p); i++) {
			printf("%s%s ", i ? ", " : "", btf__name_by_offset(b, btf_params(p)[i].name_off));
			put(b, btf_params(p)[i].type);
		}
		printf(") ");
		put(b, p->type);
		printf("\n");
	}
	return 0;
}
C
	# shellcheck disable=SC2046
	cc -o "$T/parse" "$T/parse.c" $(pkg-config --cflags --libs libbpf) 2>"$T/err" && "$T/parse" "$T/one.btf" >"$T/types" 2>>"$T/err"
	result "libbpf reads it" $? "$T/err"
	cat >"$T/wanted" <<'W'
add(a s64, b u32) s64
all(p struct24, last s64) s64
deep(n s64) s64
letter(c s64, yes u8b) s64
many(n s64,  -) s64
narrow(a s64, b u16, c s64, d u64) s64
nothing() s64
other(n s64) s64
paint(c enum4:RED=-1:GREEN=0:BLUE=1, where *) s64
real(x double8, y float4) double8
same(n s64) s64
text(before s64, text -, behind s64) s64
turn(s uenum4:OFF=0:ON=1) s64
wide(m s64) s64
W
	grep -E '^(add|all|deep|letter|many|narrow|nothing|other|paint|real|same|text|turn|wide)\(' "$T/types" | LC_ALL=C sort >"$T/found"
	check_that "functions and their parameters are the source's" diff "$T/wanted" "$T/found"
	"$T/parse" "$T/two.btf" >"$T/types" 2>"$T/err"
	result "libbpf reads that of two programs" $? "$T/err"
	check_that "a function that two programs have with the same parameters is there once" test "$(grep -c '^same(' "$T/types")" = 1
	check_that "one that they have with different ones is not there" test "$(grep -c '^other(' "$T/types")" = 0
else
	skip "libbpf reads it" "libbpf-dev is not installed"
fi

# --- trace-cmd's
shown() { # NAME: each call as trace-cmd prints it, in order
	timeout 60 "${TRACE_CMD[@]}" report -i "$T/$1.dat" 2>"$T/err" | sed -nE 's/.*funcgraph_entry: .*\|  *([^ ].*\))(;| \{)( \(ret=.*)?$/\1/p'
}
{ read -r where && read -r text; } <"$T/where"
cat >"$T/wanted" <<W
add 0x1
letter 0x79
text 0x6f
real 0x4010000000000000
paint 0x4
paint 0x6
turn 0x1
wide 0x7fffffffffffffff
all 0xe
many 0x2
nothing 0x1
same 0x6
other 0x1
minus 0xfffffffffffffffb
positive 0xfffffffb
small 0xfffffffffffffffe
agree 0x1
shade 0xffffffffffffffff
half 0x3f000000
at $where
word $text
make 0x0
none 0x0
W
"$BRACE" export --to trace.dat "$T/one.brace" -o "$T/old.dat" 2>"$T/old.said"
for file in old one; do
	timeout 60 "${TRACE_CMD[@]}" report -R -i "$T/$file.dat" 2>"$T/err" | sed -nE 's/.*funcgraph_exit: *func=(\w+) [^=]*retval=(0x\w+) .*/\1 \2/p' |
		grep -vE '^(_|main|deep|narrow|printf|frame|deregister|register)' | awk '!(/^add/ && n++)' >"$T/found"
	check_that "version $([ $file = old ] && echo 6 || echo 7): each call has what it returned, a number with its sign" diff "$T/wanted" "$T/found"
done
check_that "without values there is no field of one" test "$(timeout 60 "${TRACE_CMD[@]}" report -R -i "$T/none.dat" 2>"$T/err" | grep -c 'retval=')" = 0
check_that "trace-cmd of whatever version shows every call" test "$(shown one | grep -cE '^(add|narrow|letter|text|real|paint|turn|wide|all|many|nothing|same|other|deep)\(')" = 19
version=$("${TRACE_CMD[@]}" --version 2>&1 | sed -nE 's/.*version ([0-9.]+).*/\1/p')
if [ "$(printf '%s\n' 3.4 "$version" | sort -V | head -n 1)" = 3.4 ]; then
	cat >"$T/wanted" <<W
add(a=-3, b=0x4)
narrow(a=-2, b=0xffff, c=-5000000000, d=0x8000000000000000)
letter(c=120, yes=0x1)
text(before=3, text=, behind=4)
real(x=(FLOAT)[0x3ff8000000000000], y=(FLOAT)[0x40200000])
paint(c=-1, where=$where)
paint(c=1, where=$where)
turn(s=1)
wide(m=9223372036854775807)
all(p=(STRUCT)[0x1:0x2:0x3], last=8)
many(n=2, ...)
nothing()
same(n=6)
other(n=7)
deep(n=2)
deep(n=1)
deep(n=0)
add(a=-1, b=0x7)
add(a=-2, b=0x7)
W
	shown one | grep -E '^(add|narrow|letter|text|real|paint|turn|wide|all|many|nothing|same|other|deep)\(' >"$T/found"
	check_that "trace-cmd $version prints the arguments of each call" diff "$T/wanted" "$T/found"
	timeout 60 "${TRACE_CMD[@]}" report -i "$T/one.dat" 2>"$T/err" |
		sed -nE 's/.*\|  *(add|minus|positive|shade|many|none)\((.*)\); \(ret=(.*)\)$/\1(\2) \3/p' >"$T/found"
	printf '%s\n' 'add(a=-3, b=0x4) 0x1' 'many(n=2, ...) 0x2' 'add(a=-1, b=0x7) 0x6' 'add(a=-2, b=0x7) 0x5' 'minus() -5' \
		'positive() 0xfffffffb' 'shade() -1' 'none() 0x0' >"$T/wanted"
	check_that "trace-cmd $version prints what each call returned" diff "$T/wanted" "$T/found"
	"$BRACE" import "$T/one.dat" -o "$T/again.brace" >"$T/out" 2>"$T/err" && timeout 60 "${TRACE_CMD[@]}" report -t -i "$T/one.dat" >"$T/text" 2>>"$T/err" &&
		"$BRACE" import "$T/text" -o "$T/again.brace" >"$T/out" 2>"$T/err"
	result "its text is imported" $? "$T/err"
	check_that "with the names alone" diff <("$BRACE" report --json "$T/one.brace" | sed -nE 's/.*"name":"([^"]*)".*"calls":([0-9]+).*/\1 \2/p' | sort) \
		<("$BRACE" report --json "$T/again.brace" | sed -nE 's/.*"name":"([^"]*)".*"calls":([0-9]+).*/\1 \2/p' | sort)
	check_that "of a function that programs have with different parameters it prints numbers" test "$(shown two | grep -E '^(same|other)\(' | tr '\n' ' ')" = 'same(n=6) other(7) same(n=6) other(7) '
	check_that "without arguments it shows none, and without values none" test "$(timeout 60 "${TRACE_CMD[@]}" report -i "$T/none.dat" 2>"$T/err" | sed -nE 's/.*\|  *(add\(.*)/\1/p' | sort -u)" = 'add();'
else
	skip "trace-cmd prints the arguments" "trace-cmd $version is older than 3.4"
fi
finish

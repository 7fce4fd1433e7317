#!/bin/bash
# Structures with integers of 16 bytes as arguments: in registers, where too few are left, on the stack between others; each value as
# gdb has it at the same call.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
type -P gdb >/dev/null || { printf '1..0 # SKIP there is no gdb\n'; exit 0; }
cat >"$T/wide.c" <<'C'
typedef __int128 i128;
typedef unsigned __int128 u128;
#ifdef __clang__
#define CALL __attribute__((noinline, optnone))
#else
#define CALL __attribute__((noipa))
#endif
struct wide { i128 a; int b; };
struct one { i128 a; };
struct two { u128 a, b; };
struct first { int x; u128 y; };
CALL int alone(struct one s, int k) { return k; }
CALL int memory(struct wide s, int k) { return k; }
CALL int behind(struct first s, int k) { return k; }
CALL int last(int a, int b, int c, int d, struct one s, int k) { return k; }
CALL int none(int a, int b, int c, int d, int e, struct one s, int k) { return k; }
CALL int odd(int a, int b, int c, int d, int e, int f, int g, struct wide s, int k, struct two t, int m) { return k; }
CALL int even(int a, int b, int c, int d, int e, int f, long g, long h, struct one s, int k, struct two t, int m) { return k; }
CALL int mixed(struct one s, double d, struct two t, struct one r, struct one q, struct one z, int k) { return k; }
CALL int led(const struct wide *p, int k) { return k; }
int main(void)
{
	struct wide s = { ((i128)1 << 66) + 5, 7 };
	struct one o = { -((i128)1 << 66) - 3 };
	struct two t = { ((u128)9 << 90) + 1, 12 };
	struct first x = { 3, ~(u128)0 };

	for (int i = 0; i < 10; i++) {
		s.a += i, o.a -= i, t.b += i, x.y -= i;
		alone(o, 2), memory(s, 1), behind(x, 3), last(1, 2, 3, 4, o, 5), none(1, 2, 3, 4, 5, o, 6);
		odd(1, 2, 3, 4, 5, 6, 7, s, 8, t, 9), even(1, 2, 3, 4, 5, 6, 7, 8, o, 8, t, 9), mixed(o, 1.5, t, o, o, o, 7), led(&s, 4);
	}
	return 0;
}
C
cat >"$T/compare.py" <<'P'
import re, sys
form = lambda text: re.sub(r"0x([0-9a-f]+)", lambda m: str(int(m[1], 16)), text).replace("=&{", "={").replace(" = ", "=")
theirs, ours = [], []
for line in open(sys.argv[1]):
    if line.startswith("CALL "):
        theirs.append([line.split()[1]])
    elif theirs and re.match(r"\w+ = ", line):
        theirs[-1].append(form(line.strip()))
theirs = [f"{name}({', '.join(a)})" for name, *a in theirs]
for line in open(sys.argv[2]):
    if found := re.search(r"\b(alone|memory|behind|last|none|odd|even|mixed|led)\(.*\);", line):
        ours.append(form(found[0][:-1]))
# A name is said once: of clang's a value that it leaves out is "?" or the list's end.
least = int(sys.argv[3])
wrong = [p for p in zip(theirs, ours) if p[0] != p[1] and not (least < 90 and ("?" in p[1] or "..." in p[1]))]
same = sum(a == b for a, b in zip(theirs, ours))
print(len(theirs), len(ours), same, *wrong[:3], sep="\n")
sys.exit(len(theirs) != 90 or len(ours) != 90 or bool(wrong) or same < least)
P
FUNCTIONS='alone memory behind last none odd even mixed led'
# compared NAME COMPILER LEVEL LEAST: of 90 calls so many equal gdb's, and none differs
compared() {
	local at=*
	[ "$3" != -O0 ] || at=
	"$2" "$3" -g -w -o "$T/wide" "$T/wide.c" 2>"$T/err" || { result "$1" 1 "$T/err"; return; }
	{
		echo 'set width 0'
		for f in $FUNCTIONS; do
			# What a pointer leads to is printed by hand.
			printf 'break %s%s\ncommands\nsilent\necho CALL %s\\n\n' "$at" "$f" "$f"
			if [ "$f" = led ]; then echo 'printf "p = "' && echo 'output *p' && echo 'printf "\nk = %d\n", k'; else echo 'info args'; fi
			printf 'continue\nend\n'
		done
		echo run
	} >"$T/script"
	DEBUGINFOD_URLS='' timeout -s KILL 120 gdb -nx -batch -x "$T/script" "$T/wide" >"$T/gdb" 2>"$T/err" </dev/null
	timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/trace" -L wide --args --args-depth 1 -- "$T/wide" >"$T/out" 2>"$T/err"
	"$BRACE" replay --no-pager "$T/trace" >"$T/graph" 2>>"$T/err"
	/usr/bin/python3 "$T/compare.py" "$T/gdb" "$T/graph" "$4" >"$T/differences" 2>&1
	result "$1" $? "$T/differences"
}
for level in -O0 -O1 -O2; do
	compared "gcc $level: all values are gdb's" gcc $level 90
done
if type -P clang >/dev/null; then
	# Where clang's versions differ nothing is shown.
	compared "clang -O0: none differs" clang -O0 20
else
	skip "clang" "there is no clang"
fi
finish

/* SPDX-License-Identifier: MIT */
/* Structures of two words by value whose parts gcc's code changes at once, so that the debug
 * information tells of their registers only behind the function's first instruction, or never.
 *
 *     paired SEED CALLS    writes "first(p={a=1, b=2}, last=9)" lines to $ACCOUNT
 */
#include <stdio.h>
#include <stdlib.h>

#if defined(__clang__)
#define ALONE __attribute__((noinline, optnone))
#else
#define ALONE __attribute__((noipa))
#endif

struct wide { int a; long b; };
struct narrow { signed char a; long b; };
struct large { long n[4]; };
struct mixed { int a; double b; };

static struct wide other = { -1, -2 };

ALONE long first(struct wide p, int last) { return p.a + p.b + last; }
ALONE long second(int n, struct wide p) { return p.a * n + p.b; }
ALONE long letter(struct narrow p, int last) { return p.a + p.b + last; }
ALONE long behind(double x, struct wide p) { return (long)x + p.a + p.b; }
ALONE long mixed(int n, struct mixed p) { return p.a * n + (long)p.b; }
ALONE long both(struct wide p, struct wide q) { return p.a + p.b * q.b - q.a; }
ALONE long full(int a, int b, int c, int d, int e, struct wide p) { return a + b + c + d + e + p.a + p.b; }
/* The convention passes a larger structure's address first. */
ALONE struct large returned(struct wide p) { return (struct large){ { p.a + p.b } }; }
/* What the function is called with is never looked at. */
ALONE long changed(struct wide p) { p = other; return first(p, 0); }

static unsigned long state;

static int any(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int)(state >> 33) - (1 << 30);
}

int main(int argc, char **argv)
{
	int calls = argc > 2 ? atoi(argv[2]) : 10;
	FILE *account = getenv("ACCOUNT") ? fopen(getenv("ACCOUNT"), "w") : NULL;

	state = argc > 1 ? (unsigned long)atol(argv[1]) : 1;
	if (!account)
		account = fopen("/dev/null", "w");
	for (int i = 0; i < calls; i++) {
		struct wide p = { any(), any() }, q = { any(), any() };
		struct mixed m = { any(), i / 8.0 };
		struct narrow c = { (signed char)('a' + i % 26), any() };

		first(p, i);
		fprintf(account, "first(p={a=%d, b=%ld}, last=%d)\n", p.a, p.b, i);
		second(i, p);
		fprintf(account, "second(n=%d, p={a=%d, b=%ld})\n", i, p.a, p.b);
		letter(c, i);
		fprintf(account, "letter(p={a=%d, b=%ld}, last=%d)\n", c.a, c.b, i);
		behind(i + 0.5, p);
		fprintf(account, "behind(x=%g, p={a=%d, b=%ld})\n", i + 0.5, p.a, p.b);
		mixed(i, m);
		fprintf(account, "mixed(n=%d, p={a=%d, b=%g})\n", i, m.a, m.b);
		both(p, q);
		fprintf(account, "both(p={a=%d, b=%ld}, q={a=%d, b=%ld})\n", p.a, p.b, q.a, q.b);
		full(1, 2, 3, 4, i, p);
		fprintf(account, "full(a=1, b=2, c=3, d=4, e=%d, p={a=%d, b=%ld})\n", i, p.a, p.b);
		returned(p);
		fprintf(account, "returned(p={a=%d, b=%ld})\n", p.a, p.b);
		changed(p);
		fprintf(account, "changed(p={a=%d, b=%ld})\n", p.a, p.b);
		fprintf(account, "first(p={a=-1, b=-2}, last=0)\n");
	}
	return fclose(account) != 0;
}

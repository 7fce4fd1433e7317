/* SPDX-License-Identifier: MIT */
/* A call tree for the reports: `tree CALLS` makes that many calls, 1 to 12 deep, of 48 functions,
 * the shape decided by a small generator so that every run is the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void node(int depth);
static uint64_t state = 88172645463325252ull;
static long left;
static node *const nodes[48];

static inline unsigned next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 32;
}

#define NODE(n)                                                      \
	__attribute__((noinline)) static void node_##n(int depth)    \
	{                                                            \
		unsigned r = next();                                 \
		left--;                                              \
		for (unsigned i = r % 3 + (r >> 8 & 1); i && depth < 12 && left > 0; i--) \
			nodes[(r >> 12 * (i & 1)) % (n % 5 ? 48 : 7)](depth + 1); \
		__asm__ volatile("" ::: "memory");                   \
	}
#define NODES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
	X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) \
	X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47)
NODES(NODE)
#define NAME(n) node_##n,
static node *const nodes[48] = { NODES(NAME) };

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 10000000;

	for (left = calls; left > 0;)
		nodes[next() % 48](0);
	printf("%ld calls\n", calls - left);
	return 0;
}

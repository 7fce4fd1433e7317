/* Calls of eight functions in an order that no compression takes away, for traces of a known
 * size. */
#pragma once
#define STEP(name, by)                                        \
	__attribute__((noinline)) static unsigned name(unsigned n) \
	{                                                     \
		__asm__ volatile("" : "+r"(n));               \
		return n * by + n % 7;                        \
	}
STEP(a, 3) STEP(b, 5) STEP(c, 7) STEP(d, 11) STEP(e, 13) STEP(f, 17) STEP(g, 19) STEP(h, 23)
static unsigned (*const steps[])(unsigned) = { a, b, c, d, e, f, g, h };
static void *work(void *n)
{
	unsigned long sum = 0, random = 1; /* three bits a call, which no compression takes away */
	for (unsigned i = 0; i < (unsigned long)n; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		sum += steps[random >> 61](i);
	}
	return (void *)sum;
}

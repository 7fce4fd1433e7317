/* A program for why_test.c: functions that are inlined everywhere, somewhere, nowhere. A line with
 * a copy says so in a comment that the test finds. Built with -O2 -g, and without -g. */
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) int everywhere(int x)
{
	__asm__ volatile("" : "+r"(x)); /* so that each copy is code of its own */
	return x * 3 + 1;
}

__attribute__((noipa)) int call(int (*f)(int), int x)
{
	return f(x) + 1;
}

static inline __attribute__((always_inline)) int somewhere(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x ^ 0x5a5a;
}

__attribute__((noinline)) int alpha(int x)
{
	return everywhere(x) + 2; /* everywhere in alpha */
}

__attribute__((noinline)) int beta(int x)
{
	return everywhere(x) * somewhere(x); /* everywhere in beta */
}

__attribute__((noinline)) int gamma_(int x)
{
	return everywhere(x + 1) - 7; /* everywhere in gamma_ */
}

__attribute__((noinline)) int not_inlined(int x)
{
	return x + 5;
}

int main(int argc, char **argv)
{
	int x = argc > 1 ? atoi(argv[1]) : 1;

	printf("%d\n", alpha(x) + beta(x) + gamma_(x) + not_inlined(x) +
	       call(somewhere, x));
	return 0;
}

/* Tail calls (jumps to another function, and through a pointer), a chain of them a million
 * long, and loops whose head is the function's own entry: those are not calls. */
#include "truth.h"

TRACED static unsigned long ping(unsigned long n, unsigned long sum);
TRACED static unsigned long pong(unsigned long n, unsigned long sum)
{
	BARRIER();
	return n ? ping(n - 1, sum + 1) : sum;
}

static unsigned long ping(unsigned long n, unsigned long sum)
{
	BARRIER();
	return n ? pong(n - 1, sum + 2) : sum;
}

TRACED static unsigned long last(unsigned long n)
{
	BARRIER();
	return n * 2;
}

TRACED static unsigned long middle(unsigned long n)
{
	BARRIER();
	return last(n + 1);
}

typedef unsigned long (*step)(unsigned long);
static step volatile through = middle;

TRACED static unsigned long first(unsigned long n)
{
	return through(n + 1);
}

/* A loop to the entry, byte for byte: `dec; jne` back to the first instruction. */
unsigned long countdown(unsigned long n);
__asm__(".pushsection .text\n.p2align 4\n.type countdown, @function\ncountdown:\n"
	"\tlea -1(%rdi), %rdi\n\ttest %rdi, %rdi\n\tjne countdown\n\tlea 7(%rdi), %rax\n\tret\n"
	".size countdown, .-countdown\n.popsection\n");

int main(void)
{
	unsigned long sum = 0, i;

	for (i = 0; i < 1000; i++)
		sum += first(i);
	for (i = 1; i <= 10; i++)
		sum += countdown(1000);
	printf("%lu %lu\n", sum, ping(1000000, 0));
	truth("first", 1000);
	truth("middle", 1000);
	truth("last", 1000);
	truth("countdown", getenv("TRACER") ? 10000 : 10); /* the function tracer cannot tell a loop from a call */
	truth("ping", 500001);
	truth("pong", 500000);
	return 0;
}

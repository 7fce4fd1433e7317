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

/* A walk over a tree, as gcc makes it of `if (n->left) walk(n->left); if (n->right)
 * walk(n->right)`: what stands behind the call is reached by a branch as well, and ends with a jump
 * to the entry, where nothing is on the stack any more. */
struct node { struct node *left, *right; };
void walk(struct node *n);
__asm__(".pushsection .text\n.p2align 4\n.type walk, @function\nwalk:\n"
	"\tpush %rbx\n\tmov %rdi, %rbx\n\tmov (%rbx), %rdi\n\ttest %rdi, %rdi\n\tje 1f\n\tcall walk\n"
	"1:\tmov 8(%rbx), %rdi\n\ttest %rdi, %rdi\n\tje 2f\n\tpop %rbx\n\tjmp walk\n2:\tpop %rbx\n\tret\n"
	".size walk, .-walk\n.popsection\n");

/* A node has one to its right and, every fifth, a leaf to its left. */
static void walks(void)
{
	struct node nodes[16] = { 0 }, leaf = { 0 };
	int i;

	for (i = 0; i < 16; i++)
		nodes[i] = (struct node){ i % 5 ? NULL : &leaf, i < 15 ? &nodes[i + 1] : NULL };
	for (i = 0; i < 100; i++)
		walk(nodes);
	/* calls, and for the function tracer jumps to the entry besides */
	truth("walk", getenv("TRACER") ? 100 * (1 + 4 + 15) : 100 * (1 + 4));
}

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
	walks();
	truth("ping", 500001);
	truth("pong", 500000);
	return 0;
}

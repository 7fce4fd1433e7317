/* Coroutines by makecontext and swapcontext: calls begin on one stack while others stand open on
 * another, stacks are used again, and one coroutine is never finished. */
#include <ucontext.h>

#include "truth.h"

enum { COROUTINES = 6, STACK = 65536, YIELDS = 200 };
static ucontext_t home, contexts[COROUTINES];
static long sums[COROUTINES];

TRACED static void yield(int n) { swapcontext(&contexts[n], &home); }

TRACED static long deep(int n, int depth)
{
	long r;

	if (!depth) {
		yield(n);
		return 1;
	}
	r = deep(n, depth - 1);
	BARRIER();
	return r + depth;
}

TRACED static void coroutine(int n)
{
	for (int i = 0; i < YIELDS; i++)
		sums[n] += deep(n, i % 9);
}

TRACED static void start(int n, char *stack)
{
	getcontext(&contexts[n]);
	contexts[n].uc_stack.ss_sp = stack;
	contexts[n].uc_stack.ss_size = STACK;
	contexts[n].uc_link = &home;
	makecontext(&contexts[n], (void (*)(void))coroutine, 1, n);
}

TRACED static void resume(int n) { swapcontext(&home, &contexts[n]); }

int main(void)
{
	long sum = 0;

	for (int i = 0; i < COROUTINES; i++)
		start(i, malloc(STACK));
	for (int round = 0; round < YIELDS; round++)
		for (int i = 0; i < COROUTINES; i++)
			resume(i);
	for (int i = 0; i < COROUTINES - 1; i++)
		resume(i);
	for (int i = 0; i < COROUTINES; i++)
		sum = sum * 31 + sums[i];
	printf("%ld\n", sum);
	truth("coroutine", COROUTINES);
	truth("yield", COROUTINES * YIELDS);
	truth("resume", COROUTINES * YIELDS + COROUTINES - 1);
	return 0;
}

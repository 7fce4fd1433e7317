/* Recursion 60,000 deep, and mutual recursion, in the main thread and in one with little stack. */
#include <limits.h>
#include <pthread.h>

#include "truth.h"

TRACED static unsigned long down(unsigned long n)
{
	unsigned long r = n ? down(n - 1) : 0;

	BARRIER();
	return r + n;
}

TRACED static unsigned long odd(unsigned long n);
TRACED static unsigned long even(unsigned long n)
{
	unsigned long r = n ? odd(n - 1) : 0;

	BARRIER();
	return r + 1;
}

static unsigned long odd(unsigned long n)
{
	unsigned long r = n ? even(n - 1) : 0;

	BARRIER();
	return r + 2;
}

TRACED static void *small(void *arg)
{
	return (void *)down(200);
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *result;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN + 16384);
	require(!pthread_create(&thread, &attr, small, NULL), "pthread_create");
	pthread_join(thread, &result);
	printf("%lu %lu %lu\n", down(60000), even(50001), (unsigned long)result);
	truth("down", 60001 + 201);
	truth("even", 25001);
	truth("odd", 25001);
	return 0;
}

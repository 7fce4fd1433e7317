/* 200 threads that come and go during the trace, eight at a time, and one that outlives main. */
#include <pthread.h>

#include "truth.h"

enum { THREADS = 200, AT_ONCE = 8, STEPS = 500 };
static unsigned long sums[THREADS];

TRACED static unsigned long step(unsigned long x)
{
	BARRIER();
	return x * 6364136223846793005ul + 1442695040888963407ul;
}

TRACED static void *run(void *arg)
{
	unsigned long x = (unsigned long)arg, i;

	for (i = 0; i < STEPS; i++)
		x = step(x);
	sums[(unsigned long)arg] = x;
	return arg;
}

TRACED static void *forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(void)
{
	pthread_t threads[AT_ONCE], late;
	unsigned long i, j, sum = 0;

	require(!pthread_create(&late, NULL, forever, NULL), "pthread_create");
	for (i = 0; i < THREADS; i += AT_ONCE) {
		for (j = 0; j < AT_ONCE; j++)
			require(!pthread_create(&threads[j], NULL, run, (void *)(i + j)), "pthread_create");
		for (j = 0; j < AT_ONCE; j++)
			require(!pthread_join(threads[j], NULL), "pthread_join");
	}
	for (i = 0; i < THREADS; i++)
		sum ^= sums[i];
	printf("%lx\n", sum);
	truth("step", (unsigned long)THREADS * STEPS);
	truth("run", THREADS);
	truth("main", 1);
	return 0;
}

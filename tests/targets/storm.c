/* Eight threads, each calling as fast as it can a million times: more than a small buffer holds
 * and a tracer can take away. `storm CALLS`: calls of each thread. */
#include <pthread.h>

#include "truth.h"

enum { THREADS = 8 };
static long calls = 1000000;

TRACED static unsigned long step(unsigned long n)
{
	BARRIER();
	return n * 3 + 1;
}

static void *run(void *arg)
{
	unsigned long x = (unsigned long)arg;

	for (long i = 0; i < calls; i++)
		x = step(x);
	return (void *)x;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	unsigned long sum = 0;
	void *x;

	if (argc > 1)
		calls = atol(argv[1]);
	for (unsigned long i = 0; i < THREADS; i++)
		require(!pthread_create(&threads[i], NULL, run, (void *)i), "pthread_create");
	for (int i = 0; i < THREADS; i++) {
		require(!pthread_join(threads[i], &x), "pthread_join");
		sum ^= (unsigned long)x;
	}
	printf("%lx\n", sum);
	truth("step", THREADS * calls);
	return 0;
}

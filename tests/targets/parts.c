/* A program of known shape for excerpts of traces: threads with names, calls in calls, recursion,
 * and calls of which some are long. Prints nothing. The argument is the
 * number of rounds. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define KEPT __attribute__((noinline, noclone))
static unsigned n_rounds = 4;
static atomic_uint done;

KEPT void leaf(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		atomic_fetch_add(&done, 1);
}

KEPT void short_step(void)
{
	leaf(1);
	atomic_fetch_add(&done, 1);
}

KEPT void long_step(unsigned n)
{
	leaf(n);
	short_step();
	atomic_fetch_add(&done, 1);
}

KEPT unsigned fibonacci(unsigned n)
{
	unsigned sum = n;

	if (n > 1) {
		sum = fibonacci(n - 1);
		sum += fibonacci(n - 2);
	}
	atomic_fetch_add(&done, 1);
	return sum;
}

KEPT void round_of(unsigned i)
{
	short_step();
	long_step(1000 * i);
	fibonacci(i + 2);
	atomic_fetch_add(&done, 1);
}

static void *rounds(void *name)
{
	if (name)
		pthread_setname_np(pthread_self(), name);
	for (unsigned i = 0; i < n_rounds; i++)
		round_of(i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc > 1)
		n_rounds = (unsigned)atoi(argv[1]);
	pthread_create(&threads[0], NULL, rounds, "even");
	pthread_create(&threads[1], NULL, rounds, "odd");
	rounds(NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}

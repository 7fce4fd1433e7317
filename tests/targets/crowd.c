/* A storm of threads that live for a moment, in several processes: `crowd PROCESSES THREADS CALLS`.
 * Each process starts THREADS threads, 32 at a time, and each thread calls step CALLS times.
 * Threads take slots and sub-buffers and die with both half used. */
#include <pthread.h>
#include <sys/wait.h>

#include "truth.h"

enum { AT_A_TIME = 32 };
static long calls;

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

static unsigned long wave(unsigned long first, long n)
{
	pthread_t threads[AT_A_TIME];
	unsigned long sum = 0;
	void *x;

	for (long i = 0; i < n; i++)
		require(!pthread_create(&threads[i], NULL, run, (void *)(first + (unsigned long)i)), "pthread_create");
	for (long i = 0; i < n; i++) {
		require(!pthread_join(threads[i], &x), "pthread_join");
		sum ^= (unsigned long)x;
	}
	return sum;
}

static unsigned long storm(long threads)
{
	unsigned long sum = 0;

	for (long done = 0; done < threads; done += AT_A_TIME)
		sum ^= wave((unsigned long)done, threads - done < AT_A_TIME ? threads - done : AT_A_TIME);
	return sum;
}

int main(int argc, char **argv)
{
	long processes, threads;
	unsigned long sum;
	int status;

	require(argc == 4, "arguments");
	processes = atol(argv[1]);
	threads = atol(argv[2]);
	calls = atol(argv[3]);
	for (long i = 1; i < processes; i++)
		if (fork() == 0) {
			storm(threads);
			_exit(0);
		}
	sum = storm(threads);
	for (long i = 1; i < processes; i++)
		require(wait(&status) > 0 && status == 0, "children");
	printf("%lx\n", sum);
	truth("step", (unsigned long)(processes * threads * calls));
	return 0;
}

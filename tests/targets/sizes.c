/* Calls take() from several threads and a forked process, with sizes and names that are known, and
 * tells how often: "POWER N" for each power of two that is the least not below the size, then
 * "opens N" and "calls N".
 *
 *	sizes N     each of three threads and a process calls it N times */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 3
#define OPENS 7

static long times;

__attribute__((noinline)) static long take(unsigned long size, const char *name)
{
	__asm__ volatile("" ::"r"(name) : "memory");
	return (long)size - 5;
}

/* Long enough for probes of its return. */
__attribute__((noinline)) static long rest(long i)
{
	static volatile long kept = 1000;
	long n = 0;

	for (long k = i % 3 + kept; k < i; k++)
		n ^= k;
	return (n + i) % kept;
}

/* Call number i's size: 1 to 4000. */
static unsigned long size_of(long i)
{
	return (unsigned long)(i * 37 % 4000) + 1;
}

static void *work(void *arg)
{
	volatile long sum = 0;

	for (long i = 0; i < times; i++)
		sum += take(size_of(i), i % 4 ? "most" : "few") + rest(i);
	return arg;
}

static unsigned power_of(unsigned long size)
{
	unsigned n = 0;

	while (1ul << n < size)
		n++;
	return n;
}

static void tell(void)
{
	long powers[64] = { 0 };

	for (long i = 0; i < times; i++)
		powers[power_of(size_of(i))] += THREADS + 1;
	for (unsigned n = 0; n < 64; n++)
		if (powers[n])
			printf("%u %ld\n", n, powers[n]);
	printf("opens %d\ncalls %ld\n", OPENS, times * (THREADS + 1));
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	pid_t child;

	times = argc > 1 ? atol(argv[1]) : 10;
	child = fork();
	if (!child) {
		work(NULL);
		_exit(0);
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < OPENS; i++)
		close(open(argv[0], O_RDONLY));
	tell();
	return 5;
}

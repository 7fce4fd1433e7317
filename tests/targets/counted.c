/* SPDX-License-Identifier: MIT */
/* Functions that work, sleep, touch memory and yield, and what the kernel counted of each, printed
 * for tests/run/counters.sh: name, CPU time in ns, elapsed time in ns, page faults, voluntary
 * switches, involuntary switches. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PAGES 500

static uint64_t clock_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Until the thread has had so much time on a processor. */
__attribute__((noinline)) void works(void)
{
	uint64_t end = clock_of(CLOCK_THREAD_CPUTIME_ID) + 60000000;

	while (clock_of(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 10000; i++)
			continue;
}

__attribute__((noinline)) void sleeps(void)
{
	for (int i = 0; i < 20; i++)
		usleep(2000);
}

__attribute__((noinline)) void touches(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, (size_t)(PAGES * page), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(memory, (size_t)(PAGES * page), MADV_NOHUGEPAGE);
	for (long i = 0; i < PAGES; i++)
		*(volatile char *)(memory + i * page) = 1;
	munmap(memory, (size_t)(PAGES * page));
}

static void count(const char *name, void (*f)(void))
{
	struct rusage a, b;
	uint64_t cpu, elapsed;

	getrusage(RUSAGE_THREAD, &a);
	elapsed = clock_of(CLOCK_MONOTONIC);
	cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
	f();
	cpu = clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
	elapsed = clock_of(CLOCK_MONOTONIC) - elapsed;
	getrusage(RUSAGE_THREAD, &b);
	printf("%s %lu %lu %ld %ld %ld\n", name, cpu, elapsed, b.ru_minflt - a.ru_minflt,
	       b.ru_nvcsw - a.ru_nvcsw, b.ru_nivcsw - a.ru_nivcsw);
}

static void *all(void *arg)
{
	count("works", works);
	count("sleeps", sleeps);
	count("touches", touches);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	pthread_create(&thread, NULL, all, NULL);
	pthread_join(thread, NULL);
	return 0;
}

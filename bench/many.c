/* SPDX-License-Identifier: MIT */
/* Ten thousand functions, called by THREADS threads without end: `many THREADS FILE`. What it keeps
 * in FILE is the longest time, in ns, in which none of its threads ran: how long it stood still.
 * The measuring program sets it to zero. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t work(uint64_t x);

#define ONES(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define TENS(m, n) ONES(m, n##0) ONES(m, n##1) ONES(m, n##2) ONES(m, n##3) ONES(m, n##4) \
	ONES(m, n##5) ONES(m, n##6) ONES(m, n##7) ONES(m, n##8) ONES(m, n##9)
#define HUNDREDS(m, n) TENS(m, n##0) TENS(m, n##1) TENS(m, n##2) TENS(m, n##3) TENS(m, n##4) \
	TENS(m, n##5) TENS(m, n##6) TENS(m, n##7) TENS(m, n##8) TENS(m, n##9)
#define THOUSANDS(m, n) HUNDREDS(m, n##0) HUNDREDS(m, n##1) HUNDREDS(m, n##2) HUNDREDS(m, n##3) HUNDREDS(m, n##4) \
	HUNDREDS(m, n##5) HUNDREDS(m, n##6) HUNDREDS(m, n##7) HUNDREDS(m, n##8) HUNDREDS(m, n##9)
#define DEFINE(n) __attribute__((noipa)) static uint64_t work_##n(uint64_t x) { x = (x ^ n) * (2 * n + 1); return x ^ x >> 29; }
#define NAME(n) work_##n,

THOUSANDS(DEFINE, 1)
static work *const all[] = { THOUSANDS(NAME, 1) };

#define ALL (sizeof(all) / sizeof(all[0]))
#define ROUND 50 /* calls between two looks at the clock */

static _Atomic uint64_t last;
static _Atomic uint64_t *longest;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void ran(void)
{
	uint64_t at = now(), before = atomic_load_explicit(&last, memory_order_relaxed),
		 known = atomic_load_explicit(longest, memory_order_relaxed);

	while (at > before && !__atomic_compare_exchange_n((uint64_t *)&last, &before, at, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	if (at <= before)
		return;
	while (at - before > known && !__atomic_compare_exchange_n((uint64_t *)longest, &known, at - before, 0,
								   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void *run(void *of)
{
	uint64_t x = (uint64_t)(uintptr_t)of;

	for (size_t i = x % ALL;; i = (i + 1) % ALL) {
		x = all[i](x);
		if (i % ROUND == 0)
			ran();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	pthread_t thread;

	if (fd < 0 || ftruncate(fd, sizeof(*longest)) < 0)
		return 2;
	longest = mmap(NULL, sizeof(*longest), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	atomic_store_explicit(&last, now(), memory_order_relaxed);
	for (int i = 1; i < atoi(argv[1]); i++)
		pthread_create(&thread, NULL, run, (void *)(uintptr_t)(i * 487));
	puts("running");
	fflush(stdout);
	run(NULL);
	return 0;
}

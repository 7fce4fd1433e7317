/* Calls whose begins and ends are easily mistaken for others': recursion, calls that longjmp
 * leaves, begins and ends that nest, calls inside and outside of another one; in two threads. It
 * tells how many there are.
 *	spans N     each thread does all of it N times */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH 5

static long times;
static volatile long kept;

/* Room for a probe at each return. */
static __attribute__((always_inline)) inline long spend(long n)
{
	for (long i = 0; i < 3; i++)
		kept = kept + n;
	return n;
}

/* Returns 2 * n of each level. */
__attribute__((noinline)) static long fall(long n)
{
	long below = n > 0 ? fall(n - 1) : -2;

	spend(n);
	return below + 2;
}

/* Leaves by longjmp if `leaves`; else it returns n + 1000. */
__attribute__((noinline)) static long leap(long n, jmp_buf back, int leaves)
{
	spend(n);
	if (leaves)
		longjmp(back, 1);
	return spend(n) + 1000;
}

__attribute__((noinline)) static long begin_job(long id)
{
	return spend(id) + 1;
}

__attribute__((noinline)) static long end_job(long id)
{
	return spend(id) + 2;
}

__attribute__((noinline)) static long inner(long n)
{
	return spend(n) + 3;
}

__attribute__((noinline)) static long outer(long n)
{
	return inner(n) + inner(n) + spend(n);
}

/* Jobs nest: those that began last end first. */
static void nest(long i)
{
	for (long id = 0; id < DEPTH; id++)
		begin_job(i * DEPTH + id);
	for (long id = DEPTH; id-- > 0;)
		end_job(i * DEPTH + id);
}

static void *work(void *arg)
{
	jmp_buf back;

	for (volatile long i = 0; i < times; i++) {
		fall(DEPTH - 1);
		if (!setjmp(back))
			leap(2 * i, back, 1);
		leap(2 * i + 1, back, 0);
		nest(i);
		inner(-1);
		outer(i);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t other;

	times = argc > 1 ? atol(argv[1]) : 10;
	pthread_create(&other, NULL, work, NULL);
	work(NULL);
	pthread_join(other, NULL);
	printf("falls %ld leaps %ld jobs %ld inside %ld\n", 2 * DEPTH * times, 2 * times,
	       2 * DEPTH * times, 4 * times);
	return 0;
}

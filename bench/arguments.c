/* SPDX-License-Identifier: MIT */
/* The cost of what is looked at in calls: arguments, values, probes, scopes. Calls three functions
 * in loops and prints the nanoseconds of processor time that each call takes besides the loop, and
 * of a bare rdtsc: the least of several turns, since others use the processor, too. With an
 * argument N, so many threads run at once, and the mean of theirs is printed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define CALLS 100000L
#define TURNS 30
#define THREADS_MAX 64
#define KEEP(v) __asm__ volatile("" : "+r"(v)::"memory")
#define APART __attribute__((noinline, noclone))

struct costs { double rdtsc, three, text, literal, stack, inside; };

APART int three(int a, long b, unsigned c)
{
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c));
	return a;
}

APART long text(const char *name)
{
	long first = *name;

	KEEP(first);
	return first;
}

/* The scope that is open, or not. */
APART void loop_three(long n)
{
	for (long i = 0; i < n; i++)
		three((int)(i & 15), i, 7);
	KEEP(n);
}

APART void nobody(long n)
{
	loop_three(n);
	KEEP(n);
}

static void loop_empty(long n)
{
	for (long i = 0; i < n; i++)
		KEEP(i);
}

static void loop_rdtsc(long n)
{
	for (long i = 0; i < n; i++) {
		unsigned long long t = __rdtsc();

		KEEP(t);
	}
}

static void calls_of_text(const char *at, long n)
{
	KEEP(at);
	for (long i = 0; i < n; i++)
		text(at);
}

/* Memory that the program may change or unmap. */
static void loop_text(long n)
{
	char *name = strdup("sixteen-bytes-ok");

	calls_of_text(name ? name : "", n);
	free(name);
}

static void loop_literal(long n)
{
	calls_of_text("sixteen-bytes-ok", n);
}

static void loop_stack(long n)
{
	char name[32] = "sixteen-bytes-ok";

	calls_of_text(name, n);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double least(void (*loop)(long n))
{
	double best = 1e18;

	for (int i = 0; i < TURNS; i++) {
		double begin = now(), took;

		loop(CALLS);
		took = (now() - begin) / CALLS;
		best = took < best ? took : best;
	}
	return best;
}

static void *measure(void *arg)
{
	struct costs *c = arg;
	double empty = least(loop_empty);

	c->rdtsc = least(loop_rdtsc) - empty;
	c->three = least(loop_three) - empty;
	c->text = least(loop_text) - empty;
	c->literal = least(loop_literal) - empty;
	c->stack = least(loop_stack) - empty;
	c->inside = least(nobody) - empty;
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[THREADS_MAX];
	struct costs c[THREADS_MAX], sum;

	memset(&sum, 0, sizeof(sum));
	n = n < 1 || n > THREADS_MAX ? 1 : n;
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, measure, &c[i]))
			return 1;
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		sum.rdtsc += c[i].rdtsc / n;
		sum.three += c[i].three / n;
		sum.text += c[i].text / n;
		sum.literal += c[i].literal / n;
		sum.stack += c[i].stack / n;
		sum.inside += c[i].inside / n;
	}
	printf("rdtsc %.2f three %.2f text %.2f literal %.2f stack %.2f inside %.2f\n", sum.rdtsc,
	       sum.three, sum.text, sum.literal, sum.stack, sum.inside);
	return 0;
}

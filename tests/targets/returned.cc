// SPDX-License-Identifier: MIT
// Calls that return, throw, longjmp, go on by tail calls and recur, on three threads. The program writes down what it does, and
// tests/run/returned_truth.py tells by that which calls a condition on the returned value keeps.
//
//     returned SEED CALLS    writes "THREAD + name n" and "THREAD - value" (or "THREAD left") lines to $ACCOUNT
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define ALONE __attribute__((noipa))
#define INLINE __attribute__((always_inline)) static inline
#define THREADS 3
#define LINES (1 << 17)

struct line { const char *name; long n; };          // name: a call; NULL: a return; "left": a call that was left
struct account { int n, open; unsigned long state; struct line lines[LINES]; };
struct jump { jmp_buf to; };

static long calls;
static thread_local struct account *own;
static thread_local struct jump *landing;

INLINE unsigned any()
{
	own->state = own->state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(own->state >> 33);
}

INLINE void note(const char *name, long n)
{
	if (own->n < LINES)
		own->lines[own->n++] = { name, n };
}

INLINE void begin(const char *name, long n)
{
	note(name, n);
	own->open++;
}

INLINE long end(long value)
{
	note(nullptr, value);
	own->open--;
	return value;
}

// Control has left the calls above.
INLINE void back_to(int open)
{
	for (; own->open > open; own->open--)
		note("left", 0);
}

extern "C" {
ALONE int leaf(int n)
{
	begin("leaf", n);
	return (int)end(n ^ 1);
}

// tailed goes on to it, by a jump where the compiler makes one: both return at once
ALONE int last(int n)
{
	begin("last", n);
	end(n % 3 - 1);
	return (int)end(n % 3 - 1);
}

ALONE int tailed(int n)
{
	begin("tailed", n);
	return last(n + 1);
}

ALONE int other(int n);

ALONE int work(int n)
{
	long sum;

	begin("work", n);
	sum = leaf(n);
	if (n > 0 && any() % 3 == 0)
		sum -= other(n - 1);
	if (n > 2)
		sum -= work(n - (int)(any() % 3) - 1);
	if (any() % 16 == 0)
		throw 1;
	if (any() % 16 == 0)
		longjmp(landing->to, 1);
	sum += tailed(n);
	return (int)end((int)(sum % 7 - 3));
}

ALONE int other(int n)
{
	begin("other", n);
	return (int)end(work(n) > 0 ? -1 : n);
}
}

static void one(struct jump *j)
{
	volatile int open = own->open;

	landing = j;
	if (setjmp(j->to) == 0) {
		try {
			work((int)(any() % 12));
		} catch (int) {
		}
	}
	back_to(open);
}

static void *run(void *account)
{
	struct jump j;

	own = (struct account *)account;
	for (long i = 0; i < calls; i++)
		one(&j);
	return nullptr;
}

int main(int argc, char **argv)
{
	static struct account accounts[THREADS];
	pthread_t threads[THREADS];
	FILE *f = fopen(getenv("ACCOUNT"), "w");

	if (argc != 3 || !f)
		return 2;
	calls = atol(argv[2]);
	for (int i = 0; i < THREADS; i++) {
		accounts[i].state = strtoul(argv[1], nullptr, 10) + (unsigned long)i;
		// one after the other: their numbers tell them apart
		if (pthread_create(&threads[i], nullptr, run, &accounts[i]) || pthread_join(threads[i], nullptr))
			return 2;
	}
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < accounts[i].n; k++) {
			const struct line *l = &accounts[i].lines[k];

			if (l->name && *l->name == 'l' && l->name[1] == 'e' && l->name[2] == 'f')
				fprintf(f, "%d left\n", i);
			else if (l->name)
				fprintf(f, "%d + %s %ld\n", i, l->name, l->n);
			else
				fprintf(f, "%d - %ld\n", i, l->n);
		}
	return fclose(f) != 0;
}

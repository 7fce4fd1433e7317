// SPDX-License-Identifier: MIT
// Calls that satisfy a condition and calls that do not, through recursion, exceptions, longjmp, signals and threads. The
// program tells itself which ones a tracer has to record, and how deep.
//
//     conditions graph|numbers|calls SEED CALLS    writes "THREAD DEPTH name(arguments)" lines to $ACCOUNT
//
// graph: -g 'work if n > 50 && name ~ "a*"', with all that is called; numbers: -g 'work if n > 50', also with all; calls: -l of work with the condition, of leaf without,
// of handle if number == 12.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALONE __attribute__((noipa))
#define INLINE __attribute__((always_inline)) static inline
#define THREADS 3
#define LINES (1 << 16)

struct line { int depth; const char *format; long n; const char *name; };
struct account { int n; unsigned long state; struct line lines[LINES]; };
struct jump { jmp_buf to; };

static bool graph, numbers;
static long calls;
static thread_local int open_calls; // recorded ones
static thread_local struct account *own;
static thread_local struct jump *landing;

INLINE unsigned any()
{
	own->state = own->state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(own->state >> 33);
}

INLINE void begin(const char *format, long n, const char *name, bool satisfied)
{
	if (!satisfied && !(graph && open_calls))
		return;
	if (own->n < LINES)
		own->lines[own->n++] = { open_calls, format, n, name };
	open_calls++;
}

extern "C" {
ALONE void handle(int number)
{
	int was = open_calls;

	begin("handle(number=%ld)", number, nullptr, !graph && number == SIGUSR2);
	open_calls = was;
}

ALONE long leaf(long n)
{
	int was = open_calls;

	begin("leaf(n=%ld)", n, nullptr, !graph);
	if (any() % 16 == 0)
		raise(any() % 2 ? SIGUSR1 : SIGUSR2);
	open_calls = was;
	return n + 1;
}

ALONE long work(int n, const char *name)
{
	static const char *const names[] = { "a", "ab", "b", "ba", "aa" };
	int was = open_calls;
	long sum;

	begin("work(n=%ld, name=\"%s\")", n, name, n > 50 && (numbers || *name == 'a'));
	sum = leaf(n);
	if (n > 4)
		sum += work(n - (int)(any() % 50) - 1, names[any() % 5]);
	if (any() % 24 == 0)
		throw 1;
	if (any() % 24 == 0)
		longjmp(landing->to, 1);
	sum += leaf(-n);
	open_calls = was;
	return sum;
}
}

static void one(struct jump *j)
{
	volatile int was = open_calls;

	landing = j;
	if (setjmp(j->to) == 0) {
		try {
			work((int)(any() % 120), any() % 2 ? "abc" : "cba");
		} catch (int) {
		}
	}
	open_calls = was;
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

	if (argc != 4 || !f)
		return 2;
	numbers = !strcmp(argv[1], "numbers");
	graph = numbers || !strcmp(argv[1], "graph");
	calls = atol(argv[3]);
	signal(SIGUSR1, handle);
	signal(SIGUSR2, handle);
	for (int i = 0; i < THREADS; i++) {
		accounts[i].state = strtoul(argv[2], nullptr, 10) + (unsigned long)i;
		// one after the other: their numbers tell them apart
		if (pthread_create(&threads[i], nullptr, run, &accounts[i]) || pthread_join(threads[i], nullptr))
			return 2;
	}
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < accounts[i].n; k++) {
			const struct line *l = &accounts[i].lines[k];

			fprintf(f, "%d ", l->depth);
			fprintf(f, l->format, l->n, l->name);
			fputc('\n', f);
		}
	return fclose(f) != 0;
}

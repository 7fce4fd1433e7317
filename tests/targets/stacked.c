/* Stacks at events, with the program's own account: each `n: ADDRESS...` line has the return
 * addresses that glibc's backtrace() sees from the function on that the event `stk:at` with this n
 * happens in (`n+:` on a stack that is not the first's); those of no file are the tracer's. In
 * recursion, big frames, frames whose size is known at run time only, a handler on another stack, a
 * callback of libc's, a thread.
 *
 *	stacked            each once
 *	stacked COUNT      COUNT events of one kind, without an account */
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brace/event.h"

BRACE_EVENT(stk, at, BRACE_PROTO(int n), BRACE_ARGS(n), BRACE_FIELDS(BRACE_FIELD(int, n, n)), BRACE_PRINT("n=%d", REC->n))

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory")

static int count, silent;
static volatile int elsewhere;

NOINLINE void leaf(void)
{
	void *at[64];
	Dl_info in;
	int n = silent ? 0 : backtrace(at, 64);

	if (!silent)
		printf("%d%s:", count, elsewhere ? "+" : "");
	for (int i = 1; i < n; i++) /* [0] is here */
		if (dladdr(at[i], &in) && !strstr(in.dli_fname, "libbrace-agent"))
			printf(" %lx", (unsigned long)at[i]);
	if (!silent)
		printf("\n");
	brace_stk_at(count++);
	KEEP;
}

NOINLINE void middle(void)
{
	leaf();
	KEEP;
}

NOINLINE int recursion(int n)
{
	int r = 0;

	if (n)
		r = recursion(n - 1) + 1;
	else
		middle();
	KEEP;
	return r;
}

NOINLINE void big_frame(void)
{
	char path[4096];

	memset(path, 'x', sizeof(path));
	middle();
	__asm__ volatile("" :: "r"(path) : "memory");
}

NOINLINE void frame_of(size_t n)
{
	char *p = alloca(n);

	memset(p, 1, n);
	middle();
	__asm__ volatile("" :: "r"(p) : "memory");
}

/* Aligned more than calls are: the compiler keeps the caller's frame in another register. */
NOINLINE void aligned_frame(void)
{
	_Alignas(64) char bytes[128];

	memset(bytes, 2, sizeof(bytes));
	middle();
	__asm__ volatile("" :: "r"(bytes) : "memory");
}

static int compare(const void *a, const void *b)
{
	middle();
	return *(const int *)a - *(const int *)b;
}

NOINLINE void callback(void)
{
	int two[2] = { 2, 1 };

	qsort(two, 2, sizeof(int), compare);
	KEEP;
}

static void handler(int sig)
{
	middle();
	KEEP;
}

NOINLINE void signalled(int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags };
	stack_t other = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &act, NULL);
	elsewhere = flags & SA_ONSTACK;
	raise(SIGUSR1);
	elsewhere = 0;
	KEEP;
}

static void *thread(void *arg)
{
	recursion(2);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	silent = argc > 1;
	for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--)
		recursion(3);
	if (silent)
		return 0;
	middle();
	recursion(1);
	recursion(20);
	big_frame();
	frame_of((size_t)argc * 1000);
	aligned_frame();
	callback();
	signalled(0);
	signalled(SA_ONSTACK);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	return 0;
}

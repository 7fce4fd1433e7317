/* SPDX-License-Identifier: MIT A program that profiles itself: a timer's signal comes at any
 * instruction, its handler takes a backtrace, which is to end in _start(). Runs until N of them
 * have come in the library that its argument names ("anywhere": at all), and prints how many did.
 * With USE_LIBUNWIND it walks by libunwind: linked with that, it has its backtrace(), too. */
#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#ifdef USE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#define NOINLINE __attribute__((noinline, noclone))
#define FRAMES 64
#define MOST_S 60
#define START_BYTES 64

extern void _start(void);

static struct { unsigned long begin, end; } library;
static volatile long came, reached, work, all;

#ifdef USE_LIBUNWIND
static int walk(void **frames, int most)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;
	int n = 0;

	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		frames[n++] = (void *)pc;
	} while (n < most && unw_step(&cursor) > 0);
	return n;
}
#else
#define walk backtrace
#endif

static void look(int signal, siginfo_t *info, void *context)
{
	unsigned long pc = (unsigned long)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	void *frames[FRAMES];
	int n;

	all++;
	if (pc < library.begin || pc >= library.end)
		return;
	came++;
	n = walk(frames, FRAMES);
	reached += n > 0 && (char *)frames[n - 1] > (char *)_start && (char *)frames[n - 1] < (char *)_start + START_BYTES;
}

static void find_library(const char *name)
{
	char line[4096], rights[8];
	unsigned long begin, end;
	FILE *f = fopen("/proc/self/maps", "r");

	if (!strcmp(name, "anywhere"))
		library.end = -1ul;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && rights[2] == 'x' && strstr(line, name) && !library.end) {
			library.begin = begin;
			library.end = end;
		}
	if (f)
		fclose(f);
}

NOINLINE long leaf(long n) { work += n; return work; }
NOINLINE long calls(long n)
{
	for (long i = 0; i < n; i++)
		work += leaf(i) & 1;
	return work;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = look, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval often = { { 0, 100 }, { 0, 100 } };
	long wanted = argc > 2 ? atol(argv[2]) : 20, ticks = 0;
	void *frame[1];

	find_library(argc > 1 ? argv[1] : "");
	walk(frame, 1);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (came < wanted && all < MOST_S * 10000 && ++ticks < 100000000)
		calls(1000);
	signal(SIGALRM, SIG_IGN);
	printf("%ld of %ld\n", reached, came);
	return library.end && came >= wanted ? 0 : 1;
}

/* The ways to end: `ends exit 7`, `return 7`, `_exit 7`, `abort`, `signal 9`, `quick 7`, `thread 7`
 * (exit called by another thread), `fault`. Some calls come first; they must be in the trace. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "truth.h"

enum { CALLS = 5000 };

TRACED static unsigned long step(unsigned long n)
{
	BARRIER();
	return n * 3 + 1;
}

static void *end_thread(void *code) { exit((int)(long)code); }

static void by_exit(int code) { exit(code); }
static void by_exit_group(int code) { _exit(code); }
static void by_abort(int code) { abort(); }
static void by_signal(int code) { raise(code); }
static void by_quick(int code) { quick_exit(code); }
static void by_fault(int code) { *(volatile int *)(long)code = 1; }

static void by_thread(int code)
{
	pthread_t t;

	pthread_create(&t, NULL, end_thread, (void *)(long)code);
	pthread_join(t, NULL);
}

static const struct { const char *name; void (*end)(int); } ways[] = {
	{"exit", by_exit}, {"_exit", by_exit_group}, {"abort", by_abort}, {"signal", by_signal},
	{"quick", by_quick}, {"thread", by_thread}, {"fault", by_fault},
};

int main(int argc, char **argv)
{
	struct rlimit none = {0, 0};
	unsigned long x = 1;
	int code = argc > 2 ? atoi(argv[2]) : 0;

	setrlimit(RLIMIT_CORE, &none);
	for (int i = 0; i < CALLS; i++)
		x = step(x);
	truth("step", CALLS);
	printf("%lu\n", x);
	fflush(stdout);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(ways[i].name, argv[1]))
			ways[i].end(code);
	return code;
}

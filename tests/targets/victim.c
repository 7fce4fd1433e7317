/* A program to be killed, or to outlive its tracer. `victim LEDGER THREADS CALLS [END [CODE]]`:
 * each thread calls step CALLS times and keeps its count in a file that is mapped shared, so that
 * whoever killed the program, or its tracer, can read how far it came. Then, by END:
 *   wait    says so in the ledger, and goes on for another CALLS when the ledger allows
 *   kill, abort, _exit, overflow, fault, memory, trap   dies so, in the thread that came last
 *   forks   does so, and a child of it does as much
 *   (none)  ends
 * A fifth argument says what a handler of SIGUSR1 does: calls step, forks a child that does, or
 * jumps out of the call that was interrupted, which is then made once more. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "ledger.h"
#include "truth.h"

static struct ledger *ledger;
static unsigned long calls, threads;
static pthread_barrier_t met;
static const char *ending = "";
static int code;

TRACED static unsigned long step(unsigned long n)
{
	BARRIER();
	return n * 3 + 1;
}

/* The count is raised before the call: a thread that dies is at most one ahead of its trace. */
TRACED static unsigned long run(unsigned long x, unsigned long slot)
{
	for (unsigned long i = 0; i < calls; i++) {
		ledger->calls[slot]++;
		BARRIER();
		x = step(x);
	}
	return x;
}

/* --- handlers ---------------------------------------------------------------------------- */

enum { IN_HANDLER = 5 };

static __thread sigjmp_buf out;
static __thread volatile int is_set;
static unsigned long (*calling)(unsigned long x, unsigned long slot) = run;

/* The same with a way out of each call. */
TRACED static unsigned long run_again(unsigned long from, unsigned long slot)
{
	volatile unsigned long x = from, i = 0;

	sigsetjmp(out, 1);
	is_set = 1;
	while (i < calls) {
		ledger->calls[slot]++;
		BARRIER();
		x = step(x);
		i++;
	}
	is_set = 0;
	return x;
}

static void on_calls(int signal)
{
	for (unsigned long i = 0; i < IN_HANDLER; i++) {
		__atomic_fetch_add(&ledger->calls[LEDGER_HANDLED], 1, __ATOMIC_RELAXED);
		step(i);
	}
}

static void on_forks(int signal)
{
	int status = 1, error = errno;
	pid_t child = fork();

	on_calls(signal);
	if (child == 0)
		_exit(0);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		_exit(97);
	errno = error;
}

static void on_jumps(int signal)
{
	on_calls(signal);
	if (is_set)
		siglongjmp(out, 1);
}

static const struct { const char *name; void (*handler)(int); unsigned long (*calling)(unsigned long, unsigned long); } handlers[] = {
	{ "calls", on_calls, run }, { "forks", on_forks, run }, { "jumps", on_jumps, run_again },
};

static void handle(const char *name)
{
	for (size_t i = 0; i < sizeof(handlers) / sizeof(*handlers); i++)
		if (!strcmp(name, handlers[i].name)) {
			calling = handlers[i].calling;
			ledger->handles = !sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = handlers[i].handler,
										   .sa_flags = SA_RESTART }, NULL);
		}
}

/* --- the ways to die ------------------------------------------------------------------- */

TRACED static int deeper(volatile int *from)
{
	volatile int here[16] = { *from };

	ledger->deep++;
	return deeper(here) + here[0];
}

static void by_kill(void) { kill(getpid(), SIGKILL); }
static void by_abort(void) { abort(); }
static void by_exit(void) { _exit(code); }
static volatile int *volatile nowhere = (volatile int *)16;
static void by_fault(void) { *nowhere = 1; }
static void by_trap(void) { __builtin_trap(); }
static void by_overflow(void) { deeper(&code); }

/* Until the kernel kills somebody; the caller has set a limit. */
static void by_memory(void)
{
	for (;;) {
		char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			_exit(98);
		memset(at, 1, 1 << 20);
	}
}

static void by_wait(void)
{
	ledger->waits = 1;
	while (!ledger->go)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

static void by_fork(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		calling(1, LEDGER_THREADS - 1);
		_exit(0);
	}
	require(waitpid(child, &status, 0) == child, "waitpid");
	by_wait();
}

static const struct { const char *name; void (*end)(void); } ways[] = {
	{ "kill", by_kill }, { "abort", by_abort }, { "_exit", by_exit }, { "overflow", by_overflow },
	{ "fault", by_fault }, { "memory", by_memory }, { "wait", by_wait }, { "trap", by_trap }, { "forks", by_fork },
};

static void end(void)
{
	ledger->tid = gettid();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(ways[i].name, ending))
			ways[i].end();
}

static void *body(void *arg)
{
	unsigned long slot = (unsigned long)arg, x = calling(slot, slot);

	if (pthread_barrier_wait(&met) == PTHREAD_BARRIER_SERIAL_THREAD)
		end();
	pthread_barrier_wait(&met);
	if (ledger->waits)
		x = calling(x, slot);
	return (void *)x;
}

/* One call, so that its site is known; whoever watches the system calls then knows that it was
 * made. */
static void start(void)
{
	unsigned long all = calls;

	ledger->step = (unsigned long)step;
	ledger->run = (unsigned long)calling;
	calls = 1;
	calling(0, 0);
	calls = all;
	ledger->started = 1;
	getppid();
}

int main(int argc, char **argv)
{
	pthread_t others[LEDGER_THREADS];
	unsigned long sum = 0;
	void *x;

	require(argc > 3, "arguments");
	ledger = ledger_open(argv[1]);
	threads = strtoul(argv[2], NULL, 10);
	calls = strtoul(argv[3], NULL, 10);
	ending = argc > 4 ? argv[4] : "";
	code = argc > 5 ? atoi(argv[5]) : 0;
	require(ledger && threads >= 1 && threads <= LEDGER_HANDLED, "a ledger and threads");
	ledger->pid = getpid();
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	handle(argc > 6 ? argv[6] : "calls");
	start();
	pthread_barrier_init(&met, NULL, (unsigned)threads);
	for (unsigned long i = 1; i < threads; i++)
		require(!pthread_create(&others[i], NULL, body, (void *)i), "pthread_create");
	sum = (unsigned long)body(0);
	for (unsigned long i = 1; i < threads; i++) {
		require(!pthread_join(others[i], &x), "pthread_join");
		sum ^= (unsigned long)x;
	}
	printf("%lx\n", sum);
	return 0;
}

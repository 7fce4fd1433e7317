/* Functions that are interrupted by a signal whose handler takes a known time of the CPU. What each
 * lasted at most without its handlers, and what those took at least, is written at the end, in ns:
 * "NAME LEAST MOST" by clocks that stand around the calls and inside of the handlers, so that
 * whatever else the machine does is in both. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HANDLER_NS 5000000
#define OWN_NS 100000

static __thread volatile int64_t handled; /* by the outermost handlers of the call that is measured */
static __thread volatile int nested;
static sigjmp_buf out;

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Spends so much time of the CPU. */
__attribute__((noinline)) void spend(int64_t ns)
{
	int64_t until = now(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

static void say(const char *name, int64_t least, int64_t most)
{
	printf("%s %lld %lld\n", name, (long long)least, (long long)most);
}

__attribute__((noinline)) void on_plain(int sig)
{
	int64_t begin = now(CLOCK_MONOTONIC_RAW);

	nested++;
	spend(HANDLER_NS);
	if (sig == SIGUSR2)
		raise(SIGUSR1);
	if (!--nested)
		handled += now(CLOCK_MONOTONIC_RAW) - begin;
}

__attribute__((noinline)) void on_jump(int sig)
{
	int64_t begin = now(CLOCK_MONOTONIC_RAW);

	spend(HANDLER_NS);
	handled += now(CLOCK_MONOTONIC_RAW) - begin;
	siglongjmp(out, 1);
}

/* Is called as any function is, too: then it interrupts nobody. */
__attribute__((noinline)) void on_both(int sig)
{
	spend(OWN_NS);
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags };

	sigaction(sig, &act, NULL);
}

__attribute__((noinline)) void plain_work(void) { spend(OWN_NS); raise(SIGUSR1); spend(OWN_NS); }
__attribute__((noinline)) void nested_work(void) { spend(OWN_NS); raise(SIGUSR2); }
__attribute__((noinline)) void stack_work(void) { spend(OWN_NS); raise(SIGRTMIN); }
__attribute__((noinline)) void thread_work(void) { spend(OWN_NS); raise(SIGUSR1); }
__attribute__((noinline)) void both_work(void) { on_both(0); raise(SIGRTMIN + 1); }

__attribute__((noinline)) void jump_work(void)
{
	if (!sigsetjmp(out, 1))
		raise(SIGALRM);
	spend(OWN_NS);
}

static void measure(const char *name, void (*work)(void))
{
	int64_t begin = now(CLOCK_MONOTONIC_RAW), all;

	handled = 0;
	work();
	all = now(CLOCK_MONOTONIC_RAW) - begin;
	say(name, handled, all - handled);
}

static void *run_thread(void *arg)
{
	measure("thread_work", thread_work);
	return NULL;
}

int main(void)
{
	stack_t stack = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
	pthread_t thread;

	sigaltstack(&stack, NULL);
	handle(SIGUSR1, on_plain, SA_RESTART);
	handle(SIGUSR2, on_plain, SA_SIGINFO);
	handle(SIGRTMIN, on_plain, SA_ONSTACK);
	handle(SIGRTMIN + 1, on_both, 0);
	handle(SIGALRM, on_jump, SA_NODEFER);
	measure("plain_work", plain_work);
	measure("nested_work", nested_work);
	measure("stack_work", stack_work);
	measure("jump_work", jump_work);
	pthread_create(&thread, NULL, run_thread, NULL);
	pthread_join(thread, NULL);
	both_work();
	return 0;
}

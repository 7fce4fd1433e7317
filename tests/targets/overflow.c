/* Recursion into the guard page, again and again, with a handler on an alternate stack of the usual
 * size that leaves by siglongjmp: on the main thread's stack and on small ones, from frames of
 * several sizes. What was called at the very end is told as a range: an entry may or may not have
 * come before the fault.
 * `overflow edge`: threads whose first call of `last` has little stack left, each eight bytes
 * more. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "truth.h"

enum { ROUNDS = 12, THREADS = 6, SIGNAL_STACK = 8192, EDGES = 500, EDGE_STACK = 65536, GUARD = 4096 };
static __thread sigjmp_buf back;
static __thread volatile unsigned long begun, entered;
static unsigned long all_begun, all_entered, recovered;

TRACED static unsigned long in_handler(unsigned long n)
{
	BARRIER();
	return n + 1;
}

TRACED static void on_fault(int signal)
{
	__atomic_add_fetch(&recovered, in_handler(0), __ATOMIC_RELAXED);
	siglongjmp(back, 1);
}

/* `room` moves the next frame, so that every instruction gets its turn to meet the guard page. */
TRACED static unsigned long deep(unsigned long n, unsigned room)
{
	volatile char *p = alloca(room);
	unsigned long r;

	entered++;
	p[0] = (char)n;
	begun++;
	r = deep(n + 1, room);
	BARRIER();
	return r + (unsigned long)p[0];
}

TRACED static void overflow(unsigned room)
{
	if (sigsetjmp(back, 1))
		return;
	begun++;
	deep(0, room);
}

TRACED static void *rounds(void *arg)
{
	stack_t stack = { .ss_sp = malloc(SIGNAL_STACK), .ss_size = SIGNAL_STACK };

	require(!sigaltstack(&stack, NULL), "sigaltstack");
	for (unsigned i = 0; i < ROUNDS; i++)
		overflow((unsigned)(unsigned long)arg + 8 * i);
	__atomic_add_fetch(&all_begun, begun, __ATOMIC_RELAXED);
	__atomic_add_fetch(&all_entered, entered, __ATOMIC_RELAXED);
	return NULL;
}

static unsigned long tried, arrived;

TRACED static unsigned long last(unsigned long n)
{
	arrived++;
	BARRIER();
	return n + 1;
}

static char *edge_stack;

static void *edge(void *left)
{
	stack_t stack = { .ss_sp = malloc(SIGNAL_STACK), .ss_size = SIGNAL_STACK };
	char *here = __builtin_frame_address(0);

	require(!sigaltstack(&stack, NULL), "sigaltstack");
	if (sigsetjmp(back, 1))
		return NULL;
	*(volatile char *)alloca((unsigned long)(here - edge_stack - GUARD) + 512 - (unsigned long)left) = 1;
	tried += last(0);
	return NULL;
}

static int edges(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	edge_stack = mmap(NULL, GUARD + EDGE_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(!mprotect(edge_stack, GUARD, PROT_NONE), "mprotect");
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, edge_stack + GUARD, EDGE_STACK);
	for (unsigned long i = 0; i < EDGES; i++) {
		require(!pthread_create(&thread, &attr, edge, (void *)(8 * i)), "pthread_create");
		pthread_join(thread, NULL);
	}
	require(tried == arrived && tried > EDGES / 4, "some had stack enough");
	printf("survived\n");
	truth_between("last", arrived, EDGES);
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };
	struct rlimit little = { 512 << 10, 512 << 10 };
	pthread_attr_t attr;
	pthread_t thread;

	sigaction(SIGSEGV, &act, NULL);
	if (argc > 1)
		return edges();
	require(!setrlimit(RLIMIT_STACK, &little), "setrlimit");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	for (unsigned long i = 0; i < THREADS; i++) {
		require(!pthread_create(&thread, &attr, rounds, (void *)(16 + 40 * i)), "pthread_create");
		pthread_join(thread, NULL);
	}
	rounds((void *)100);
	require(all_entered > 7 * ROUNDS * 50, "recursion was deep");
	printf("recovered %lu times\n", recovered);
	truth("overflow", (THREADS + 1) * ROUNDS);
	truth("on_fault", recovered);
	truth("in_handler", recovered);
	truth_between("deep", all_entered, all_begun);
	return 0;
}

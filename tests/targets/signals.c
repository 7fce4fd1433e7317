/* Handlers that call traced functions, interrupting traced functions at 1 kHz and on an
 * alternate stack; nested signals; a handler left by siglongjmp; a fault that is repaired. */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "truth.h"

static volatile unsigned long ticks, handler_calls, main_calls, nested;
static sigjmp_buf back;
static char *page;

TRACED static unsigned long in_handler(unsigned long n)
{
	__atomic_add_fetch(&handler_calls, 1, __ATOMIC_RELAXED);
	return n + 1;
}

TRACED static void on_tick(int signal)
{
	ticks = in_handler(ticks);
	if (ticks % 8 == 0)
		raise(SIGUSR1);
}

TRACED static void on_usr1(int signal)
{
	in_handler(nested++);
}

TRACED static void on_usr2(int signal)
{
	in_handler(0);
	siglongjmp(back, 5);
}

TRACED static void on_fault(int signal, siginfo_t *info, void *context)
{
	require((char *)info->si_addr == page, "the fault's address");
	in_handler(0);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

TRACED static unsigned long in_main(unsigned long n)
{
	main_calls++;
	BARRIER();
	return n * 3 + 1;
}

TRACED static int jump_out(int n)
{
	volatile int depth = n;

	if (n)
		return jump_out(n - 1) + 1;
	raise(SIGUSR2);
	return depth;
}

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = flags};

	require(!sigaction(signal, &act, NULL), "sigaction");
}

int main(void)
{
	struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	volatile unsigned long usr2 = 0;
	unsigned long x = 1, i;

	sigaltstack(&stack, NULL);
	handle(SIGALRM, on_tick, SA_RESTART | SA_ONSTACK);
	handle(SIGUSR1, on_usr1, SA_RESTART);
	handle(SIGUSR2, on_usr2, SA_NODEFER);
	sigaction(SIGSEGV, &fault, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (i = 0; i < 300000 || ticks < 100; i++)
		x = in_main(x);
	setitimer(ITIMER_REAL, &never, NULL);
	for (i = 0; i < 50; i++)
		if (sigsetjmp(back, 1))
			usr2++;
		else
			jump_out(i % 7);
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page[0] = 'x';
	require(page[0] == 'x', "the repaired page");
	require(ticks >= 100 && nested == ticks / 8, "every signal was handled");
	printf("usr2 %lu\n", usr2);
	truth("in_handler", handler_calls);
	truth("in_main", main_calls);
	truth("on_tick", ticks);
	truth("on_usr2", 50);
	truth("on_fault", 1);
	return 0;
}

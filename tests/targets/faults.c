/* Faults that handlers repair: by leaving with siglongjmp, by going on behind the instruction, by
 * returning for a function that is not there, by making the page accessible. Signals of every kind
 * a processor sends. */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "truth.h"

enum { ROUNDS = 300, PAGES = 200, PAGE = 4096 };
static volatile enum { LEAVE, SKIP, RETURN, REPAIR } way;
static sigjmp_buf back;
static volatile unsigned long handled;
static char *pages;

TRACED static unsigned long in_handler(unsigned long n)
{
	BARRIER();
	return n + 1;
}

/* A handler that goes on elsewhere than where it was called. */
TRACED static void on_fault(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	handled = in_handler(handled);
	if (way == LEAVE)
		siglongjmp(back, signal);
	if (way == SKIP) {
		registers[REG_RAX] = signal;
		registers[REG_RIP] = registers[REG_R8];
	} else if (way == RETURN) {
		registers[REG_RAX] = 11;
		registers[REG_RIP] = *(greg_t *)registers[REG_RSP];
		registers[REG_RSP] += 8;
	} else {
		char *page = pages + ((char *)info->si_addr - pages) / PAGE * PAGE;

		require(!mprotect(page, PAGE, PROT_READ | PROT_WRITE), "mprotect");
	}
}

/* r8: where to go on. */
#define SKIPPED(instruction) ({ long r; \
	__asm__ volatile("lea 1f(%%rip), %%r8; xor %%eax, %%eax; xor %%edx, %%edx; " instruction "; 1:" \
			 : "=a"(r) : : "r8", "rcx", "rdx", "memory"); r; })

TRACED static long reads_nothing(void) { return SKIPPED("mov (%%rax), %%rcx"); }
TRACED static long divides(void) { return SKIPPED("xor %%ecx, %%ecx; div %%ecx"); }
TRACED static long undefined(void) { return SKIPPED("ud2"); }
TRACED static long privileged(void) { return SKIPPED("hlt"); }

TRACED static long reads(const char *p, int depth)
{
	long r = depth ? reads(p, depth - 1) : *(const volatile char *)p;

	BARRIER();
	return r + 1;
}

TRACED static long caught(const char *p, int depth)
{
	int signal = sigsetjmp(back, 1);

	return signal ? signal : reads(p, depth);
}

TRACED static long calls_nothing(int n)
{
	int (*volatile nothing)(int) = n % 2 ? NULL : (int (*)(int))(pages + n * PAGE);

	return nothing(n) + n;
}

/* A page of a file that is shorter than that sends SIGBUS. */
static long leave_all(const char *past)
{
	long sum = 0;

	way = LEAVE;
	for (int i = 0; i < ROUNDS; i++)
		sum += caught(i % 3 ? NULL : past, i % 40);
	return sum;
}

static long skip_all(void)
{
	long sum = 0;

	way = SKIP;
	for (int i = 0; i < ROUNDS; i++)
		sum = sum * 3 + reads_nothing() + 2 * divides() + 3 * undefined() + 5 * privileged();
	return sum;
}

int main(void)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	char *past = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fileno(tmpfile()), 0);
	long sum;

	pages = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&stack, NULL);
	for (int i = 0; i < 4; i++)
		require(!sigaction((int[]){ SIGSEGV, SIGFPE, SIGILL, SIGBUS }[i], &act, NULL), "sigaction");
	sum = leave_all(past);
	sum = sum * 7 + skip_all();
	way = RETURN;
	for (int i = 0; i < PAGES; i++)
		sum += calls_nothing(i);
	way = REPAIR;
	for (int i = 0; i < PAGES; i++)
		sum += reads(pages + i * PAGE + 77, i % 5);
	printf("%ld %lu\n", sum, handled);
	require(handled == 5 * ROUNDS + 2 * PAGES, "every fault was handled");
	truth("on_fault", handled);
	truth("in_handler", handled);
	truth("caught", ROUNDS);
	truth("divides", ROUNDS);
	truth("undefined", ROUNDS);
	truth("calls_nothing", PAGES);
	return 0;
}

/* Handlers that look at the pc of a fault. Functions by hand, so that every instruction's length is
 * known: the first, the second or the third one faults, which brace moves. The handler requires
 * that the pc is the instruction's own, and skips it, repairs what it needs and lets it run again,
 * or leaves; an unwinder in it finds the function. A stack that ends is met at the function's own
 * entry. */
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "truth.h"

enum { ROUNDS = 200, PAGE = 4096, ENDS = 1536, AGAIN = 20000 };
static volatile uint64_t expected, skip; /* the pc; bytes to go on behind it, 0: again */
static volatile int expected_signal;
static volatile unsigned long handled;
static unsigned long called;
static char *page;
static sigjmp_buf back;

#define BY_HAND(name, body) \
	__asm__(".pushsection .text; .globl " #name "; .type " #name ", @function; .balign 16\n" #name ":\n\t.cfi_startproc\n\t" \
		body "\n\t.cfi_endproc\n\t.size " #name ", .-" #name "\n\t.popsection"); \
	long name(const volatile void *p, long n)

BY_HAND(loads_first, "mov (%rdi), %rax; mov %rsi, %rax; add $1, %rax; ret");
BY_HAND(loads_second, "xor %eax, %eax; mov (%rdi), %cl; lea 1(%rsi), %rax; ret");
BY_HAND(loads_third, "push %rbx; xor %eax, %eax; mov (%rdi), %bl; lea 1(%rsi), %rax; pop %rbx; ret");
BY_HAND(divides_second, "mov %rsi, %rax; div %edi; lea 1(%rsi), %rax; ret");
BY_HAND(undefined_first, "ud2; lea 1(%rsi), %rax; nop; ret");

static const struct { const char *name; long (*function)(const volatile void *, long); int signal; unsigned at, bytes; } faults[] = {
	{ "loads_first", loads_first, SIGSEGV, 0, 3 }, { "loads_second", loads_second, SIGSEGV, 2, 2 },
	{ "loads_third", loads_third, SIGSEGV, 3, 2 }, { "divides_second", divides_second, SIGFPE, 3, 2 },
	{ "undefined_first", undefined_first, SIGILL, 0, 2 },
};

TRACED static void on_fault(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	void *frames[8];
	int n = backtrace(frames, 8), i = 0;

	(void)info;
	handled++;
	require(signal == expected_signal, "the signal");
	require((uint64_t)registers[REG_RIP] == expected, "the pc is the program's own instruction");
	while (i < n && (uint64_t)frames[i] != expected)
		i++;
	require(i < n, "an unwinder finds it");
	if (skip)
		registers[REG_RIP] += (greg_t)skip;
	else
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

/* The stack has ended at a function's entry. */
TRACED static void on_end(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal, (void)info;
	handled++;
	require((uint64_t)registers[REG_RIP] - expected < 16 || (uint64_t)registers[REG_RIP] == skip, "the stack ended in the function or its caller");
	require(registers[REG_RDI] == 77 && registers[REG_RAX] == 66 && registers[REG_RDX] == 55 && registers[REG_RCX] == 44,
		"registers are the caller's");
	siglongjmp(back, 1);
}

static void catch(int signal, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigemptyset(&action.sa_mask);
	sigaction(signal, &action, NULL);
}

static void one(unsigned i, int again)
{
	long r;

	expected = (uint64_t)faults[i].function + faults[i].at;
	expected_signal = faults[i].signal;
	skip = again ? 0 : faults[i].bytes;
	if (again)
		mprotect(page, PAGE, PROT_NONE);
	r = faults[i].function(again ? page : NULL, called);
	require(r == (long)called + 1, "the function goes on");
	called++;
}

/* Calls with so many bytes of stack as are left: its return address may fit, what follows does
 * not. */
BY_HAND(enters, "mov %rdi, %r11; lea -2048(%rsp), %r10; mov %r11, (%r10); ret");
static void end_of_stack(char *low, unsigned left)
{
	expected = (uint64_t)enters;
	__asm__ volatile("lea 1f(%%rip), %%rax; mov %%rax, %0" : "=m"(skip) : : "rax");
	if (!sigsetjmp(back, 1))
		__asm__ volatile("mov %0, %%rsp; mov $77, %%edi; mov $66, %%eax; mov $55, %%edx; mov $44, %%ecx; 1: call enters; ud2"
				 : : "r"(low + left) : "rdi", "rax", "rdx", "rcx", "memory");
}

int main(void)
{
	static char alternate[65536];
	const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	char *low;
	void *frames[4];

	backtrace(frames, 4); /* loads the unwinder */
	page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	low = (char *)mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + PAGE;
	mprotect(low - PAGE, PAGE, PROT_NONE);
	for (unsigned i = 0; i < 3; i++)
		catch((int[]){ SIGSEGV, SIGFPE, SIGILL }[i], on_fault);
	for (int round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
			one(i, 0);
			if (faults[i].signal == SIGSEGV)
				one(i, 1);
		}
	truth("on_fault", handled);
	for (unsigned i = 0; i < 3; i++)
		truth(faults[i].name, 2 * ROUNDS);
	truth("divides_second", ROUNDS);
	truth("undefined_first", ROUNDS);
	sigaltstack(&stack, NULL);
	catch(SIGSEGV, on_end);
	handled = 0;
	for (unsigned left = 0; left < ENDS; left += 8)
		end_of_stack(low, left);
	require(handled == ENDS / 8, "every end of the stack was met");
	/* So often that the records' memory ends at that very entry, too. */
	for (unsigned i = 0; i < AGAIN; i++)
		end_of_stack(low, ENDS / 2);
	require(handled == ENDS / 8 + AGAIN, "every end of the stack was met again");
	printf("%lu\n", called);
	return 0;
}

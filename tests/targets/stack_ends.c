/* A handler that takes a fault for a stack's end only as OCaml's runtime does: the pc is in the
 * program's own code, the address is aligned, at most 256 bytes below the stack pointer, and beyond
 * the stack. A function by hand calls itself until its stack ends, so often that records' memory
 * ends everywhere on the way down, too. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "truth.h"

enum { ROUNDS = 3000, PAGE = 4096, NEAR = 256 };
static char *low; /* the stack's lowest byte */
static volatile unsigned long handled;
static sigjmp_buf back;

__asm__(".pushsection .text; .globl descends; .type descends, @function; .balign 16\ndescends:\n\t.cfi_startproc\n\t"
	"push %rbx; .cfi_adjust_cfa_offset 8; lea 1(%rbx), %rbx; mov %rdi, %rax; call descends; add %rbx, %rax; "
	"pop %rbx; .cfi_adjust_cfa_offset -8; ret\n\t"
	".cfi_endproc\ndescends_end:\n\t.size descends, .-descends\n\t.popsection");
extern const char descends[], descends_end[];

TRACED static void on_end(int signal, siginfo_t *info, void *context)
{
	const greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t at = (uint64_t)info->si_addr;

	handled++;
	require(signal == SIGSEGV && at == (uint64_t)registers[REG_CR2], "the address is told twice");
	require((uint64_t)registers[REG_RIP] - (uint64_t)descends < (uint64_t)(descends_end - descends),
		"the pc is in the function");
	require(at % 8 == 0 && at + NEAR >= (uint64_t)registers[REG_RSP], "the address is near the stack pointer");
	require(at < (uint64_t)low && at >= (uint64_t)low - PAGE, "the address is beyond the stack");
	require(registers[REG_RDI] == 77, "registers are the program's");
	siglongjmp(back, 1);
}

static void descend(unsigned left)
{
	if (!sigsetjmp(back, 1))
		__asm__ volatile("mov %0, %%rsp; mov $77, %%edi; call descends; ud2" : : "r"(low + left) : "rdi", "rax", "rbx", "memory");
}

int main(void)
{
	static char alternate[65536];
	const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction action = { .sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	low = (char *)mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + PAGE;
	mprotect(low - PAGE, PAGE, PROT_NONE);
	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	for (unsigned i = 0; i < ROUNDS; i++)
		descend(3 * PAGE - i % 512 * 8);
	require(handled == ROUNDS, "every end of the stack was met");
	printf("%lu\n", handled);
	return 0;
}

#include "machine.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define FLAGS_RANDOM 0x8d5u /* CF PF AF ZF SF OF */
#define FLAGS_FIXED 0x202u

static uint8_t *stack, *data, *landing;
static struct machine_state *volatile running; /* NULL: the next trap starts */
static struct machine_state *volatile wanted;
static ucontext_t home;
static uint8_t home_fp[512];

static const int regs[16] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

static void load(ucontext_t *uc, const struct machine_state *s)
{
	for (int i = 0; i < 16; i++)
		uc->uc_mcontext.gregs[regs[i]] = (greg_t)s->gpr[i];
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)s->rip;
	uc->uc_mcontext.gregs[REG_EFL] = (greg_t)s->flags;
	memcpy(uc->uc_mcontext.fpregs->_xmm, s->xmm, sizeof(s->xmm));
	uc->uc_mcontext.fpregs->mxcsr = s->mxcsr;
}

static void store(const ucontext_t *uc, const siginfo_t *si, struct machine_state *s)
{
	for (int i = 0; i < 16; i++)
		s->gpr[i] = (uint64_t)uc->uc_mcontext.gregs[regs[i]];
	s->rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	s->flags = (uint64_t)uc->uc_mcontext.gregs[REG_EFL] & FLAGS_RANDOM;
	memcpy(s->xmm, uc->uc_mcontext.fpregs->_xmm, sizeof(s->xmm));
	s->mxcsr = uc->uc_mcontext.fpregs->mxcsr;
	s->signal = si->si_signo;
	s->fault = si->si_signo == SIGSEGV || si->si_signo == SIGBUS ? (uint64_t)si->si_addr : 0;
}

static void handler(int sig, siginfo_t *si, void *arg)
{
	ucontext_t *uc = arg;

	if (!running) {
		if (sig != SIGTRAP || !wanted)
			abort(); /* a fault of the test itself */
		memcpy(&home.uc_mcontext.gregs, &uc->uc_mcontext.gregs,
		       sizeof(home.uc_mcontext.gregs));
		memcpy(home_fp, uc->uc_mcontext.fpregs, sizeof(home_fp));
		running = wanted;
		load(uc, running);
		return;
	}
	store(uc, si, running);
	running = NULL;
	memcpy(&uc->uc_mcontext.gregs, &home.uc_mcontext.gregs, sizeof(home.uc_mcontext.gregs));
	/* all but the software-reserved bytes, which say what else the frame holds */
	memcpy(uc->uc_mcontext.fpregs, home_fp, 416);
}

static uint8_t *map(size_t n, int prot)
{
	void *p = mmap(NULL, n, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

void machine_init(void)
{
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	struct sigaction sa = { .sa_sigaction = handler,
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	stack_t alt = { .ss_sp = map(1 << 16, PROT_READ | PROT_WRITE), .ss_size = 1 << 16 };

	sigaltstack(&alt, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
	stack = map(MACHINE_MEMORY, PROT_READ | PROT_WRITE);
	map(MACHINE_MEMORY, PROT_NONE);
	data = map(MACHINE_MEMORY, PROT_READ | PROT_WRITE);
	landing = map(4096, PROT_READ | PROT_WRITE);
	memset(landing, 0xcc, 4096);
	mprotect(landing, 4096, PROT_READ | PROT_EXEC);
}

uint8_t *machine_stack(void)
{
	return stack;
}

uint8_t *machine_data(void)
{
	return data;
}

static uint64_t random_value(void)
{
	uint64_t wide = (uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^ (uint64_t)random();

	switch (random() % 8) {
	case 0:
		return wide;
	case 1:
		return wide % 8;
	default:
		return (uint64_t)data + MACHINE_MEMORY / 4 + wide % (MACHINE_MEMORY / 2);
	}
}

static void random_memory(uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t v = i % 64 ? (uint64_t)random() * 0x9e3779b97f4a7c15u : random_value();

		memcpy(p + i, &v, 8);
	}
}

void machine_randomize(struct machine_state *s)
{
	uint64_t to = (uint64_t)landing + (uint64_t)random() % 4000;

	memset(s, 0, sizeof(*s));
	for (int i = 0; i < 16; i++)
		s->gpr[i] = random_value();
	s->gpr[4] = (uint64_t)stack + MACHINE_MEMORY / 2 + 8 * ((uint64_t)random() % 8);
	s->flags = ((uint64_t)random() & FLAGS_RANDOM) | FLAGS_FIXED;
	s->mxcsr = 0x1f80;
	random_memory(s->xmm, sizeof(s->xmm));
	random_memory(data, MACHINE_MEMORY);
	random_memory(stack, MACHINE_MEMORY);
	memcpy((void *)s->gpr[4], &to, 8);
}

void machine_run(struct machine_state *state)
{
	wanted = state;
	__asm__ volatile("int3" ::: "memory", "cc");
	wanted = NULL;
}

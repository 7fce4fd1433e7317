/* No register may differ after a call of a traced function that touches none: callers compiled
 * with -fipa-ra rely on that. Every general, vector and x87 register is filled, the function
 * called, and every one compared; likewise inside the function, against what the caller set. */
#include <stdint.h>
#include <string.h>

#include "truth.h"

struct state {
	uint64_t general[16];   /* rax rcx rdx rbx rsp rbp rsi rdi r8..r15; rsp unused */
	uint8_t vector[16][32];
	uint8_t x87[8][16];
	uint32_t mxcsr;
	uint16_t control;
} __attribute__((aligned(64)));

struct state want, inside, got;
uint64_t kept_rsp, inside_rsp;
void fill_call_store(void);
void touches_nothing(void);
void stores_all(void);
extern void (*callee)(void);
void (*callee)(void);

#define GENERAL(X) X(rax, 0) X(rcx, 8) X(rdx, 16) X(rbx, 24) X(rbp, 40) X(rsi, 48) X(rdi, 56) X(r8, 64) \
	X(r9, 72) X(r10, 80) X(r11, 88) X(r12, 96) X(r13, 104) X(r14, 112) X(r15, 120)
#define VECTOR(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define LOAD_G(r, o) "movq want+" #o "(%rip), %" #r "\n"
#define SAVE_G(to, r, o) "movq %" #r ", " #to "+" #o "(%rip)\n"
#define SAVE_INSIDE(r, o) SAVE_G(inside, r, o)
#define SAVE_GOT(r, o) SAVE_G(got, r, o)
#define LOAD_V(n) "vmovups want+128+32*" #n "(%rip), %ymm" #n "\n"
#define SAVE_V_INSIDE(n) "vmovups %ymm" #n ", inside+128+32*" #n "(%rip)\n"
#define SAVE_V_GOT(n) "vmovups %ymm" #n ", got+128+32*" #n "(%rip)\n"
#define ST(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define LOAD_ST(n) "fldt want+640+16*" #n "(%rip)\n"
#define SAVE_ST(n) "fstpt got+640+16*" #n "(%rip)\n"

__asm__(".text\n.p2align 4\n.globl fill_call_store\n.type fill_call_store, @function\nfill_call_store:\n"
	"push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"movq %rsp, kept_rsp(%rip)\n"
	VECTOR(LOAD_V) ST(LOAD_ST) GENERAL(LOAD_G)
	"call *callee(%rip)\n"
	GENERAL(SAVE_GOT) VECTOR(SAVE_V_GOT) ST(SAVE_ST)
	"stmxcsr got+768(%rip)\nfnstcw got+772(%rip)\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n"
	".size fill_call_store, .-fill_call_store\n"
	".p2align 4\n.globl touches_nothing\n.type touches_nothing, @function\ntouches_nothing:\n"
	".cfi_startproc\nlea (%rsp), %rsp\nlea (%rsp), %rsp\nret\n.cfi_endproc\n.size touches_nothing, .-touches_nothing\n"
	".p2align 4\n.globl stores_all\n.type stores_all, @function\nstores_all:\n.cfi_startproc\n"
	"movq %rsp, inside_rsp(%rip)\n" GENERAL(SAVE_INSIDE) VECTOR(SAVE_V_INSIDE) "ret\n.cfi_endproc\n"
	".size stores_all, .-stores_all\n");

static void expect(const char *where, const struct state *s, int round)
{
	char text[64];

	for (int i = 0; i < 16; i++) {
		snprintf(text, sizeof(text), "general register %d %s, round %d", i, where, round);
		require(i == 4 || s->general[i] == want.general[i], text);
		snprintf(text, sizeof(text), "vector register %d %s, round %d", i, where, round);
		require(!memcmp(s->vector[i], want.vector[i], 32), text);
	}
}

static void fill(unsigned seed)
{
	uint8_t *p = (uint8_t *)&want;

	srand(seed);
	for (size_t i = 0; i < 640; i++)
		p[i] = rand();
	for (int i = 0; i < 8; i++) {
		long double x = seed + i * 1.25L;

		memcpy(want.x87[i], &x, 10);
	}
}

int main(void)
{
	enum { ROUNDS = 2000 };

	if (!__builtin_cpu_supports("avx"))
		return printf("no AVX here\n") < 0;
	for (int i = 0; i < ROUNDS; i++) {
		fill(i);
		callee = touches_nothing;
		fill_call_store();
		expect("after the call", &got, i);
		for (int j = 0; j < 8; j++)
			require(!memcmp(got.x87[j], want.x87[7 - j], 10), "an x87 register");
		require(got.mxcsr == 0x1f80 && got.control == 0x37f, "the floating-point control words");
		callee = stores_all;
		fill_call_store();
		expect("inside", &inside, i);
		expect("after the second call", &got, i);
		require(inside_rsp == kept_rsp - 8, "the stack pointer inside");
	}
	printf("all registers kept\n");
	truth("touches_nothing", ROUNDS);
	truth("stores_all", ROUNDS);
	truth("fill_call_store", 2 * ROUNDS);
	return 0;
}

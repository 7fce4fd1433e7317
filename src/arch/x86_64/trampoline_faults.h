/* SPDX-License-Identifier: MIT */
/* arch/trampoline_faults.h for x86-64: what trampoline.S stores, in its order. */
#pragma once

/* Places of registers in the kernel's ucontext, in words. */
enum { UC_RDX = 17, UC_RAX = 18, UC_RCX = 19, UCONTEXT_SP = 20, UCONTEXT_PC = 21 };
#define UCONTEXT_GOES_ON UC_RCX
#define UCONTEXT_SLOT UC_RDX
/* Places below a return address where trampolines keep registers (trampoline.S), in words. */
enum { AT_RAX = -1, AT_RDX = -2, AT_RCX = -3, FAULTS_AT_BODY = -4, FAULTS_AT_FOUND = -5,
       FAULTS_AT_SLOT = -5 };

/* True at one of the stores after a trampoline's first: mov %rdx, -16(%rsp); mov %rcx,
 * -24(%rsp). */
static inline bool trampoline_faults_keeps_another(uint64_t pc)
{
	static const uint8_t stores[2][5] = { { 0x48, 0x89, 0x54, 0x24, 0xf0 },
					      { 0x48, 0x89, 0x4c, 0x24, 0xe8 } };
	const uint8_t *at = (const uint8_t *)pc;
	unsigned same[2] = { 0, 0 };

	for (unsigned i = 0; i < 5; i++) {
		same[0] += at[i] == stores[0][i];
		same[1] += at[i] == stores[1][i];
	}
	return same[0] == 5 || same[1] == 5;
}

/* A trampoline changes no register before its first store, and only rax before the third. */
static inline void trampoline_faults_restore(uint64_t *context, bool first)
{
	const uint64_t *kept = (const uint64_t *)context[UCONTEXT_SP];

	if (first)
		return;
	context[UC_RAX] = kept[AT_RAX];
	if (trampoline_faults_keeps_another(context[UCONTEXT_PC]))
		return;
	context[UC_RDX] = kept[AT_RDX];
	context[UC_RCX] = kept[AT_RCX];
}

/* SPDX-License-Identifier: MIT */
/* arch/returned_regs.h for x86-64. FXSAVE is the one instruction that tells st0 and changes nothing
 * of the x87: a store of it pops, and of an empty register raises an exception. */
#pragma once

#define RETURNED_ST_AT 32u  /* in what FXSAVE writes */
#define RETURNED_XMM_AT 160u
#define RETURNED_ST_WORDS 0xffffu /* of the second word of st0 */

/* Out of line: its 512 bytes of stack are gone before anything else is called. */
static __attribute__((noinline)) void
returned_regs_read(struct prototype_registers *r, uint64_t rax, uint64_t rdx)
{
	uint64_t image[64] __attribute__((aligned(16)));

	__asm__ volatile("fxsave64 %0" : "=m"(image));
	r->numbers[0] = rax;
	r->numbers[1] = rdx;
	for (unsigned i = 0; i < 2; i++) {
		r->vectors[i][0] = image[RETURNED_XMM_AT / 8 + 2 * i];
		r->vectors[i][1] = image[RETURNED_XMM_AT / 8 + 2 * i + 1];
	}
	r->extended[0] = image[RETURNED_ST_AT / 8];
	r->extended[1] = image[RETURNED_ST_AT / 8 + 1] & RETURNED_ST_WORDS;
}

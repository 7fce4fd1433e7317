/* SPDX-License-Identifier: MIT */
/* The System V calling convention, as the kernel's code has it: no vector registers. */
#pragma once

#define KERNEL_ARGUMENTS 6u

static inline unsigned kernel_arguments_taken(unsigned bytes, int composite)
{
	return composite && bytes > 16 ? 0 : (bytes + 7) / 8;
}

#ifdef __bpf__
/* Offsets in struct pt_regs. clang would make one load of several, at a computed place, which the
 * kernel's verifier refuses: asm keeps them apart. */
#define KERNEL_REGISTER(context, offset)                                                \
	({                                                                              \
		unsigned long long register_;                                           \
                                                                                        \
		asm volatile("%0 = *(u64 *)(%1 + %2)"                                   \
			     : "=r"(register_)                                          \
			     : "r"(context), "i"(offset));                              \
		register_;                                                              \
	})
#define kernel_arguments_stack(context) KERNEL_REGISTER(context, 152)
#define kernel_arguments_result(context) KERNEL_REGISTER(context, 80)

static inline __attribute__((always_inline)) unsigned long long
kernel_arguments_nth(void *context, unsigned n)
{
	switch (n) {
	case 0: return KERNEL_REGISTER(context, 112);
	case 1: return KERNEL_REGISTER(context, 104);
	case 2: return KERNEL_REGISTER(context, 96);
	case 3: return KERNEL_REGISTER(context, 88);
	case 4: return KERNEL_REGISTER(context, 72);
	default: return KERNEL_REGISTER(context, 64);
	}
}
#endif

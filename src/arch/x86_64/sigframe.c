/* SPDX-License-Identifier: MIT */
/* Builds a signal frame as the kernel would push it, with the vector registers in the form of
 * XSAVE. tracee/borrow.c and inject/stopped_stacks.c write it into a process, for rt_sigreturn.
 * Pure computation; it cannot fail, but without XSAVE data it restores no vector registers. Any
 * thread. */
#include "arch/sigframe.h"

#include <cpuid.h>
#include <string.h>
#include <ucontext.h>

#include "arch/x86_64/signal_frame.h"

#define CONTEXT_BYTES (offsetof(ucontext_t, uc_sigmask) + 8)
_Static_assert(CONTEXT_BYTES == SIGNAL_CONTEXT_BYTES && CONTEXT_BYTES <= SIGFRAME_CONTEXT,
	       "the kernel's struct ucontext");

#define FLAGS 7u /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
/* No flags of sigaltstack's: the kernel leaves the alternative stack alone. */
#define ALT_STACK_AS_IT_IS 0x5a5a

/* After the flags stand 16 bits with the user code segment. */
#define SEGMENTS UINT64_C(0x33)
#define SEGMENTS_MASK UINT64_C(0xffff)

/* The last 48 of FXSAVE's 512 bytes are the kernel's own. */
#define XSTATE_HEADER 512
#define XSTATE_FIRST 576 /* offset of the components whose places the processor tells */
#define XSTATE_SW 464
/* FP_XSTATE_MAGIC1 and 2 of asm/sigcontext.h. Without both the kernel restores FXSAVE's part
 * only. */
#define MAGIC1 0x46505853u
#define MAGIC2 0x46505845u

/* The kernel's struct _fpx_sw_bytes, in the 48 bytes that FXSAVE leaves to software. */
struct software { uint32_t magic, extended; uint64_t features; uint32_t bytes; };

/* Bytes up to the last component in use: the kernel may show a debugger more than it lets this
 * thread have (AMX). */
static size_t xstate_bytes(const uint8_t *xstate, size_t n)
{
	size_t end = XSTATE_FIRST;
	uint64_t there;

	memcpy(&there, xstate + XSTATE_HEADER, sizeof(there));
	for (unsigned i = 2; i < 63; i++) {
		unsigned bytes, at, flags, zero;

		if (there >> i & 1 && __get_cpuid_count(0xd, i, &bytes, &at, &flags, &zero) &&
		    at + bytes > end)
			end = at + bytes;
	}
	return end < n ? end : n;
}

/* Returns the bytes written, MAGIC2 behind the components included; 0: there is too little to make
 * sense of. */
static size_t put_xstate(uint8_t *to, const uint8_t *xstate, size_t n)
{
	const uint32_t magic2 = MAGIC2;
	struct software sw = { .magic = MAGIC1 };

	if (n < XSTATE_FIRST)
		return 0;
	n = xstate_bytes(xstate, n);
	memcpy(to, xstate, n);
	/* The feature mask that the kernel shows debuggers there. */
	memcpy(&sw.features, xstate + XSTATE_SW, sizeof(sw.features));
	sw.bytes = (uint32_t)n;
	sw.extended = (uint32_t)n + SIGFRAME_END;
	memset(to + XSTATE_SW, 0, XSTATE_HEADER - XSTATE_SW);
	memcpy(to + XSTATE_SW, &sw, sizeof(sw));
	memcpy(to + n, &magic2, sizeof(magic2));
	return n + SIGFRAME_END;
}

bool sigframe_is_mark(uint64_t word)
{
	return (word & SEGMENTS_MASK) == SEGMENTS;
}

size_t sigframe_build(uint8_t to[SIGFRAME_MAX], uint64_t at, const struct user_regs_struct *regs,
		      uint64_t mask, const uint8_t *vectors, size_t n)
{
	const struct user_regs_struct *r = regs;
	const greg_t gregs[NGREG] = {
		[REG_R8] = (greg_t)r->r8,
		[REG_R9] = (greg_t)r->r9,
		[REG_R10] = (greg_t)r->r10,
		[REG_R11] = (greg_t)r->r11,
		[REG_R12] = (greg_t)r->r12,
		[REG_R13] = (greg_t)r->r13,
		[REG_R14] = (greg_t)r->r14,
		[REG_R15] = (greg_t)r->r15,
		[REG_RDI] = (greg_t)r->rdi,
		[REG_RSI] = (greg_t)r->rsi,
		[REG_RBP] = (greg_t)r->rbp,
		[REG_RBX] = (greg_t)r->rbx,
		[REG_RDX] = (greg_t)r->rdx,
		[REG_RAX] = (greg_t)r->rax,
		[REG_RCX] = (greg_t)r->rcx,
		[REG_RSP] = (greg_t)r->rsp,
		[REG_RIP] = (greg_t)r->rip, [REG_EFL] = (greg_t)r->eflags,
		[REG_CSGSFS] = (greg_t)((r->cs & 0xffff) | r->ss << 48),
	};
	ucontext_t uc = { .uc_flags = FLAGS, .uc_stack.ss_flags = ALT_STACK_AS_IT_IS };
	size_t bytes = put_xstate(to + SIGFRAME_CONTEXT, vectors, n);

	memcpy(uc.uc_mcontext.gregs, gregs, sizeof(gregs));
	uc.uc_mcontext.fpregs = bytes ? (void *)(uintptr_t)(at + SIGFRAME_CONTEXT) : NULL;
	memcpy(&uc.uc_sigmask, &mask, sizeof(mask));
	memset(to, 0, SIGFRAME_CONTEXT);
	memcpy(to, &uc, CONTEXT_BYTES);
	return SIGFRAME_CONTEXT + bytes;
}

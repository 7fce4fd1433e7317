/* SPDX-License-Identifier: MIT */
/* For assembly: the entry of the agent from the code of a probe (arch/probe_code.h), and a
 * call of C there that keeps every register. */
#include "shared/probe.h"

	/* More than is used; touched first, in case the stack ends here: see CALL_C in entry.S. */
	.set C_STACK, 2688
	.set FRAME_FLAGS, 128
	.set FRAME_RSP, 32
	.set FRAME_RETURN, 136
	.set DIRECTION_FLAG, 0x400

	.macro KEEP register, number
	push	%\register
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %\register, 0
	.endm
	.macro RESTORE register
	pop	%\register
	.cfi_adjust_cfa_offset -8
	.cfi_restore %\register
	.endm

	/* To unwinders this is a signal's frame: its caller is the program at the probed
	 * instruction, not the trampoline, of which they know nothing. RA is saved at the site's
	 * `ip`: CFA - 136 holds the nop's address r; r + *(int32_t *)(r + 3) + 8: DW_CFA_expression
	 * RA, const1u 136, minus, deref, dup, plus_uconst 3, deref_size 4, const1u 32, shl, const1u
	 * 32, shra, plus, plus_uconst 8 */
	.macro PROBE_BEGINS
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa %rsp, 8 + 128
	.cfi_escape 0x10, 0x10, 18, 0x08, 136, 0x1c, 0x06, 0x12, 0x23, 3, 0x94, 4, 0x08, 32, 0x24, 0x08, 32, 0x26, 0x22, 0x23, 8
	.endm

	/* Calls function(struct probe_regs *, struct probe_site *, word) and returns to the
	 * trampoline. `more`: bytes pushed since the trampoline called, which hold the word. */
	.macro PROBE_CALLS function, more=0
	pushf
	.cfi_adjust_cfa_offset 8
	KEEP	r15
	KEEP	r14
	KEEP	r13
	KEEP	r12
	KEEP	r11
	KEEP	r10
	KEEP	r9
	KEEP	r8
	KEEP	rdi
	KEEP	rsi
	KEEP	rbp
	push	%rsp
	.cfi_adjust_cfa_offset 8
	KEEP	rbx
	KEEP	rdx
	KEEP	rcx
	KEEP	rax
	cld
	testb	$0, -C_STACK(%rsp)
	/* The program's own stack pointer, for the registers that C sees. */
	lea	FRAME_RETURN + \more + 8 + 128(%rsp), %rax
	mov	%rax, FRAME_RSP(%rsp)
	.if	\more
	mov	FRAME_RETURN(%rsp), %rdx
	.endif
	mov	FRAME_RETURN + \more(%rsp), %rsi
	movslq	3(%rsi), %rax
	add	%rax, %rsi
	mov	%rsp, %rdi
	mov	%rsp, %rbx
	.cfi_def_cfa_register %rbx
	and	$-16, %rsp
	call	\function
	mov	%rbx, %rsp
	.cfi_def_cfa_register %rsp
	/* popf is slow. Only these flags were changed here: the direction; overflow, which an
	 * addition restores; the other status flags, which sahf restores. */
	mov	FRAME_FLAGS(%rsp), %ecx
	test	$DIRECTION_FLAG, %ecx
	jz	1f
	std
1:	mov	%cl, %ah
	shr	$11, %ecx
	and	$1, %ecx
	add	$0x7f, %cl
	sahf
	RESTORE	rax
	RESTORE	rcx
	RESTORE	rdx
	RESTORE	rbx
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	RESTORE	rbp
	RESTORE	rsi
	RESTORE	rdi
	RESTORE	r8
	RESTORE	r9
	RESTORE	r10
	RESTORE	r11
	RESTORE	r12
	RESTORE	r13
	RESTORE	r14
	RESTORE	r15
	lea	8 + \more(%rsp), %rsp
	.cfi_adjust_cfa_offset -8 - \more
	ret
	.endm

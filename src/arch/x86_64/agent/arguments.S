/* SPDX-License-Identifier: MIT */
/* Entry from trampolines of functions whose arguments are recorded or compared, before they do
 * anything else (arch/trampoline.h): the stack is as at the function's first instruction, but for
 * the return address of a nop, whose displacement leads to the struct arguments_site. Every
 * register comes out as it went in; flags are not kept, as in trampolines, and the carry flag says
 * that the call is not to be recorded. Vector registers are read only. */
	.set C_STACK, 2048              /* more than is used: tests/agent/depth.py */
	.set FRAME, 272                 /* struct arguments_regs, and up to 16 */
	.set RBX_AT, 24
	.set FLOATS_AT, 136

	.text
	.globl agent_arguments
	.hidden agent_arguments
	.type agent_arguments, @function
agent_arguments:
	.cfi_startproc
	testb	$0, -C_STACK(%rsp)      # see CALL_C in entry.S
	lea	-FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset FRAME
	mov	%rax, 0(%rsp)
	mov	%rcx, 8(%rsp)
	mov	%rdx, 16(%rsp)
	mov	%rbx, RBX_AT(%rsp)
	.cfi_rel_offset rbx, RBX_AT
	mov	%rbp, 40(%rsp)
	mov	%rsi, 48(%rsp)
	mov	%rdi, 56(%rsp)
	mov	%r8, 64(%rsp)
	mov	%r9, 72(%rsp)
	mov	%r10, 80(%rsp)
	mov	%r11, 88(%rsp)
	mov	%r12, 96(%rsp)
	mov	%r13, 104(%rsp)
	mov	%r14, 112(%rsp)
	mov	%r15, 120(%rsp)
	movq	$0, 128(%rsp)
	movups	%xmm0, FLOATS_AT(%rsp)
	movups	%xmm1, FLOATS_AT + 16(%rsp)
	movups	%xmm2, FLOATS_AT + 32(%rsp)
	movups	%xmm3, FLOATS_AT + 48(%rsp)
	movups	%xmm4, FLOATS_AT + 64(%rsp)
	movups	%xmm5, FLOATS_AT + 80(%rsp)
	movups	%xmm6, FLOATS_AT + 96(%rsp)
	movups	%xmm7, FLOATS_AT + 112(%rsp)
	lea	FRAME + 8(%rsp), %rax
	mov	%rax, 32(%rsp)
	mov	FRAME(%rsp), %rsi
	movslq	3(%rsi), %rax
	add	%rax, %rsi
	mov	%rsp, %rdi
	mov	%rsp, %rbx
	.cfi_def_cfa_register %rbx
	and	$-16, %rsp
	cld
	call	agent_arguments_hit
	mov	%rbx, %rsp
	.cfi_def_cfa_register %rsp
	neg	%eax                    # sets the carry flag if it is not 0; what follows keeps flags
	mov	0(%rsp), %rax
	mov	8(%rsp), %rcx
	mov	16(%rsp), %rdx
	mov	RBX_AT(%rsp), %rbx
	.cfi_restore rbx
	mov	48(%rsp), %rsi
	mov	56(%rsp), %rdi
	mov	64(%rsp), %r8
	mov	72(%rsp), %r9
	mov	80(%rsp), %r10
	mov	88(%rsp), %r11
	lea	FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset -FRAME
	ret
	.cfi_endproc
	.size agent_arguments, .-agent_arguments

	.section .note.GNU-stack, "", @progbits

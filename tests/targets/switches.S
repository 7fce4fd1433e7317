# Ways to switch stacks as libraries do it by hand.

	.text
# void switch_to(void **from, void *to): keeps the callee-saved registers on the stack it leaves.
	.globl	switch_to
	.type	switch_to, @function
switch_to:
	.cfi_startproc
	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, (%rdi)
	mov	%rsi, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret
	.cfi_endproc
	.size	switch_to, . - switch_to

# void *jump(void *to, void *value): what is passed comes out at the other side together with where it came
# from; goes on by a jump, not by a return (as Boost.Context does). Result in rax: where from; rdx: value.
	.globl	jump
	.type	jump, @function
jump:
	.cfi_startproc
	lea	-0x38(%rsp), %rsp
	stmxcsr	(%rsp)
	fnstcw	0x4(%rsp)
	mov	%r12, 0x8(%rsp)
	mov	%r13, 0x10(%rsp)
	mov	%r14, 0x18(%rsp)
	mov	%r15, 0x20(%rsp)
	mov	%rbx, 0x28(%rsp)
	mov	%rbp, 0x30(%rsp)
	mov	%rsp, %rax
	mov	%rdi, %rsp
	mov	0x38(%rsp), %r8
	ldmxcsr	(%rsp)
	fldcw	0x4(%rsp)
	mov	0x8(%rsp), %r12
	mov	0x10(%rsp), %r13
	mov	0x18(%rsp), %r14
	mov	0x20(%rsp), %r15
	mov	0x28(%rsp), %rbx
	mov	0x30(%rsp), %rbp
	lea	0x40(%rsp), %rsp
	mov	%rsi, %rdx
	mov	%rax, %rdi
	jmp	*%r8
	.cfi_endproc
	.size	jump, . - jump

	.section .note.GNU-stack, "", @progbits

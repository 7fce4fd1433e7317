# A switch of stacks as libraries have it: a label and instructions, without a type, a size or unwind information.

	.text
# void SWITCH(void **from, void **to): keeps the callee-saved registers on the stack it leaves.
	.globl	SWITCH
SWITCH:
	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, (%rdi)
	mov	(%rsi), %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret

	.section .note.GNU-stack, "", @progbits

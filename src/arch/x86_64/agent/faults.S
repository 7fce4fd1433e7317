/* SPDX-License-Identifier: MIT */
/* The return address of a handler that was entered for a fault in a moved instruction (faults.c).
 * The stack pointer points to the kernel's ucontext, which has all registers; nothing else is to be
 * kept. Unwinders see a signal's frame, as they do at the C library's own code in this place. */
#include <asm/unistd.h>

	/* A register lies at the stack pointer + its place in the ucontext: DW_CFA_expression,
	 * breg7. */
	.macro FROM register, bytes:vararg
	.cfi_escape 0x10, \register, \bytes
	.endm

	.text
	.globl agent_fault_landing
	.hidden agent_fault_landing
	.cfi_startproc
	.cfi_signal_frame
	/* CFA = *(rsp + 160): DW_CFA_def_cfa_expression */
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06
	FROM	8, 2, 0x77, 0x28
	FROM	9, 2, 0x77, 0x30
	FROM	10, 2, 0x77, 0x38
	FROM	11, 3, 0x77, 0xc0, 0x00
	FROM	12, 3, 0x77, 0xc8, 0x00
	FROM	13, 3, 0x77, 0xd0, 0x00
	FROM	14, 3, 0x77, 0xd8, 0x00
	FROM	15, 3, 0x77, 0xe0, 0x00
	FROM	5, 3, 0x77, 0xe8, 0x00
	FROM	4, 3, 0x77, 0xf0, 0x00
	FROM	6, 3, 0x77, 0xf8, 0x00
	FROM	3, 3, 0x77, 0x80, 0x01
	FROM	1, 3, 0x77, 0x88, 0x01
	FROM	0, 3, 0x77, 0x90, 0x01
	FROM	2, 3, 0x77, 0x98, 0x01
	FROM	7, 3, 0x77, 0xa0, 0x01
	FROM	16, 3, 0x77, 0xa8, 0x01
	nop	/* unwinders look one byte before */
	.type	agent_fault_landing, @function
agent_fault_landing:
	mov	%rsp, %rdi
	mov	%rsp, %rbx
	and	$-16, %rsp
	call	agent_fault_resume
	mov	%rbx, %rsp
	mov	$__NR_rt_sigreturn, %eax
	syscall
	.cfi_endproc
	.size	agent_fault_landing, .-agent_fault_landing

/* faults_leave(context) */
	.globl faults_leave
	.hidden faults_leave
	.type	faults_leave, @function
faults_leave:
	mov	%rdi, %rsp
	mov	$__NR_rt_sigreturn, %eax
	syscall
	.size	faults_leave, .-faults_leave

	.section .note.GNU-stack, "", @progbits

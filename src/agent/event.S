/* SPDX-License-Identifier: MIT */
/* What a program's own event calls with the record it has built: agent_event(struct event_state *, record, bytes). Here is
 * the plain case, a record of whole words and no filter but one that is machine code, in a thread that is known, in as few
 * instructions as it takes: every one of them counts beside the time stamp. Whatever else there may be is
 * agent_event_general's (event.c), which has the same steps; a slot without room is buffer_settle_words's. A C function: it
 * may use what C functions may. */
#include "shared/tls.h"

	.set RECORD_MAX, 512
	.set AGENT_KEY, 24 /* in struct agent */
	.set STATE_BLOCK, 8
	.set BLOCK_FILTER_BYTES, 4
	.set BLOCK_HEADER, 8
	.set BLOCK_FILTER, 16
	.set BLOCK_CODE, BLOCK_FILTER + 12
	.set BLOCK_CODE_NEEDS, BLOCK_FILTER + 14
	.set BYTES_TO_COUNT, 16 + 2 - 3 /* from where eight bytes are counted to where a header counts words */

	.macro KEEP register
	push	%\register
	.cfi_adjust_cfa_offset 8
	.endm

	.text
	.globl agent_event
	.hidden agent_event
	.type agent_event, @function
agent_event:
	.cfi_startproc
	mov	STATE_BLOCK(%rdi), %r10
	test	%r10, %r10
	jz	nothing
	cmpl	$0, BLOCK_FILTER_BYTES(%r10)
	jne	filtered
plain:	lea	-16(%rdx), %eax
	test	$7, %dl
	jnz	general
	cmp	$RECORD_MAX - 16, %eax
	ja	general
	cmpq	$0, agent(%rip)
	je	nothing
	cmpl	$0, agent_far(%rip)
	jne	general
	cmpl	$0, agent_gate(%rip)
	je	general
	mov	agent_tls@gottpoff(%rip), %r9
	mov	agent + AGENT_KEY(%rip), %rcx
	mov	%fs:(%rcx), %ecx
	cmp	%ecx, %fs:TLS_KEY(%r9)
	jne	general

	mov	%edx, %ecx
	rdtsc
	shl	$24, %rax
	shl	$56, %rdx
	or	%rdx, %rax
	lea	-8(%rcx), %edx
	shl	$BYTES_TO_COUNT, %edx
	or	BLOCK_HEADER(%r10), %rdx
	or	%rdx, %rax

	mov	%rcx, %rdi
	xadd	%rdi, %fs:TLS_POS(%r9)
	mov	%fs:TLS_END(%r9), %rdx
	sub	%rdi, %rdx
	jbe	full
	cmp	%rcx, %rdx
	jb	full
	/* In halves, for the fields were written a moment ago, and a load that needs two stores waits for both. */
1:	mov	-8(%rsi,%rcx), %edx
	mov	-4(%rsi,%rcx), %r8d
	mov	%edx, -8(%rdi,%rcx)
	mov	%r8d, -4(%rdi,%rcx)
	sub	$8, %ecx
	cmp	$8, %ecx
	jne	1b
	mov	%rax, (%rdi)
nothing:
	ret

	/* It uses rax and rcx only (arch/x86_64/filter_code.h). */
filtered:
	movzwl	BLOCK_CODE(%r10), %eax
	test	%eax, %eax
	jz	general
	movzwl	BLOCK_CODE_NEEDS(%r10), %ecx
	cmp	%ecx, %edx
	jb	general
	mov	%rdi, %r9
	mov	%rsi, %rdi
	lea	BLOCK_FILTER(%r10,%rax,8), %rax
	call	*%rax
	mov	%r9, %rdi
	test	%al, %al
	jnz	plain
	ret

full:	mov	%rdi, %rdx
	mov	%rsi, %rdi
	mov	%rax, (%rdi)
	mov	%ecx, %esi
	shr	$3, %esi
	jmp	buffer_settle_words
general:
	cmpl	$0, BLOCK_FILTER_BYTES(%r10)
	js	stacked
	jmp	agent_event_general

	/* A struct stack_regs of the caller's, as it will be when this returns. */
stacked:
	lea	8(%rsp), %rax
	mov	(%rsp), %rcx
	KEEP	r15
	KEEP	r14
	KEEP	r13
	KEEP	r12
	KEEP	rbx
	KEEP	rbp
	push	%rax
	push	%rcx
	.cfi_adjust_cfa_offset 16
	mov	%rsp, %rcx
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	agent_event_stacked
	add	$8 + 64, %rsp
	.cfi_adjust_cfa_offset -8 - 64
	ret
	.cfi_endproc
	.size agent_event, .-agent_event

	.section .note.GNU-stack, "", @progbits

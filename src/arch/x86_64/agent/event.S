/* SPDX-License-Identifier: MIT */
/* agent_event(struct event_state *, record, bytes): a program's own event calls it with the record
 * it has built, on any thread. Here is the plain case, in as few instructions as possible, since
 * each one counts beside the time stamp: a record of whole words, no filter or one that is machine
 * code, a known thread. Everything else is for agent_event_general() (event.c), which has the same
 * steps; a slot without room is for buffer_place_words(). It is a C function: it may change what C
 * functions may. */
#include "shared/tls.h"

	.set RECORD_MAX, 512
	.set AGENT_KEY, 24 /* in struct agent */
	.set STATE_BLOCK, 8
	.set BLOCK_FILTER_BYTES, 4
	.set BLOCK_HEADER, 8
	.set BLOCK_FILTER, 16
	.set BLOCK_CODE, BLOCK_FILTER + 12
	.set BLOCK_CODE_NEEDS, BLOCK_FILTER + 14
	/* Shift from a size in bytes to the field of a header that counts words. */
	.set BYTES_TO_COUNT, 16 + 2 - 3

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
	/* Pairs with the tracer's patch of the state's block, as in event.c; x86 loads in order. */
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
	/* A no-TLS thread, a stamp that has to wait for loads, a child that has not noticed its
	 * fork, a thread on another CPU: C code knows them. */
	cmpl	$0, agent_stamps_in_c(%rip)
	jne	general
	cmpl	$0, agent_fork_guard(%rip)
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

	/* One unlocked instruction reserves, so a handler comes before or after it. Below,
	 * unsigned: a slot after the end is no room. */
	mov	%rcx, %rdi
	xadd	%rdi, %fs:TLS_POS(%r9)
	mov	%fs:TLS_END(%r9), %rdx
	sub	%rdi, %rdx
	jbe	full
	cmp	%rcx, %rdx
	jb	full
	/* In halves: the fields were stored a moment ago, and a load that spans two stores has to
	 * wait for both. */
1:	mov	-8(%rsi,%rcx), %edx
	mov	-4(%rsi,%rcx), %r8d
	mov	%edx, -8(%rdi,%rcx)
	mov	%r8d, -4(%rdi,%rcx)
	sub	$8, %ecx
	cmp	$8, %ecx
	jne	1b
	/* The header last: a record that is not complete stays an empty slot. */
	mov	%rax, (%rdi)
nothing:
	ret

	/* The filter uses rax and rcx only (arch/filter_code.h). */
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
	jmp	buffer_place_words
general:
	cmpl	$0, BLOCK_FILTER_BYTES(%r10)
	js	stacked
	jmp	agent_event_general

	/* Builds the caller's struct stack_regs, as its registers will be when this returns. */
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

/* SPDX-License-Identifier: MIT */
/* Entry from trampolines of system calls whose records are simple: a known number, no filter
 * (struct call_quick of shared/calls.h). As agent_probe (probe.S), but keeps only the registers
 * that it needs: four and the flags, below the stack pointer, where signals do not write. If
 * anything is not simple it goes on in agent_probe with nothing done; if there is no room, C is
 * given the slot.
 *
 * The steps are those of buffer_write_words() (buffer.c). */
#include "arch/x86_64/agent/probe_frame.h"
#include "shared/tls.h"

	.set AGENT_KEY, 24 /* in struct agent */
	.set RAX, -8
	.set RCX, -16
	.set RDX, -24
	.set R11, -32
	.set FLAGS, -40
	/* Offsets of struct call_quick from the site. */
	.set RAW, PROBE_SITE_PROGRAM
	.set NAMED, RAW + 8
	.set NUMBER, RAW + 16
	.set BYTES, RAW + 24
	.set ARGUMENTS, RAW + 32
	.set BEHIND, RAW + 33
	.set EMPTY, RAW + 34
	.set NOTHING_COPIED, 12 /* CALL_NOTHING_COPIED */

	/* Below: rax = the header's time, rcx = the site, r11 = where the record goes. These macros
	 * clobber rdx. */
	.macro COPY from, at
	mov	\from, %rdx
	mov	%rdx, \at(%r11)
	.endm
	.macro HEADER header
	COPY	NUMBER(%rcx), 8
	mov	\header(%rcx), %rdx
	or	%rax, %rdx
	mov	%rdx, (%r11)
	.endm

	.text
	.globl agent_syscall
	.hidden agent_syscall
	.type agent_syscall, @function
agent_syscall:
	PROBE_BEGINS
	mov	%rax, RAX(%rsp)
	mov	%rcx, RCX(%rsp)
	mov	%rdx, RDX(%rsp)
	mov	%r11, R11(%rsp)
	lahf
	seto	%al
	mov	%eax, FLAGS(%rsp)
	mov	(%rsp), %rcx
	movslq	3(%rcx), %rdx
	add	%rdx, %rcx
	/* Detached, a child that has not noticed its fork, a no-TLS thread, a stamp that has to
	 * wait for loads: C code knows them. */
	cmpq	$0, agent(%rip)
	je	general
	cmpl	$0, agent_fork_guard(%rip)
	je	general
	cmpl	$0, agent_stamps_in_c(%rip)
	jne	general
	mov	agent_tls@gottpoff(%rip), %r11
	mov	agent + AGENT_KEY(%rip), %rdx
	mov	%fs:(%rdx), %edx
	cmp	%edx, %fs:TLS_KEY(%r11)
	jne	general
	rdtsc
	shl	$24, %rax
	shl	$56, %rdx
	or	%rdx, %rax
	mov	%r11, %rdx
	mov	BYTES(%rcx), %r11
	/* Both records are reserved at once: no handler's record comes between them. */
	xadd	%r11, %fs:TLS_POS(%rdx)
	mov	%fs:TLS_END(%rdx), %rdx
	sub	%r11, %rdx
	jbe	full
	cmp	BYTES(%rcx), %rdx
	jb	full
	cmpb	$0, BEHIND(%rcx)
	jne	behind

	cmpq	$0, RAW(%rcx)
	je	before_named
	mov	%r9, 56(%r11)
	mov	%r8, 48(%r11)
	mov	%r10, 40(%r11)
	COPY	RDX(%rsp), 32
	mov	%rsi, 24(%r11)
	mov	%rdi, 16(%r11)
	/* The header after its payload, as everywhere. */
	HEADER	RAW
	lea	64(%r11), %r11
before_named:
	cmpq	$0, NAMED(%rcx)
	je	end
	cmpb	$3, ARGUMENTS(%rcx)
	jb	few
	je	3f
	cmpb	$5, ARGUMENTS(%rcx)
	jb	4f
	je	5f
	mov	%r9, 56(%r11)
5:	mov	%r8, 48(%r11)
4:	mov	%r10, 40(%r11)
3:	COPY	RDX(%rsp), 32
2:	mov	%rsi, 24(%r11)
1:	mov	%rdi, 16(%r11)
named:	cmpb	$0, EMPTY(%rcx)
	jne	empty
with_copies:
	HEADER	NAMED
end:	mov	FLAGS(%rsp), %eax
	/* Restores the flags as in delivery.S. */
	add	$0x7f, %al
	sahf
	mov	RAX(%rsp), %rax
	mov	RCX(%rsp), %rcx
	mov	RDX(%rsp), %rdx
	mov	R11(%rsp), %r11
	ret
few:	cmpb	$1, ARGUMENTS(%rcx)
	jb	named
	je	1b
	jmp	2b

empty:	movzbl	ARGUMENTS(%rcx), %edx
	lea	16(%r11,%rdx,8), %rdx
	movl	$NOTHING_COPIED, (%rdx)
	movl	$NOTHING_COPIED, 4(%rdx)
	jmp	with_copies

behind:	cmpq	$0, RAW(%rcx)
	je	behind_named
	COPY	RAX(%rsp), 16
	HEADER	RAW
	lea	24(%r11), %r11
behind_named:
	cmpq	$0, NAMED(%rcx)
	je	end
	COPY	RAX(%rsp), 16
	jmp	named

general:
	mov	FLAGS(%rsp), %eax
	add	$0x7f, %al
	sahf
	mov	RAX(%rsp), %rax
	mov	RCX(%rsp), %rcx
	mov	RDX(%rsp), %rdx
	mov	R11(%rsp), %r11
	jmp	agent_probe

full:	mov	FLAGS(%rsp), %eax
	add	$0x7f, %al
	sahf
	mov	%r11, %rdx
	mov	RAX(%rsp), %rax
	mov	RCX(%rsp), %rcx
	mov	R11(%rsp), %r11
	push	%rdx
	.cfi_adjust_cfa_offset 8
	mov	RDX + 8(%rsp), %rdx
	PROBE_CALLS agent_syscall_full, 8
	.cfi_endproc
	.size agent_syscall, .-agent_syscall

	.section .note.GNU-stack, "", @progbits

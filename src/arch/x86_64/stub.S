/* SPDX-License-Identifier: MIT */
/* Templates of the stubs that recorded calls return through, and of the code that their exits
 * share. The agent copies them into its arena (agent/site.c); brace has its own copy, to measure
 * what a call costs (call_cost.c). No reference leads out of here: who copies fills the fields
 * in. */
#include "arch/x86_64/stub.h"
#include "shared/tls.h"

/* --- the stub: one copy for each call site, at a place that tells its id. The code at the end of
 * their block does what they all do, so that two stubs share a cache line: a program has many call
 * sites, and each is met rarely. A label right behind a field marks it. -32 = the caller's rcx, -40
 * = body. */
	.section .rodata.stubs, "a", @progbits
	.balign 8
	.globl stub_begin, stub_word, stub_exit, stub_real
	.hidden stub_begin, stub_word, stub_exit, stub_real
stub_begin:
	mov	-32(%rsp), %rcx
	call	*-40(%rsp)
	.if	. - stub_begin - 9
	.error	"descriptor.S says otherwise"
	.endif
	mov	%rcx, -32(%rsp)
	mov	$0x7fffffff, %ecx
stub_word:
	.byte	0xe8
	.long	0
stub_exit:
	push	0x7fffffff(%rip)
stub_real:
	.org	stub_begin + STUB_RET
	.org	stub_real               # the push ended here: the unwind rule knows no instruction between it and the ret
	ret
	.org	stub_begin + 32, 0xcc

/* --- the code that stubs call, one copy for each block: ecx = the record's id and kind. From here
 * rax is in -8, rdx in -16, rcx in -24: below the stub's return address, which moves with no
 * instruction (the unwind rule). */
	.macro EXIT_LABELS name
	.globl \name\()_fence
	.hidden \name\()_fence
	.globl \name\()_begin, \name\()_fork_guard, \name\()_pos, \name\()_limit, \name\()_slow, \name\()_end
	.hidden \name\()_begin, \name\()_fork_guard, \name\()_pos, \name\()_limit, \name\()_slow, \name\()_end
	.endm
	.macro EXIT_STAMP name
	mov	%rax, -8(%rsp)
	mov	%rdx, -16(%rsp)
	.byte	0x0f, 0x1f, 0x00        # or an lfence (site.c)
\name\()_fence:
	rdtsc
	shl	$24, %rax
	shl	$56, %rdx
	.endm
	.macro EXIT_RETURN
	mov	-8(%rsp), %rax
	mov	-16(%rsp), %rdx
	mov	-24(%rsp), %rcx
	ret
	.endm

	EXIT_LABELS graph_exit
graph_exit_begin:
	EXIT_STAMP graph_exit
	or	%rcx, %rax
	or	%rdx, %rax
	cmpl	$0, 0x7fffffff(%rip)
graph_exit_fork_guard:                        # its displacement ends one byte before: the immediate
	je	3f
	mov	$8, %ecx
	xadd	%rcx, %fs:0x7fffffff
graph_exit_pos:
	cmp	%fs:0x7fffffff, %rcx
graph_exit_limit:
	jae	2f
	mov	%rax, (%rcx)
1:	EXIT_RETURN
3:	or	$-1, %rcx
2:	mov	%rcx, %rdx
	lea	1b(%rip), %rcx
	.byte	0xe9
	.long	0
graph_exit_slow:
graph_exit_end:

	/* A shared exit that records the value, too: the word that lies \at bytes from rsp. The
	 * word that a fork zeroes says how many bytes are reserved. */
	.macro VALUE_EXIT name, at
	or	%rcx, %rdx
	or	%rax, %rdx
	mov	0x7fffffff(%rip), %ecx
\name\()_fork_guard:
	test	%ecx, %ecx
	je	3f
	xadd	%rcx, %fs:0x7fffffff
\name\()_pos:
	cmp	%fs:0x7fffffff, %rcx
\name\()_limit:
	jae	2f
	mov	\at(%rsp), %rax
	mov	%rax, 8(%rcx)
	mov	%rdx, (%rcx)
1:	EXIT_RETURN
3:	or	$-1, %rcx
2:	mov	%rdx, %rax
	mov	%rcx, %rdx
	lea	1b(%rip), %rcx
	.byte	0xe9
	.long	0
\name\()_slow:
\name\()_end:
	.endm

	/* rax, which EXIT_STAMP has kept. */
	EXIT_LABELS value_exit
value_exit_begin:
	EXIT_STAMP value_exit
	VALUE_EXIT value_exit, -8

	/* The lower half of xmm0, which is read and stays. */
	EXIT_LABELS float_exit
float_exit_begin:
	EXIT_STAMP float_exit
	movq	%xmm0, -32(%rsp)
	VALUE_EXIT float_exit, -32

	.section .note.GNU-stack, "", @progbits

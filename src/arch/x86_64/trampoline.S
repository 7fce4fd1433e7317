/* SPDX-License-Identifier: MIT */
/* Templates of the trampolines that hooked functions' entries jump to. trampoline.c copies one for
 * each function, fills the fields in and appends the moved prologue ("body"). The code runs in the
 * traced thread, between the call and the body, and cannot fail: all that is not plain goes to
 * arch/x86_64/agent/entry.S.
 *
 * A field is marked by a label directly after it: t_NAME is the end of a 4-byte displacement or
 * immediate that ends its instruction (8 bytes for t_*_table).
 *
 * All registers come out as they went in. rax, rdx, rcx are spilled below the stack pointer, where
 * nothing lives at a function's entry and signals do not write (128 bytes). Slots, from the stack
 * pointer at entry:
 *   0 return address   -8 rax   -16 rdx   -24 rcx   -32 payload or body
 *   -40 "found", or the record's slot
 * Flags are not kept: functions that read them at entry are never hooked. */
#include "shared/tls.h"

	.set SITE_HASH_BITS, 19 /* as in shared/memory.h */

	.section .rodata.trampolines, "a", @progbits

/* The word `tsc << 24 | id << 2 | kind` in rax; clobbers rdx. The nop is as long as an lfence,
 * which takes its place where the order of several threads' records is to be causal. */
	.macro STAMP template
	.byte	0x0f, 0x1f, 0x00
\template\()_fence:
	rdtsc
	shl	$24, %rax
	shl	$56, %rdx
	lea	0x7fffffff(%rax,%rdx), %rax
\template\()_word:
	.endm

/* Looks up the call site: rcx = the stub of the return address, or a jump to \miss. The table's
 * slot tells where in a stub's block its return address stands (struct site_table); if it is this
 * one, the stub with that number is four times as far from the block's begin. The multiplier is
 * read from a page that a fork zeroes: a child's first look-up then misses (slot 0 holds no key),
 * and the slow path makes it a process of its own. */
	.macro LOOKUP template
	mov	%rax, -8(%rsp)
	mov	%rdx, -16(%rsp)
	mov	%rcx, -24(%rsp)
	mov	(%rsp), %rax
	mov	%eax, %ecx
	imul	0x7fffffff(%rip), %ecx
\template\()_fork_guard:
	shr	$32 - SITE_HASH_BITS, %ecx
	movabs	$0x7fffffffffffffff, %rdx
\template\()_table:
	movslq	8(%rdx,%rcx,4), %rcx
	add	%rdx, %rcx
	cmp	%rax, (%rcx)
	jne	\template\()_miss_at
	movzwl	%cx, %eax
	lea	(%rax,%rax,2), %eax
	add	%rax, %rcx
	.endm

/* --- function_graph: record the entry, go on through the call site's stub --- */
	.globl graph_begin, graph_end, graph_fork_guard, graph_table, graph_fence, graph_word, graph_rseq, graph_cpu
	.globl graph_pos, graph_limit, graph_body, graph_record, graph_id, graph_body2, graph_entry
graph_begin:
	LOOKUP graph
graph_found:
	STAMP graph
	mov	%fs:0x7fffffff, %edx
graph_rseq:
	cmp	%fs:0x7fffffff, %edx
/* Another CPU than at the last record: the slow path notes it. */
graph_cpu:
	jne	graph_moved_at
	mov	$8, %edx
	/* One unlocked instruction reserves the slot, so that a handler reserves before or after
	 * it. */
	xadd	%rdx, %fs:0x7fffffff
graph_pos:
	cmp	%fs:0x7fffffff, %rdx
graph_limit:
	jae	graph_slow_at
	mov	%rax, (%rdx)
graph_resume:
	lea	0x7fffffff(%rip), %rax
graph_body:
	mov	%rax, -32(%rsp)
	mov	-8(%rsp), %rax
	mov	-16(%rsp), %rdx
	/* The stub returns to the caller in place of this function: the return address is taken
	 * off, and the stub calls the body. */
	lea	8(%rsp), %rsp
	jmp	*%rcx
graph_moved_at:
	or	$-1, %rdx
graph_slow_at:
	mov	%rcx, -32(%rsp)
	lea	graph_recorded(%rip), %rcx
	jmp	*0x7fffffff(%rip)
graph_record:
graph_recorded:
	mov	-32(%rsp), %rcx
	jmp	graph_resume
graph_miss_at:
	lea	graph_found(%rip), %rdx
	mov	%rdx, -40(%rsp)
	lea	0x7fffffff(%rip), %rdx
graph_body2:
	mov	%rdx, -32(%rsp)
	mov	$0x7fffffff, %ecx
graph_id:
	jmp	*0x7fffffff(%rip)
graph_entry:
graph_end:

/* --- function, and functions whose return is not followed: function and call site --- */
	.globl call_begin, call_end, call_fork_guard, call_table, call_fence, call_word, call_arena, call_function
	.globl call_rseq, call_cpu, call_pos, call_limit, call_record, call_site
	.globl call_found, call_resume # call_resume.h says where they are
call_begin:
	LOOKUP call
call_found:
	sub	0x7fffffff(%rip), %rcx
call_arena:
	shl	$32 - 5, %rcx
	or	$0x7fffffff, %rcx
call_function:
	mov	%rcx, -32(%rsp)
	STAMP call
	mov	%fs:0x7fffffff, %ecx
call_rseq:
	cmp	%fs:0x7fffffff, %ecx
call_cpu:
	jne	call_moved_at
	mov	$16, %ecx
	xadd	%rcx, %fs:0x7fffffff
call_pos:
	cmp	%fs:0x7fffffff, %rcx
call_limit:
	jae	call_slow_at
	mov	-32(%rsp), %rdx
	/* Payload before header: a header that is there vouches for its payload. */
	mov	%rdx, 8(%rcx)
	mov	%rax, (%rcx)
call_resume:
	mov	-8(%rsp), %rax
	mov	-16(%rsp), %rdx
	mov	-24(%rsp), %rcx
	jmp	call_end
call_moved_at:
	or	$-1, %rcx
call_slow_at:
	mov	%rcx, -40(%rsp)
	lea	call_resume(%rip), %rcx
	jmp	*0x7fffffff(%rip)
call_record:
call_miss_at:
	lea	call_found(%rip), %rdx
	mov	%rdx, -40(%rsp)
	jmp	*0x7fffffff(%rip)
call_site:
call_end:

/* Leaves the call to the agent's C, with rax saved already: keeps the other registers that it uses,
 * and the address of the moved instructions, below the stack pointer. */
	.macro TO_AGENT template
	mov	%rdx, -16(%rsp)
	mov	%rcx, -24(%rsp)
	lea	0x7fffffff(%rip), %rcx
\template\()_body:
	mov	%rcx, -32(%rsp)
	mov	$0x7fffffff, %ecx
\template\()_id:
	jmp	*0x7fffffff(%rip)
\template\()_entry:
	.endm

/* --- function_graph with state: depth, graph functions, threshold. A few instructions decide
 * whether the call is to be recorded at all; the agent does the rest. Where the fork guard is
 * closed the thread may have no thread pointer. --- */
	.macro STATE template, outside
	.globl \template\()_begin, \template\()_end, \template\()_fork_guard, \template\()_top, \template\()_depth
	.globl \template\()_body, \template\()_id, \template\()_entry
\template\()_begin:
	mov	%rax, -8(%rsp)
	mov	0x7fffffff(%rip), %eax
\template\()_fork_guard:
	test	%eax, %eax
	jz	2f
	mov	%fs:0x7fffffff, %rax
\template\()_top:
	/* Above the innermost live call: this call is inside of it, and its depth is known without
	 * the agent. */
	cmp	%rsp, %rax
	jbe	1f
	mov	%fs:0x7fffffff, %eax
\template\()_depth:
	cmp	$0x7fffffff, %eax
\template\()_max:
	jb	2f
	/* A signal's handler, by its third argument: what it sees of a fault may have to be
	 * corrected. */
3:	lea	8(%rsp), %rax
	cmp	%rax, %rdx
	je	2f
	mov	-8(%rsp), %rax
	jmp	\template\()_end
1:	test	%rax, %rax
	jz	\outside
2:	TO_AGENT \template
\template\()_end:
	.endm

	.globl state_max, inner_max
	STATE state, 2f
	STATE inner, 3b

/* A trampoline that leaves all to the agent's C. */
	.macro IN_C template
\template\()_begin:
	mov	%rax, -8(%rsp)
	TO_AGENT \template
	.endm

/* --- processes whose blocks are at no fixed distance from the thread pointer: all of it in C
 * --- */
	.globl no_tls_begin, no_tls_end, no_tls_body, no_tls_id, no_tls_entry
	IN_C no_tls
no_tls_end:

/* --- functions that open scopes of events: as above, and the word that tells which --- */
	.globl scope_begin, scope_end, scope_body, scope_id, scope_entry, scope_word
	IN_C scope
	.long	0x7fffffff
scope_word:
scope_end:

/* --- functions that may leave their stack: the agent gets a struct nonlocal_info --- */
	.globl nonlocal_begin, nonlocal_end, nonlocal_body, nonlocal_entry, nonlocal_id, nonlocal_size, nonlocal_from
nonlocal_begin:
	mov	%rax, -8(%rsp)
	mov	%rdx, -16(%rsp)
	mov	%rcx, -24(%rsp)
	lea	0x7fffffff(%rip), %rcx
nonlocal_body:
	mov	%rcx, -32(%rsp)
	lea	nonlocal_info(%rip), %rcx
	jmp	*0x7fffffff(%rip)
nonlocal_entry:
	.balign 4
nonlocal_info:
	.long	0x7fffffff
nonlocal_id:
	.long	0x7fffffff
nonlocal_size:
	.long	0x7fffffff
nonlocal_from:
nonlocal_end:

/* --- functions of locks: the agent adds up, and calls the body itself or jumps to it (lock.S).
 * r10 and r11 hold nothing at a function's entry. --- */
	.globl lock_begin, lock_end, lock_point, lock_body, lock_agent
lock_begin:
	mov	$0x7fffffff, %r10d
lock_point:
	lea	0x7fffffff(%rip), %r11
lock_body:
	jmp	*0x7fffffff(%rip)
lock_agent:
lock_end:

/* --- f(a, b): the agent's own function, with the moved one as a third argument. It preserves what
 * C does. --- */
	.globl wrap_begin, wrap_end, wrap_body, wrap_answer
wrap_begin:
	lea	0x7fffffff(%rip), %rdx
wrap_body:
	jmp	*0x7fffffff(%rip)
wrap_answer:
wrap_end:

	.section .note.GNU-stack, "", @progbits

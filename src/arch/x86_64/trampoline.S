/* SPDX-License-Identifier: MIT */
/* Templates of the trampolines: what a hooked function's entry jumps to. trampoline.c copies
 * one for each function, fills the fields in and appends the moved prologue ("body").
 *
 * A field is marked by a label right behind it: t_NAME is the end of a 4-byte
 * displacement or immediate that ends its instruction (8 bytes for t_*_table).
 *
 * All registers come out as they went in. rax, rdx, rcx are spilled below the stack pointer,
 * where nothing lives at a function's entry and signals do not write (128 bytes). Slots, from
 * the stack pointer at entry:
 *    0 return address   -8 rax   -16 rdx   -24 rcx   -32 payload or body   -40 "found", or the record's slot
 * Flags are not preserved: functions that read them at entry are never hooked.
 */
#include "shared/tls.h"

	.set SITE_HASH_BITS, 19 /* as in shared/memory.h */

	.section .rodata.trampolines, "a", @progbits

/* The word `tsc << 24 | id << 2 | kind` in rax; clobbers rdx. */
	.macro STAMP template
	rdtsc
	shl	$24, %rax
	shl	$56, %rdx
	lea	0x7fffffff(%rax,%rdx), %rax
\template\()_word:
	.endm

/* Where the call came from: rcx = the stub of its return address, or to \miss. The table's slot says where in
 * a stub's block its return address stands (struct site_table), which is to be this one; the stub with that number is three
 * times as far from the block's begin again. The multiplier is read from a page that a fork zeroes: a child's first lookup then misses (slot 0
 * holds no key) and the slow path makes it a process of its own. */
	.macro LOOKUP template
	mov	%rax, -8(%rsp)
	mov	%rdx, -16(%rsp)
	mov	%rcx, -24(%rsp)
	mov	(%rsp), %rax
	mov	%eax, %ecx
	imul	0x7fffffff(%rip), %ecx
\template\()_gate:
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

/* --- function_graph: record the entry, go on through the call site's stub ------------- */
	.globl graph_begin, graph_end, graph_gate, graph_table, graph_word, graph_rseq, graph_cpu
	.globl graph_pos, graph_limit, graph_body, graph_record, graph_id, graph_body2, graph_entry
graph_begin:
	LOOKUP graph
graph_found:
	STAMP graph
	mov	%fs:0x7fffffff, %edx
graph_rseq:
	cmp	%fs:0x7fffffff, %edx
graph_cpu:
	jne	graph_moved_at
	mov	$8, %edx
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

/* --- function, and functions whose return is not followed: function and call site ------- */
	.globl call_begin, call_end, call_gate, call_table, call_word, call_arena, call_function
	.globl call_rseq, call_cpu, call_pos, call_limit, call_record, call_site
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

/* --- function_graph with state: depth, graph functions, threshold. Decides in a few
 * instructions whether the call is to be recorded at all; the rest is the agent's. ------- */
	.macro STATE template, outside
	.globl \template\()_begin, \template\()_end, \template\()_top, \template\()_depth
	.globl \template\()_body, \template\()_id, \template\()_entry
\template\()_begin:
	mov	%rax, -8(%rsp)
	mov	%fs:0x7fffffff, %rax
\template\()_top:
	cmp	%rsp, %rax
	jbe	1f
	mov	%fs:0x7fffffff, %eax
\template\()_depth:
	cmp	$0x7fffffff, %eax
\template\()_max:
	jb	2f
3:	mov	-8(%rsp), %rax
	jmp	\template\()_end
1:	test	%rax, %rax
	jz	\outside
2:	mov	%rdx, -16(%rsp)
	mov	%rcx, -24(%rsp)
	lea	0x7fffffff(%rip), %rcx
\template\()_body:
	mov	%rcx, -32(%rsp)
	mov	$0x7fffffff, %ecx
\template\()_id:
	jmp	*0x7fffffff(%rip)
\template\()_entry:
\template\()_end:
	.endm

	.globl state_max, inner_max
	STATE state, 2f
	STATE inner, 3b

/* --- where nothing is known at a fixed distance from the thread pointer: all of it in C ---- */
	.globl far_begin, far_end, far_body, far_id, far_entry
far_begin:
	mov	%rax, -8(%rsp)
	mov	%rdx, -16(%rsp)
	mov	%rcx, -24(%rsp)
	lea	0x7fffffff(%rip), %rcx
far_body:
	mov	%rcx, -32(%rsp)
	mov	$0x7fffffff, %ecx
far_id:
	jmp	*0x7fffffff(%rip)
far_entry:
far_end:

/* --- functions that may leave their stack: the agent gets a struct leave_about ---------------- */
	.globl leave_begin, leave_end, leave_body, leave_entry, leave_id, leave_size, leave_from
leave_begin:
	mov	%rax, -8(%rsp)
	mov	%rdx, -16(%rsp)
	mov	%rcx, -24(%rsp)
	lea	0x7fffffff(%rip), %rcx
leave_body:
	mov	%rcx, -32(%rsp)
	lea	leave_about(%rip), %rcx
	jmp	*0x7fffffff(%rip)
leave_entry:
	.balign 4
leave_about:
	.long	0x7fffffff
leave_id:
	.long	0x7fffffff
leave_size:
	.long	0x7fffffff
leave_from:
leave_end:

/* --- f(pc, ...): the agent answers for the stub arena, which is 2^24 bytes -------------------- */
	.globl find_begin, find_end, find_arena, find_answer
find_begin:
	mov	%rax, -8(%rsp)
	mov	%rdi, %rax
	sub	0x7fffffff(%rip), %rax
find_arena:
	shr	$24, %rax
	mov	-8(%rsp), %rax
	jnz	find_end
	jmp	*0x7fffffff(%rip)
find_answer:
find_end:

/* --- f(a, b): the agent's own, with the moved one as a third argument -------------------------- */
	.globl wrap_begin, wrap_end, wrap_body, wrap_answer
wrap_begin:
	lea	0x7fffffff(%rip), %rdx
wrap_body:
	jmp	*0x7fffffff(%rip)
wrap_answer:
wrap_end:

	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: MIT */
/* Where trampolines and stubs go when the fast path is not enough, the stub templates, and
 * the stub arena with the unwind rule that covers it. Slots below the stack pointer: see
 * arch/x86_64/trampoline.S. */
#include "shared/signal_frame.h"
#include "shared/tls.h"

	.set ARENA_BYTES, 256 * 65536
	.set STUB_RET, 30 /* where every stub's `ret` stands, for the unwind rule */
	.set EXITS_AT, 0xfe00 /* in a block: its code that all its stubs call */
	.set C_STACK, 1024 /* more than any of the paths below takes */

/* Calls C with everything preserved but rax (its result), rcx and rdx. Steps over the 128
 * bytes below the stack pointer. If the stack ends here, the program may have a handler for that: it must be
 * met before C blocks signals, or the process is killed. */
	.macro CALL_C function
	testb	$0, -C_STACK(%rsp)
	lea	-128(%rsp), %rsp
	push	%rbx
	push	%rdi
	push	%rsi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%rcx
	mov	%rsp, %rbx
	and	$-16, %rsp
	cld
	mov	%rax, %rdi
	mov	%rdx, %rsi
	lea	128 + 64(%rbx), %rdx    # the stack pointer as it was
	call	\function
	mov	%rbx, %rsp
	pop	%rcx
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rsi
	pop	%rdi
	pop	%rbx
	lea	128(%rsp), %rsp
	.endm

	.text
	.globl agent_slow_record, agent_slow_record2, agent_slow_entry, agent_slow_site
	.globl agent_dl_debug_state
	.hidden agent_dl_debug_state
	.globl agent_slow_leave
	.hidden agent_slow_leave
	.globl agent_slow_exit, agent_slow_valued
	.hidden agent_slow_exit, agent_slow_valued
	.globl agent_slow_state_entry, agent_slow_state_exit, agent_tls_block
	.hidden agent_slow_record, agent_slow_record2, agent_slow_entry, agent_slow_site
	.hidden agent_slow_state_entry, agent_slow_state_exit, agent_tls_block

/* rax = record, rdx = its slot or -1, rcx = where to go on. */
agent_slow_record:
	CALL_C	agent_record
	jmp	*%rcx

/* agent_slow_record of an exit, which stands one call deeper: C gets the address of its stub. */
agent_slow_exit:
	lea	8(%rsp), %rsp
	CALL_C	agent_record
	lea	-8(%rsp), %rsp
	jmp	*%rcx

/* agent_slow_exit with the value that the stub's exit has kept. */
agent_slow_valued:
	lea	8(%rsp), %rsp
	CALL_C	agent_record_valued
	lea	-8(%rsp), %rsp
	jmp	*%rcx

/* rax = header, payload in -32(%rsp), slot or -1 in -40(%rsp), rcx = where to go on. */
agent_slow_record2:
	mov	-32(%rsp), %rdx
	CALL_C	agent_record2
	jmp	*%rcx

/* A return address that is not in the table: a tail call (it is a stub's), or new.
 * rax = return address, ecx = record's id and kind, -32 = body, -40 = where to go on with rcx = stub. */
agent_slow_entry:
	mov	agent_arena_at(%rip), %rdx
	neg	%rdx
	add	%rax, %rdx
	cmp	$ARENA_BYTES, %rdx
	jb	tail
	lea	8(%rsp), %rdx           # a signal's handler: its arguments lie right above, as the kernel puts them
	cmp	%rdx, -16(%rsp)
	jne	1f
	add	$SIGNAL_CONTEXT_BYTES, %rdx
	cmp	%rdx, %rsi
	jne	1f
	mov	%rcx, %rdx
	CALL_C	agent_handler
	test	%rax, %rax
	jnz	by_stub
	mov	(%rsp), %rax
1:	mov	%rcx, %rdx
	CALL_C	agent_entry
	mov	%rax, %rcx
	test	%rax, %rax
	jz	to_body
	jmp	*-40(%rsp)
tail:
	rdtsc
	shl	$24, %rax
	shl	$56, %rdx
	or	$2, %ecx                # RECORD_ENTRY -> RECORD_TAIL
	or	%rdx, %rax
	or	%rcx, %rax
	lea	to_body(%rip), %rcx
	or	$-1, %rdx
	cmpl	$0, agent_gate(%rip)
	je	agent_slow_record
	mov	agent_tls@gottpoff(%rip), %rdx
	mov	$8, %ecx
	xadd	%rcx, %fs:TLS_POS(%rdx)
	cmp	%fs:TLS_END(%rdx), %rcx
	jae	1f
	mov	%rax, (%rcx)
to_body:
	mov	-8(%rsp), %rax
	mov	-16(%rsp), %rdx
	mov	-24(%rsp), %rcx
	jmp	*-32(%rsp)
1:	mov	%rcx, %rdx
	lea	to_body(%rip), %rcx
	jmp	agent_slow_record

/* The same for records that carry the call site: rax = return address, -40 = where to go on
 * with rcx = stub (or the arena, for none). */
agent_slow_site:
	CALL_C	agent_site
	mov	%rax, %rcx
	jmp	*-40(%rsp)

/* State mode, and whatever is far: ecx = record's id and kind, -32 = body. Goroutines have small stacks. A
 * function that looks whether it has to grow has 792 bytes below its return address; those that the
 * runtime calls without may have few. Such a call is counted as lost rather than made to overwrite a neighbour. */
	.set GO_ROOM, 760
	.set GO_STACK_LOW, 0            # in runtime.g
agent_slow_state_entry:
	cmpl	$0, agent_go(%rip)
	jne	2f
1:	mov	%rsp, %rax
	mov	%rcx, %rdx
	CALL_C	agent_state_entry
	jmp	by_stub
2:	mov	%fs:-8, %rax
	test	%rax, %rax
	jz	1b
	mov	%rsp, %rdx
	sub	GO_STACK_LOW(%rax), %rdx
	cmp	$GO_ROOM, %rdx          # unsigned: another stack is above that, too
	jae	1b
	mov	agent(%rip), %rax
	test	%rax, %rax
	jz	to_body
	lock incq HEADER_LOST_THREADLESS(%rax)
	jmp	to_body
by_stub:
	test	%rax, %rax
	jz	to_body
	mov	%rax, %rcx
	mov	-8(%rsp), %rax
	mov	-16(%rsp), %rdx
	lea	8(%rsp), %rsp
	jmp	*%rcx

/* A function that may leave the stack: rcx = its struct leave_about, -32 = body. */
agent_slow_leave:
	mov	%rdi, -48(%rsp)
	mov	%rsi, -56(%rsp)
	mov	%rsp, %rax
	mov	%rcx, %rdx
	CALL_C	agent_leave
	jmp	by_stub

/* State mode's return, one call deeper: eax = call site, rcx = where to go on; rdx is live. */
agent_slow_state_exit:
	lea	8(%rsp), %rsp
	mov	%rdx, -24(%rsp)
	mov	%eax, %edx
	mov	%rsp, %rax
	CALL_C	agent_state_exit
	mov	-24(%rsp), %rdx
	lea	-8(%rsp), %rsp
	jmp	*%rcx

/* In place of ld.so's _dl_debug_state, which does nothing. */
agent_dl_debug_state:
	mov	%rax, -8(%rsp)
	mov	%rdx, -16(%rsp)
	mov	%rcx, -24(%rsp)
	CALL_C	agent_modules_changed
	mov	-8(%rsp), %rax
	mov	-16(%rsp), %rdx
	mov	-24(%rsp), %rcx
	ret

/* In place of libgcc's _Unwind_GetCFA(context): see cfa.c. */
	.globl agent_get_cfa
	.hidden agent_get_cfa
agent_get_cfa:
	mov	0x90(%rdi), %rax
	mov	(%rsp), %rcx
	sub	agent_libgcc(%rip), %rcx
	cmp	agent_libgcc_bytes(%rip), %rcx
	jb	1f
	and	$-8, %rax
1:	ret

agent_tls_block:
	cmpl	$0, agent_far(%rip)
	jne	agent_far_block
	mov	%fs:0, %rax
	add	agent_tls@gottpoff(%rip), %rax
	testl	$TLS_LENT, TLS_KNOWN(%rax)
	jnz	1f
	ret
1:	mov	%rax, %rdi
	jmp	agent_lent_block

/* --- the stub: one copy for each call site, at a place that tells its id. What all do is done by the code at the end of their
 * block, so that two stubs share a cache line: a program has many call sites, and each is met rarely. A field is
 * marked by a label right behind it. -32 = the caller's rcx, -40 = body. ------------------ */
	.section .rodata
	.balign 8
	.globl stub_begin, stub_word, stub_exit, stub_real
	.hidden stub_begin, stub_word, stub_exit, stub_real
stub_begin:
	mov	-32(%rsp), %rcx
	call	*-40(%rsp)
	.if	. - stub_begin - 9
	.error	"contents.S says otherwise"
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

/* --- what stubs call, one copy for each block: ecx = the record's id and kind. From here it is -8 rax, -16 rdx, -24 rcx: below
 * the stub's return address, which moves with no instruction (the unwind rule). ------------- */
	.macro EXIT_LABELS name
	.globl \name\()_begin, \name\()_gate, \name\()_pos, \name\()_limit, \name\()_slow, \name\()_end
	.hidden \name\()_begin, \name\()_gate, \name\()_pos, \name\()_limit, \name\()_slow, \name\()_end
	.endm
	.macro EXIT_STAMP
	mov	%rax, -8(%rsp)
	mov	%rdx, -16(%rsp)
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
	EXIT_STAMP
	or	%rcx, %rax
	or	%rdx, %rax
	cmpl	$0, 0x7fffffff(%rip)
graph_exit_gate:                        # its displacement ends one byte before: the immediate
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

	/* The shared exit that records the value too. The word that a fork zeroes says what is reserved. */
	EXIT_LABELS value_exit
value_exit_begin:
	EXIT_STAMP
	or	%rcx, %rdx
	or	%rax, %rdx
	mov	0x7fffffff(%rip), %ecx
value_exit_gate:
	test	%ecx, %ecx
	je	3f
	xadd	%rcx, %fs:0x7fffffff
value_exit_pos:
	cmp	%fs:0x7fffffff, %rcx
value_exit_limit:
	jae	2f
	mov	-8(%rsp), %rax
	mov	%rax, 8(%rcx)
	mov	%rdx, (%rcx)
1:	EXIT_RETURN
3:	or	$-1, %rcx
2:	mov	%rdx, %rax
	mov	%rcx, %rdx
	lea	1b(%rip), %rcx
	.byte	0xe9
	.long	0
value_exit_slow:
value_exit_end:

	.globl state_exit_begin, state_exit_slow, state_exit_end
	.hidden state_exit_begin, state_exit_slow, state_exit_end
state_exit_begin:
	mov	%rax, -8(%rsp)
	mov	%ecx, %eax
	lea	1f(%rip), %rcx
	.byte	0xe9
	.long	0
state_exit_slow:
1:	mov	-8(%rsp), %rax
	mov	-24(%rsp), %rcx
	ret
state_exit_end:

	.section .tbss, "awT", @nobits
	.balign 64
	.type agent_tls, @object
	.hidden agent_tls
	.globl agent_tls
agent_tls:
	.skip 64

/* --- the arena. One unwind rule for every stub and what it calls, exact at every instruction, for a signal may come
 * at any, and its handler may look at the stack or leave through it. With p = pc, o = p & 0xffff:
 *   rsp = rsp, and 8 more where a return address stands on the stack: at the stub's `ret`, and in what stubs call:
 *         rsp + (((p & 31) == STUB_RET | o >= EXITS_AT) << 3)
 *   CFA = that + 1: libgcc tells frames apart by CFA, and this frame has no size
 *   RA  = the return address that belongs to the stub: with q = o < EXITS_AT ? p : *rsp,
 *         *((q & ~0xffff) + ((q & 0xffff) >> 5) * 8)
 * An unwinder that leaves the call tells the personality routine (unwind.c). */
	.section .arena, "ax", @nobits
	.globl agent_arena
	.hidden agent_arena
	.balign 4096
	.cfi_startproc
	.cfi_personality 0x1b, agent_personality
	.cfi_escape 0x0f, 26, 0x77, 0x00, 0x80, 0x00, 0x08, 31, 0x1a, 0x08, STUB_RET, 0x29, 0x80, 0x00, 0x0a, 0xff, 0xff, 0x1a, 0x0a, EXITS_AT & 0xff, EXITS_AT >> 8, 0x2a, 0x21, 0x33, 0x24, 0x22, 0x23, 0x01
	.cfi_escape 0x16, 0x07, 24, 0x77, 0x00, 0x80, 0x00, 0x08, 31, 0x1a, 0x08, STUB_RET, 0x29, 0x80, 0x00, 0x0a, 0xff, 0xff, 0x1a, 0x0a, EXITS_AT & 0xff, EXITS_AT >> 8, 0x2a, 0x21, 0x33, 0x24, 0x22
	.cfi_escape 0x16, 0x10, 34, 0x80, 0x00, 0x12, 0x0a, 0xff, 0xff, 0x1a, 0x0a, EXITS_AT & 0xff, EXITS_AT >> 8, 0x2d, 0x28, 4, 0, 0x13, 0x77, 0x00, 0x06, 0x12, 0x0a, 0xff, 0xff, 0x1a, 0x35, 0x25, 0x33, 0x24, 0x16, 0x40, 0x25, 0x40, 0x24, 0x22, 0x06
agent_arena:
	.skip	ARENA_BYTES + 65536
	.cfi_endproc

	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: MIT */
/* Where trampolines and stubs go when the fast path is not enough, the stub templates, and
 * the stub arena with the unwind rule that covers it. Slots below the stack pointer: see
 * arch/x86_64/trampoline.S. */
#include "shared/tls.h"

	.set ARENA_BYTES, 512 * 65536
	.set STUB_RET, 0x65 /* where every stub's `ret` stands, for the unwind rule */
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
	.globl agent_slow_valued
	.hidden agent_slow_valued
	.globl agent_slow_state_entry, agent_slow_state_exit, agent_tls_block
	.hidden agent_slow_record, agent_slow_record2, agent_slow_entry, agent_slow_site
	.hidden agent_slow_state_entry, agent_slow_state_exit, agent_tls_block

/* rax = record, rdx = its slot or -1, rcx = where to go on. */
agent_slow_record:
	CALL_C	agent_record
	jmp	*%rcx

/* The same of an exit with the value in -16(%rsp), which then is in rax again. */
agent_slow_valued:
	CALL_C	agent_record_valued
	mov	-16(%rsp), %rax
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
	mov	%rcx, %rdx
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

/* State mode's return: eax = call site, rcx = where to go on; rdx is live. */
agent_slow_state_exit:
	mov	%rdx, -32(%rsp)
	mov	%eax, %edx
	mov	%rsp, %rax
	CALL_C	agent_state_exit
	mov	-32(%rsp), %rdx
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

/* --- stub templates: one copy for each call site, at a place that tells its id. A field is
 * marked by a label right behind it. -32 = the caller's rcx, -40 = body. ------------------ */
	.section .rodata
	.globl stub_begin, stub_return, stub_word, stub_gate, stub_pos, stub_limit, stub_real, stub_record, stub_end
	.hidden stub_begin, stub_return, stub_word, stub_gate, stub_pos, stub_limit, stub_real, stub_record, stub_end
stub_begin:
	mov	-32(%rsp), %rcx
	call	*-40(%rsp)
	.if	. - stub_begin - 9
	.error	"contents.S says otherwise"
	.endif
stub_return:
	mov	%rax, -16(%rsp)
	mov	%rdx, -24(%rsp)
	mov	%rcx, -32(%rsp)
	rdtsc
	shl	$24, %rax
	shl	$56, %rdx
	lea	0x7fffffff(%rax,%rdx), %rax
stub_word:
	cmpl	$0, 0x7fffffff(%rip)
stub_gate:                              # its displacement ends one byte before: the immediate
	je	3f
	mov	$8, %ecx
	xadd	%rcx, %fs:0x7fffffff
stub_pos:
	cmp	%fs:0x7fffffff, %rcx
stub_limit:
	jae	2f
	mov	%rax, (%rcx)
1:	mov	-16(%rsp), %rax
	mov	-24(%rsp), %rdx
	mov	-32(%rsp), %rcx
	push	0x7fffffff(%rip)
stub_real:
	.org	stub_begin + STUB_RET
	.org	stub_real               # the push ended here: the unwind rule knows no instruction between it and the ret
	ret
3:	or	$-1, %rcx
2:	mov	%rcx, %rdx
	lea	1b(%rip), %rcx
	.byte	0xe9
	.long	0
stub_record:
stub_end:
	.org	stub_begin + 128        # no stub is longer: the assembler refuses to go back

	/* The same for exits that tell their value. What is reserved is said by the word that a fork zeroes: there
	 * is no room for more. */
	.globl value_stub_begin, value_stub_word, value_stub_gate, value_stub_pos, value_stub_limit, value_stub_real
	.globl value_stub_record, value_stub_end
	.hidden value_stub_begin, value_stub_word, value_stub_gate, value_stub_pos, value_stub_limit, value_stub_real
	.hidden value_stub_record, value_stub_end
value_stub_begin:
	mov	-32(%rsp), %rcx
	call	*-40(%rsp)
	mov	%rax, -16(%rsp)
	mov	%rdx, -24(%rsp)
	mov	%rcx, -32(%rsp)
	rdtsc
	shl	$24, %rax
	shl	$56, %rdx
	lea	0x7fffffff(%rax,%rdx), %rdx
value_stub_word:
	mov	0x7fffffff(%rip), %ecx
value_stub_gate:
	test	%ecx, %ecx
	je	3f
	xadd	%rcx, %fs:0x7fffffff
value_stub_pos:
	cmp	%fs:0x7fffffff, %rcx
value_stub_limit:
	jae	2f
	mov	-16(%rsp), %rax
	mov	%rax, 8(%rcx)
	mov	%rdx, (%rcx)
1:	mov	-24(%rsp), %rdx
	mov	-32(%rsp), %rcx
	push	0x7fffffff(%rip)
value_stub_real:
	.org	value_stub_begin + STUB_RET
	.org	value_stub_real         # the push ended here: the unwind rule knows no instruction between it and the ret
	ret
3:	or	$-1, %rcx
2:	mov	%rdx, %rax
	mov	%rcx, %rdx
	lea	1b(%rip), %rcx
	.byte	0xe9
	.long	0
value_stub_record:
value_stub_end:
	.org	value_stub_begin + 128

	.globl state_stub_begin, state_stub_return, state_stub_id, state_stub_exit, state_stub_real, state_stub_end
	.hidden state_stub_begin, state_stub_return, state_stub_id, state_stub_exit, state_stub_real, state_stub_end
state_stub_begin:
	mov	-32(%rsp), %rcx
	call	*-40(%rsp)
state_stub_return:
	mov	%rax, -16(%rsp)
	mov	%rcx, -24(%rsp)
	lea	1f(%rip), %rcx
	mov	$0x7fffffff, %eax
state_stub_id:
	.byte	0xe9
	.long	0
state_stub_exit:
	.org	state_stub_begin + STUB_RET - 16 /* the three instructions before the ret */
1:	mov	-16(%rsp), %rax
	mov	-24(%rsp), %rcx
	push	0x7fffffff(%rip)
state_stub_real:
	ret
state_stub_end:

	.section .tbss, "awT", @nobits
	.balign 64
	.type agent_tls, @object
	.hidden agent_tls
	.globl agent_tls
agent_tls:
	.skip 64

/* --- the arena. One unwind rule for every stub, exact at every instruction, for a signal may come
 * at any, and its handler may look at the stack or leave through it:
 *   CFA = rsp + 1: libgcc tells frames apart by CFA, and this frame has no size
 *   rsp = rsp, and at the `ret`, which has the return address on the stack again, 8 more:
 *         rsp + (((pc & 127) == STUB_RET) << 3)
 *   RA  = the word of the site table that belongs to the stub: with p = pc,
 *         *((p & ~0xffff) + ((p & 0xffff) >> 7) * 8)
 * An unwinder that leaves the call tells the personality routine (unwind.c). */
	.section .arena, "ax", @nobits
	.globl agent_arena
	.hidden agent_arena
	.balign 4096
	.cfi_startproc
	.cfi_personality 0x1b, agent_personality
	.cfi_def_cfa 7, 1
	.cfi_escape 0x16, 0x07, 13, 0x77, 0x00, 0x80, 0x00, 0x08, 0x7f, 0x1a, 0x08, STUB_RET, 0x29, 0x33, 0x24, 0x22
	.cfi_escape 0x16, 0x10, 18, 0x80, 0x00, 0x12, 0x0a, 0xff, 0xff, 0x1a, 0x37, 0x25, 0x33, 0x24, 0x16, 0x40, 0x25, 0x40, 0x24, 0x22, 0x06
agent_arena:
	.skip	ARENA_BYTES + 65536
	.cfi_endproc

	.section .note.GNU-stack, "", @progbits

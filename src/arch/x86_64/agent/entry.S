/* SPDX-License-Identifier: MIT */
/* The slow paths of trampolines and stubs, and the stub arena with the unwind rule that covers it;
 * the stubs' templates are in arch/x86_64/stub.S. Runs on the recording thread, between two
 * instructions of the program: everything is kept. Slots below the stack pointer are described in
 * arch/x86_64/trampoline.S. Nothing here fails: a record without room is counted by the C code. */
#include "arch/x86_64/signal_frame.h"
#include "shared/tls.h"
#include "arch/x86_64/call_resume.h"
#include "arch/x86_64/stub.h"

	.set ARENA_BYTES, 256 * 65536
	.set EXITS_AT, 0xfe00 /* in a block: the code that all its stubs call */
	.set RECORD_LOW, 0xffffff /* of an id word: the record's id and kind */
	.set C_STACK, 1792 /* more than any of the paths below uses: tests/agent/depth.py */

	.macro KEEP register
	push	%\register
	.cfi_adjust_cfa_offset 8
	.endm
	.macro BACK register
	pop	%\register
	.cfi_adjust_cfa_offset -8
	.endm

/* Unwind rules: a trampoline has jumped here at its function's entry, so the return address stands
 * at the stack pointer, as after a call. A handler of a signal that was blocked in here begins in
 * here, and may ask for a backtrace. */

/* C's frames on a stack of the agent's own: rdi and rsi are its arguments, rbx is the stack pointer
 * of before. rax = its result, or 0 without a stack. */
	.macro ON_OWN_STACK function
	push	%rsi
	push	%rdi
	call	go_stack_take
	pop	%rdi
	pop	%rsi
	test	%rax, %rax
	jz	9f
	mov	%rax, %rsp
	lea	128 + 64(%rbx), %rdx
	call	\function
	mov	%rsp, %rdi
	mov	%rbx, %rsp
	and	$-16, %rsp
	push	%rax
	push	%rax
	call	go_stack_give
	pop	%rax
9:
	.endm

/* Calls C and keeps everything but rax (its result), rcx and rdx. Steps over the 128 bytes below
 * the stack pointer, which the ABI lets the program use. If the stack ends here, the program may
 * have a handler for that: the access makes it run before C blocks signals, because the kernel
 * kills a process whose fault it cannot deliver. */
	.macro CALL_C function, touch, own_stack
	.ifnb	\touch
	.globl	\touch
	.hidden	\touch
\touch:
	.endif
	.ifb	\own_stack
	testb	$0, -C_STACK(%rsp)
	.endif
	lea	-128(%rsp), %rsp
	.cfi_adjust_cfa_offset 128
	KEEP	rbx
	.cfi_rel_offset rbx, 0
	KEEP	rdi
	KEEP	rsi
	KEEP	r8
	KEEP	r9
	KEEP	r10
	KEEP	r11
	KEEP	rcx
	mov	%rsp, %rbx
	.cfi_def_cfa_register rbx
	and	$-16, %rsp
	cld
	mov	%rax, %rdi
	mov	%rdx, %rsi
	.ifb	\own_stack
	lea	128 + 64(%rbx), %rdx    # the stack pointer as it was
	call	\function
	.else
	ON_OWN_STACK \function
	.endif
	mov	%rbx, %rsp
	.cfi_def_cfa_register rsp
	BACK	rcx
	BACK	r11
	BACK	r10
	BACK	r9
	BACK	r8
	BACK	rsi
	BACK	rdi
	BACK	rbx
	.cfi_restore rbx
	lea	128(%rsp), %rsp
	.cfi_adjust_cfa_offset -128
	.endm

	.text
	.globl agent_slow_record, agent_slow_record2, agent_slow_entry, agent_slow_site
	.globl agent_dl_debug_state
	.hidden agent_dl_debug_state
	.globl agent_slow_nonlocal
	.hidden agent_slow_nonlocal
	.globl agent_slow_exit, agent_slow_valued, agent_slow_float, agent_slow_text
	.hidden agent_slow_exit, agent_slow_valued, agent_slow_float, agent_slow_text
	.globl agent_slow_state_entry, agent_slow_state_exit, agent_tls_block
	.hidden agent_slow_record, agent_slow_record2, agent_slow_entry, agent_slow_site
	.hidden agent_slow_state_entry, agent_slow_state_exit, agent_tls_block

/* rax = record, rdx = its slot or -1, rcx = where to go on. */
agent_slow_record:
	.cfi_startproc
	CALL_C	agent_record, touch_record
	jmp	*%rcx
	.cfi_endproc

/* agent_slow_record of an exit, which stands one call deeper: C gets the stack pointer of its
 * stub. */
agent_slow_exit:
	.cfi_startproc
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	CALL_C	agent_record
	lea	-8(%rsp), %rsp
	.cfi_adjust_cfa_offset 8
	jmp	*%rcx
	.cfi_endproc

/* agent_slow_exit with the value that the exit code has kept. */
agent_slow_valued:
	.cfi_startproc
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	CALL_C	agent_record_valued
	lea	-8(%rsp), %rsp
	.cfi_adjust_cfa_offset 8
	jmp	*%rcx
	.cfi_endproc

/* agent_slow_exit with the floating-point number that the exit code has kept. */
agent_slow_float:
	.cfi_startproc
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	CALL_C	agent_record_float
	lea	-8(%rsp), %rsp
	.cfi_adjust_cfa_offset 8
	jmp	*%rcx
	.cfi_endproc

/* rax = header, payload in -32(%rsp), slot or -1 in -40(%rsp), rcx = where to go on. */
agent_slow_record2:
	.cfi_startproc
	mov	-32(%rsp), %rdx
	CALL_C	agent_record2, touch_record2
	jmp	*%rcx
	.cfi_endproc

/* A return address that is not in the table: a stub's (a tail call), or new. rax = return address,
 * ecx = record's id and kind, -32 = body, -40 = where to go on with rcx = stub. */
agent_slow_entry:
	.cfi_startproc
	/* Unsigned distance: an address below the arena wraps and is not less. */
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
	CALL_C	agent_handler, touch_handler
	test	%rax, %rax
	jnz	by_stub
	mov	(%rsp), %rax
1:	mov	%rcx, %rdx
	CALL_C	agent_entry, touch_entry
	test	%rax, %rax
	jz	to_body
	cmpl	$0, agent_no_tls(%rip)
	jne	no_tls_entry
	mov	%rax, %rcx
	jmp	*-40(%rsp)
no_tls_entry:                              # what the trampoline does behind this goes by the thread pointer
	mov	%rax, -40(%rsp)
	lfence                          # for causal order; the way here costs far more
	rdtsc
	shl	$24, %rax
	shl	$56, %rdx
	and	$RECORD_LOW, %ecx
	or	%rdx, %rax
	or	%rcx, %rax
	lea	no_tls_recorded(%rip), %rcx
	or	$-1, %rdx
	jmp	agent_slow_record
no_tls_recorded:
	mov	-40(%rsp), %rax
	jmp	by_stub
tail:
	cmpl	$0, agent_stamps_in_c(%rip)
	je	1f
	lfence
1:	rdtsc
	shl	$24, %rax
	shl	$56, %rdx
	and	$RECORD_LOW, %ecx       # without the flags of its id word
	or	$2, %ecx                # RECORD_ENTRY -> RECORD_TAIL
	or	%rdx, %rax
	or	%rcx, %rax
	lea	to_body(%rip), %rcx
	or	$-1, %rdx
	cmpl	$0, agent_fork_guard + 4 * FORK_GUARD_EXIT(%rip)
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
	.cfi_endproc

/* agent_slow_entry for records that carry the call site: rax = return address, -40 = where to go on
 * with rcx = stub (or the arena, for none). */
agent_slow_site:
	.cfi_startproc
	CALL_C	agent_call_site, touch_site
	mov	%rax, %rcx
	cmpl	$0, agent_no_tls(%rip)
	jne	1f
	jmp	*-40(%rsp)
1:	mov	-40(%rsp), %rdx
	sub	agent_arena_at(%rip), %rcx
	shl	$32 - 5, %rcx
	mov	CALL_FUNCTION - 4(%rdx), %eax
	or	%rax, %rcx
	mov	%rcx, -32(%rsp)
	mov	CALL_WORD - 4(%rdx), %eax
	mov	%rax, -40(%rsp)
	lea	CALL_RESUME(%rdx), %rcx
	lfence
	rdtsc
	shl	$24, %rax
	shl	$56, %rdx
	or	%rdx, %rax
	or	-40(%rsp), %rax
	movq	$-1, -40(%rsp)
	jmp	agent_slow_record2
	.cfi_endproc

/* State mode, and no-TLS mode: ecx = record's id and kind, -32 = body. Goroutines have small
 * stacks: a function that checks whether it has to grow has 792 bytes below its return address, but
 * those that the runtime calls without a check may have fewer. C then has a stack of the agent's
 * own. A call without room for the way there is counted as lost: recording it could overwrite a
 * neighbour. */
	.set GO_ROOM, 320               # held against the code by tests/agent/depth.py
	.set GO_STACK_LOW, 0            # in runtime.g
agent_slow_state_entry:
	.cfi_startproc
	cmpl	$0, agent_go(%rip)
	jne	2f
1:	mov	%rsp, %rax
	mov	%rcx, %rdx
	CALL_C	agent_state_entry, touch_state
	jmp	by_stub
/* Go keeps the current g right below the thread pointer. */
2:	mov	%fs:-8, %rax
	test	%rax, %rax
	jz	1b
	mov	%rsp, %rdx
	sub	GO_STACK_LOW(%rax), %rdx
	cmp	$C_STACK, %rdx          # unsigned: another stack is above that, too
	jae	1b
	cmp	$GO_ROOM, %rdx
	jae	3f
	mov	agent(%rip), %rax
	test	%rax, %rax
	jz	to_body
	lock incq HEADER_LOST_THREADLESS(%rax)
	jmp	to_body
3:	mov	%rsp, %rax
	mov	%rcx, %rdx
	CALL_C	agent_state_entry, , own_stack
by_stub:
	test	%rax, %rax
	jz	to_body
	mov	%rax, %rcx
	mov	-8(%rsp), %rax
	mov	-16(%rsp), %rdx
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*%rcx
	.cfi_endproc

/* A function that may leave the stack: rcx = its struct nonlocal_info, -32 = body. */
agent_slow_nonlocal:
	.cfi_startproc
	mov	%rdi, -48(%rsp)
	mov	%rsi, -56(%rsp)
	mov	%rsp, %rax
	mov	%rcx, %rdx
	CALL_C	agent_nonlocal, touch_leave
	jmp	by_stub
	.cfi_endproc

/* State mode's return, one call deeper: eax = call site, rcx = where to go on; rdx is live. */
agent_slow_state_exit:
	.cfi_startproc
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	mov	%rdx, -24(%rsp)
	movq	%xmm0, -40(%rsp)
	mov	%eax, %edx
	mov	%rsp, %rax
	CALL_C	agent_state_exit
	mov	-24(%rsp), %rdx
	lea	-8(%rsp), %rsp
	.cfi_adjust_cfa_offset 8
	jmp	*%rcx
	.cfi_endproc

/* A return of a string: as agent_slow_state_exit, eax = call site and kind of value. */
agent_slow_text:
	.cfi_startproc
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	mov	%rdx, -24(%rsp)
	mov	%eax, %edx
	mov	%rsp, %rax
	CALL_C	agent_text_exit
	mov	-24(%rsp), %rdx
	lea	-8(%rsp), %rsp
	.cfi_adjust_cfa_offset 8
	jmp	*%rcx
	.cfi_endproc

/* In place of ld.so's _dl_debug_state, which does nothing. */
agent_dl_debug_state:
	.cfi_startproc
	mov	%rax, -8(%rsp)
	mov	%rdx, -16(%rsp)
	mov	%rcx, -24(%rsp)
	CALL_C	agent_modules_changed
	mov	-8(%rsp), %rax
	mov	-16(%rsp), %rdx
	mov	-24(%rsp), %rcx
	ret
	.cfi_endproc

/* In place of libgcc's _Unwind_GetCFA(context): callers outside of libgcc get an even address
 * (cfa.c). */
	.globl agent_get_cfa
	.hidden agent_get_cfa
agent_get_cfa:
	.cfi_startproc
	mov	0x90(%rdi), %rax
	mov	(%rsp), %rcx
	sub	agent_libgcc(%rip), %rcx
	cmp	agent_libgcc_bytes(%rip), %rcx
	jb	1f
	and	$-8, %rax
1:	ret
	.cfi_endproc

/* Returns the calling thread's struct agent_tls, by the way that fits its process. */
agent_tls_block:
	.cfi_startproc
	cmpl	$0, agent_no_tls(%rip)
	jne	agent_no_tls_block
	mov	%fs:0, %rax
	add	agent_tls@gottpoff(%rip), %rax
	testl	$TLS_LENT, TLS_KNOWN(%rax)
	jnz	1f
	ret
1:	mov	%rax, %rdi
	jmp	agent_lent_block
	.cfi_endproc

/* --- what the stubs of state mode call; the other exits are in stub.S --- */
	.section .rodata
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

/* --- the arena. One unwind rule for every stub and what it calls, exact at every instruction, for
 * a signal may come at any, and its handler may look at the stack or leave through it. With p = pc,
 * o = p & 0xffff:
 *   rsp = rsp, and 8 more where a return address stands on the stack: at the stub's `ret`, and
 *     in what stubs call:
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

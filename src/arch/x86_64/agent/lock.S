/* SPDX-License-Identifier: MIT */
/* Entry from trampolines of functions that take or release locks (TRAMPOLINE_LOCK), before they do
 * anything: the stack is as at the function's first instruction, r10 says what the function does,
 * and r11 where its moved instructions are. They are jumped to, or called, and the thread is asked
 * again after them. Jumps and calls are paired, so that the processor's return predictor stays
 * right. A function that a loop leads to its own entry again (spin locks), or another one that it
 * jumps to, returns to us: it is a part of the call. The arguments are kept, of which these
 * functions have at most four; other registers are a callee's to change. A thread that waits in the
 * function has our return address on its stack: our text stays mapped after a detach, and the
 * trampoline is not looked at any more by then. */
	.set C_STACK, 2048              /* more than is used: tests/agent/object.sh */
	.set FRAME, 56                  /* struct lock_visit (agent/lock_points.c) but for its end */

	.macro ARGUMENTS
	mov	0(%rsp), %rdi
	mov	8(%rsp), %rsi
	mov	16(%rsp), %rdx
	mov	24(%rsp), %rcx
	.endm

	.text
	.globl agent_lock
	.hidden agent_lock
	.type agent_lock, @function
agent_lock:
	.cfi_startproc
	lea	called(%rip), %rax
	cmp	%rax, (%rsp)
	je	2f
	testb	$0, -C_STACK(%rsp)      # see CALL_C in entry.S
	lea	-FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset FRAME
	mov	%rdi, 0(%rsp)
	mov	%rsi, 8(%rsp)
	mov	%rdx, 16(%rsp)
	mov	%rcx, 24(%rsp)
	mov	%r11, 32(%rsp)
	mov	%r10d, 40(%rsp)
	cld
	mov	%rsp, %rdi
	call	agent_lock_enter
	mov	32(%rsp), %r11
	test	%rax, %rax
	jz	1f
	ARGUMENTS
	mov	%rax, 16(%rsp)          # lock_visit.begin
	call	*%r11
called:
	mov	%rax, 24(%rsp)          # lock_visit.result
	mov	%rsp, %rdi
	call	agent_lock_got
	mov	24(%rsp), %rax
	lea	FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset -FRAME
	ret
	.cfi_adjust_cfa_offset FRAME
1:	ARGUMENTS
	lea	FRAME(%rsp), %rsp
	.cfi_adjust_cfa_offset -FRAME
2:	jmp	*%r11
	.cfi_endproc
	.size agent_lock, .-agent_lock

	.section .note.GNU-stack, "", @progbits

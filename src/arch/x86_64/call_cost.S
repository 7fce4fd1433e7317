/* SPDX-License-Identifier: MIT */
/* The loop that calls a function so and so often, for call_cost.c: the return address of its call
 * has a name. */

	.text
	.globl call_cost_calls, call_cost_return
	.hidden call_cost_calls, call_cost_return
	.type call_cost_calls, @function
/* rdi = the function, which keeps all registers but rax; rsi = how often, at least once. */
call_cost_calls:
	.cfi_startproc
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
1:	call	*%rdi
call_cost_return:
	dec	%rsi
	jnz	1b
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size call_cost_calls, . - call_cost_calls

	.section .note.GNU-stack, "", @progbits

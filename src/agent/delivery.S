/* SPDX-License-Identifier: MIT */
/* Where the first instruction of a signal's handler leads: on to C if the kernel has just made the frame there is. Handlers may run
 * on small stacks of their own: where C would not fit, a record is lost. */
#include "agent/probe_frame.h"
#include "shared/signal_frame.h"
#include "shared/tls.h"

	.set RAX, -8
	.set FLAGS, -16
	.set SKIPPED, 8 + 128 /* between our stack pointer and the program's */
	.set CONTEXT, SKIPPED + 8
	.set STACK, 16 /* in the context: the alternative stack's begin, and its size */
	.set STACK_SIZE, 32
	.set ROOM, C_STACK + 256

	.text
	.globl agent_delivery
	.hidden agent_delivery
	.type agent_delivery, @function
agent_delivery:
	PROBE_BEGINS
	mov	%rax, RAX(%rsp)
	lahf
	seto	%al
	mov	%eax, FLAGS(%rsp)
	lea	CONTEXT(%rsp), %rax
	cmp	%rdx, %rax
	jne	done
	add	$SIGNAL_CONTEXT_BYTES, %rax
	cmp	%rsi, %rax
	jne	done
	mov	%rsp, %rax
	sub	STACK(%rdx), %rax
	cmp	STACK_SIZE(%rdx), %rax
	jae	1f /* not on it */
	cmp	$ROOM, %rax
	jb	lost
1:	mov	FLAGS(%rsp), %eax
	add	$0x7f, %al
	sahf
	mov	RAX(%rsp), %rax
	PROBE_CALLS delivery_hit
lost:	mov	agent(%rip), %rax
	test	%rax, %rax
	jz	done
	lock incq HEADER_LOST_THREADLESS(%rax)
done:	mov	FLAGS(%rsp), %eax
	add	$0x7f, %al
	sahf
	mov	RAX(%rsp), %rax
	ret
	.cfi_endproc
	.size agent_delivery, .-agent_delivery

	.section .note.GNU-stack, "", @progbits

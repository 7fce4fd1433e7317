/* SPDX-License-Identifier: MIT */
/* The first instruction of a signal's handler leads here, on the thread that got the signal: on to
 * C if the kernel has just made the frame that is on the stack, else straight back. Handlers may
 * run on small stacks of their own: where C would not fit, the record is counted as lost. All
 * registers and flags are kept. */
#include "arch/x86_64/agent/probe_frame.h"
#include "arch/x86_64/signal_frame.h"
#include "shared/tls.h"

	.set RAX, -8
	.set FLAGS, -16
	.set SKIPPED, 8 + 128 /* bytes between our stack pointer and the program's */
	.set CONTEXT, SKIPPED + 8
	.set STACK, 16 /* in the context: begin of the alternative stack, and its size */
	.set STACK_SIZE, 32
	.set ROOM, C_STACK + 256

	.text
	.globl agent_delivery
	.hidden agent_delivery
	.type agent_delivery, @function
agent_delivery:
	PROBE_BEGINS
	mov	%rax, RAX(%rsp)
	/* lahf and seto keep the six status flags in eax; popf would be slow. */
	lahf
	seto	%al
	mov	%eax, FLAGS(%rsp)
	/* Before the call the kernel put the context and the info at fixed distances: compare with
	 * the handler's arguments. */
	lea	CONTEXT(%rsp), %rax
	cmp	%rdx, %rax
	jne	done
	add	$SIGNAL_CONTEXT_BYTES, %rax
	cmp	%rsi, %rax
	jne	done
	mov	%rsp, %rax
	sub	STACK(%rdx), %rax
	cmp	STACK_SIZE(%rdx), %rax
	jae	1f /* the thread does not run on the alternative stack */
	cmp	$ROOM, %rax
	jb	lost
1:	mov	FLAGS(%rsp), %eax
	/* Adding 0x7f overflows if seto gave 1, which restores the overflow flag; sahf restores the
	 * others. */
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

/* SPDX-License-Identifier: MIT */
/* Replacements of the `syscall` instructions of libc's functions that concern the agent
 * (libc_calls.c), on the calling thread. The arguments are where the kernel wants them; rcx and r11
 * are free, since the kernel changes them. The overwritten bytes, the call and the comparison of
 * its result, are done here. The call may be a fork or a clone: between it and the way back nothing
 * of ours may be on the stack. */
#include <asm/unistd.h>

/* Branches to the calls that concern the agent: 2 execute, 3 prctl, 4 filter, 5 limit, 6 locks, 12
 * user, 13 name. Others fall through. */
	.macro BY_NUMBER
	cmp	$__NR_execve, %rax
	je	2f
	cmp	$__NR_execveat, %rax
	je	2f
	cmp	$__NR_prctl, %rax
	je	3f
	cmp	$__NR_seccomp, %rax
	je	4f
	cmp	$__NR_prlimit64, %rax
	je	5f
	cmp	$__NR_mlockall, %rax
	je	6f
	cmp	$__NR_setuid, %rax
	je	12f
	cmp	$__NR_setreuid, %rax
	je	12f
	cmp	$__NR_setresuid, %rax
	je	12f
	.endm

	/* In a child nothing of ours may be on the stack, which may be its parent's. */
	.macro CLONES number
	cmp	$\number, %rax
	jne	9f
	syscall
	test	%rax, %rax
	jle	1b
	mov	$\number, %ecx
	jmp	8b
9:
	.endm

	/* prctl: to 4 for a filter and its kin, to 13 for a name, back to 0 for all else. */
	.macro BY_OPTION
	cmp	$22, %edi               # PR_SET_SECCOMP
	je	4f
	cmp	$15, %edi               # PR_SET_NAME
	je	13f
	cmp	$26, %edi               # PR_SET_TSC
	je	4f
	cmp	$59, %edi               # PR_SET_SYSCALL_USER_DISPATCH
	jne	0b
	.endm

	.macro LENDS number
	cmp	$\number, %rax
	je	11f
	.endm

	/* clones: the function can make any call, so clone, too, which the tracer may want to
	 * know. */
	.macro LIBC_CALL name, clones=0
	.globl agent_call_\name, agent_limit_\name, agent_back_\name, agent_again_\name
	.hidden agent_call_\name, agent_limit_\name, agent_back_\name, agent_again_\name
	.text
agent_call_\name:
	cmpb	$0, agent_dispatches(%rip)
	jne	14f
	BY_NUMBER
	.if	\clones
	LENDS	__NR_vfork
	LENDS	__NR_clone
	LENDS	__NR_clone3
10:	cmpq	$0, agent_clones_told(%rip)
	jne	7f
	.endif
0:	syscall
1:	cmp	agent_limit_\name(%rip), %rax
	jmp	*agent_back_\name(%rip)
2:	lea	1b(%rip), %rcx
	lea	agent_exec_coming(%rip), %r11
	jmp	with_agent
3:	BY_OPTION
4:	lea	1b(%rip), %rcx
	lea	agent_filter_coming(%rip), %r11
	jmp	with_agent
5:	lea	1b(%rip), %rcx
	lea	agent_limit_coming(%rip), %r11
	jmp	with_agent
6:	lea	1b(%rip), %rcx
	lea	agent_lock_coming(%rip), %r11
	jmp	with_agent
12:	lea	1b(%rip), %rcx
	lea	agent_user_coming(%rip), %r11
	jmp	with_agent
13:	lea	1b(%rip), %rcx
	lea	agent_name_coming(%rip), %r11
	jmp	with_agent
	.if	\clones
11:	lea	10b(%rip), %r11
	jmp	lend_thread
8:	lea	1b(%rip), %r11
	jmp	tell_clone
7:	CLONES	__NR_clone
	CLONES	__NR_clone3
	CLONES	__NR_fork
	CLONES	__NR_vfork
	jmp	0b
	.endif
	/* The kernel looks where the instruction stands (dispatch.c): in libc, if it has a place
	 * there. A child that has its own stack, or its parent's, must not return there. */
14:	.if	\clones
	cmp	$__NR_vfork, %rax
	je	0b
	cmp	$__NR_clone, %rax
	je	0b
	cmp	$__NR_clone3, %rax
	je	0b
	.endif
	mov	agent_again_\name(%rip), %r11
	test	%r11, %r11
	jz	0b
	lea	-128(%rsp), %rsp
	call	*%r11
	lea	128(%rsp), %rsp
	jmp	1b
	.bss
	.balign 8
agent_limit_\name:
	.skip	8
agent_back_\name:
	.skip	8
agent_again_\name:
	.skip	8
	.text
	.endm

	LIBC_CALL execve
	LIBC_CALL execveat
	LIBC_CALL fexecve
	LIBC_CALL prctl
	LIBC_CALL syscall, clones=1
	LIBC_CALL prlimit64
	LIBC_CALL setrlimit64
	LIBC_CALL getrlimit64
	LIBC_CALL mlockall
	LIBC_CALL setuid
	LIBC_CALL seteuid
	LIBC_CALL setreuid
	LIBC_CALL setresuid

	/* Keeps all registers but rcx; r11 = where to go on. Steps over the 128 bytes below the
	 * stack pointer. */
	.macro BEFORE_C
	lea	-128(%rsp), %rsp
	push	%rbp
	mov	%rsp, %rbp
	push	%rax
	push	%rdi
	push	%rsi
	push	%rdx
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	and	$-16, %rsp
	cld
	.endm

	.macro BEHIND_C
	lea	-64(%rbp), %rsp
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdx
	pop	%rsi
	pop	%rdi
	pop	%rax
	pop	%rbp
	lea	128(%rsp), %rsp
	jmp	*%r11
	.endm

/* rax = the new thread's number, rcx = the call that made it. */
tell_clone:
	BEFORE_C
	mov	%rdi, %rsi
	mov	%rcx, %rdi
	mov	%rax, %rdx
	call	task_cloned
	BEHIND_C

/* The stack pointer points to the return address of syscall(). Threads do not come this way: a
 * child on another stack would have nowhere to return to. */
lend_thread:
	BEFORE_C
	lea	136(%rbp), %rdi
	call	lend_begin
	BEHIND_C

/* A system call of a process that was attached to (image/intercepts.c): rcx = address of its
 * instruction. An agent that ld.so loaded may have replaced that by a jump, which does the rest. No
 * other calls concern the agent there: what the process executes is not followed. */
	.globl agent_intercept_filter
	.hidden agent_intercept_filter
agent_intercept_filter:
	cmpw	$0x050f, (%rcx)         # syscall
	jne	0f
	cmpb	$0, agent_dispatches(%rip)
	jne	0f
	cmp	$__NR_prctl, %rax
	je	3f
	cmp	$__NR_seccomp, %rax
	je	4f
	jmp	*%rcx

/* A system call of a static program (image/intercepts.c): rcx = address of its instruction. */
	.globl agent_intercept
	.hidden agent_intercept
agent_intercept:
	cmpb	$0, agent_dispatches(%rip)
	jne	0f
	BY_NUMBER
0:	jmp	*%rcx
2:	lea	agent_exec_coming(%rip), %r11
	jmp	7f
3:	BY_OPTION
4:	lea	agent_filter_coming(%rip), %r11
	jmp	7f
5:	lea	agent_limit_coming(%rip), %r11
	jmp	7f
6:	lea	agent_lock_coming(%rip), %r11
	jmp	7f
13:	lea	agent_name_coming(%rip), %r11
	jmp	7f
12:	lea	agent_user_coming(%rip), %r11
/* After the two bytes of `syscall`. */
7:	add	$2, %rcx
	jmp	with_agent

/* rcx = where to go on with rax = result; r11 = the function that decides before the call. On the
 * stack, from rbp down: rbx, struct call_registers, struct call_plan, the environment of a program
 * to be executed. */
	.set REGISTERS, -80
	.set PLAN, -208
with_agent:
	lea	-128(%rsp), %rsp
	push	%rbp
	mov	%rsp, %rbp
	push	%rbx
	push	%r11
	push	%rcx
	push	%rax
	push	%rdi
	push	%rsi
	push	%rdx
	push	%r10
	push	%r8
	push	%r9
	sub	$128, %rsp
	and	$-16, %rsp
	cld
	lea	REGISTERS(%rbp), %rdi
	lea	PLAN(%rbp), %rsi
	call	*%r11
	sub	%rax, %rsp              # bytes of the environment, a multiple of 16
	lea	REGISTERS(%rbp), %rdi
	lea	PLAN(%rbp), %rsi
	mov	%rsp, %rdx
	call	agent_call_ready
	/* The arguments of the plan; those that no plan changes are the program's. */
	mov	REGISTERS(%rbp), %r9
	mov	REGISTERS+8(%rbp), %r8
	mov	PLAN(%rbp), %r10
	mov	PLAN+8(%rbp), %rdx
	mov	PLAN+16(%rbp), %rsi
	mov	PLAN+24(%rbp), %rdi
	mov	PLAN+32(%rbp), %rax
	syscall
	mov	%rax, REGISTERS+48(%rbp)
	mov	%rax, %rdi
	lea	PLAN(%rbp), %rsi
	call	agent_call_done
	lea	REGISTERS(%rbp), %rsp
	pop	%r9
	pop	%r8
	pop	%r10
	pop	%rdx
	pop	%rsi
	pop	%rdi
	pop	%rax
	pop	%rcx
	pop	%r11
	pop	%rbx
	pop	%rbp
	lea	128(%rsp), %rsp
	jmp	*%rcx

	.section .note.GNU-stack, "", @progbits

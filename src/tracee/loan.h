/* SPDX-License-Identifier: MIT */
/* A thread of a held process lent to us, so that it is harmless to die meanwhile.
 *
 * When a tracer ends the kernel lets its threads run with the registers it gave them. So whatever a borrowed
 * thread does for us ends, by itself and without us, in rt_sigreturn from a frame that holds all that it was:
 * the thread sees no more of it than of a signal. Nobody's memory is ours as yet, so a few instructions
 * stand meanwhile in the zeros behind the kernel's own code (vdso) or behind the text of a file, and the
 * frame at the very end of the main stack. A loan is taken at the first call, and given back when the
 * process goes on. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "tracee/sigframe.h"

struct tracee;
struct thread;

struct loan {
	struct thread *th;         /* NULL: none is lent */
	uint64_t call;             /* address of: syscall, what follows */
	uint64_t result;           /* address of: result to rdi, back */
	uint64_t back;             /* address of: sigreturn from the frame */
	uint64_t end;              /* behind the last of these instructions */
	uint64_t scratch;          /* TRACEE_SCRATCH bytes for arguments */
	uint64_t frame;
	uint64_t mask;
	uint64_t rseq_at, rseq_cs;
	bool others;               /* what a dead tracer began is not over yet */
	bool called;               /* a function: vector registers may be others */
	size_t n_xstate;
	VEC(uint8_t) before;       /* what stood from `scratch` on */
	uint8_t xstate[SIGFRAME_XSTATE_MAX];
};

int loan_take(struct tracee *t, struct err *err);      /* if there is none: 0, or -errno and *err */
/* From the stop at the entry of a system call, which is not made but begun anew when the thread goes on. */
int loan_take_back_call(struct tracee *t, struct thread *th, struct err *err);
int loan_give_back(struct tracee *t, struct err *err); /* if there is one */

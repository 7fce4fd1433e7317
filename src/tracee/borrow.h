/* SPDX-License-Identifier: MIT */
/* A borrowed thread: a thread of a stopped process that makes calls for the tracer, and that stays
 * harmless if the tracer dies meanwhile.
 *
 * When a tracer ends, the kernel lets its threads run with the registers that it gave them. So
 * everything that a borrowed thread does for the tracer ends by itself in rt_sigreturn from a frame
 * with the thread's own state: to the thread it is like a signal. The tracer has no memory of its
 * own in the process yet. So a few instructions stand meanwhile in the zeros after the kernel's own
 * code (vdso) or after the text of a file, and the frame at the low end of the main stack. A thread
 * is borrowed for the first call, and given back before the process goes on. All functions: on the
 * holder's thread. */
#pragma once
#include <stdbool.h>

#include "arch/sigframe.h"
#include "base/err.h"
#include "base/vec.h"

struct tracee;
struct thread;

struct borrowed_thread {
	struct thread *th;         /* NULL: none is borrowed */
	uint64_t call;             /* address of: syscall, and the way back */
	uint64_t result;           /* address of: the result is kept, back */
	uint64_t back;             /* address of: sigreturn from the frame */
	uint64_t end;              /* address after the last of these instructions */
	uint64_t scratch;          /* TRACEE_SCRATCH bytes for arguments */
	uint64_t frame;
	uint64_t mask;
	uint64_t rseq_at, rseq_cs;
	bool others;               /* calls that a dead tracer began still run */
	bool called;               /* a function was called: vector registers may have changed */
	size_t n_vectors;
	VEC(uint8_t) before;       /* the bytes from `scratch` on, to be written back */
	uint8_t vectors[SIGFRAME_VECTORS_MAX];
};

/* Borrows a thread, if none is borrowed yet. Returns 0, or -errno and *err. */
int borrow_begin(struct tracee *t, struct err *err);
/* Borrows th, which stands at the entry of a system call, and gives it back at once. The call is
 * not made; the thread makes it anew when it goes on. */
int borrow_from_call(struct tracee *t, struct thread *th, struct err *err);
/* Gives the borrowed thread back, if there is one. -EIO if it died or runs. */
int borrow_end(struct tracee *t, struct err *err);

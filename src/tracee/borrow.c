/* SPDX-License-Identifier: MIT */
/* Borrowing: makes a thread of a stopped process run calls for the tracer (see the header for
 * why it is safe). remote.c and let_run.c call it, on the holder's thread. Nothing of the
 * process that it would miss is changed before code, frame and saved state are in place (the
 * frame lies below its stack pointer); a failure before that is reported, one after it (the
 * process died) leaves nothing to mend. */
#include "tracee/borrow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "arch/borrowed_code.h"
#include "arch/page.h"
#include "tracee/internal.h"
#include "tracee/proc_maps.h"

#define RSEQ_CS 8             /* offset in struct rseq */
#define SIGNAL_ROOM 8192      /* below a frame: space for a signal that its thread may take there */
#define STACK_MARGIN 4096     /* between the main thread's stack pointer and a frame */
#define PLACES 4 /* further ones serve when a dead tracer's borrows are still under way */
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

struct rseq_config {
	uint64_t pointer;
	uint32_t size, signature, flags, pad;
};

/* The kernel's struct rseq_cs. */
struct rseq_section {
	uint32_t version, flags;
	uint64_t start, bytes, abort;
};

/* --- code ------------------------------------------------------------------------------------- */

/* A tracer died while a thread was borrowed. True if the thread is still under way: in these
 * instructions, or in a function that it called (the frame's link then names the thread). */
static bool is_under_way(struct tracee *t, uint64_t at, uint64_t frame)
{
	uint64_t link = 0;
	struct err ignored;

	tracee_read(t, frame + SIGFRAME_LINK, &link, sizeof(link), &ignored);
	for (size_t i = 0; i < t->threads.n; i++)
		if (regs_pc(&t->threads.at[i].regs) - at < BORROWED_CODE_BYTES ||
		    (pid_t)link == t->threads.at[i].tid)
			return true;
	return false;
}

enum slot { SLOT_FREE, SLOT_TAKEN, SLOT_UNDER_WAY };

/* Looks whether a place for code is free: zeros, or code that a dead tracer left behind. */
static enum slot look_at_slot(struct tracee *t, uint64_t at)
{
	static const uint8_t none[BORROWED_CODE_BYTES];
	uint8_t bytes[BORROWED_CODE_BYTES];
	uint64_t frame;
	struct err ignored;

	/* Unreadable: not a place for code. */
	if (tracee_read(t, at, bytes, sizeof(bytes), &ignored) < 0)
		return SLOT_TAKEN;
	if (memcmp(bytes, none, sizeof(none)) == 0)
		return SLOT_FREE;
	if (!borrowed_code_read(bytes, &frame))
		return SLOT_TAKEN;
	return is_under_way(t, at, frame) ? SLOT_UNDER_WAY : SLOT_FREE;
}

/* Writes the instructions, with the frame's address in them. */
static int put_code(struct tracee *t, struct err *err)
{
	uint8_t bytes[BORROWED_CODE_BYTES];

	borrowed_code_emit(bytes, t->borrowed.frame);
	return tracee_write(t, t->borrowed.call, bytes, sizeof(bytes), err);
}

/* --- places ----------------------------------------------------------------------------------- */

/* Ends of the vdso and of the first file's text that have room, and the parts of stacks that are
 * free. */
struct borrow_addresses { uint64_t vdso, text, stack, stack_end, own, own_end; };

static const struct thread *main_thread(const struct tracee *t)
{
	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.at[i].tid == t->pid)
			return &t->threads.at[i];
	return NULL;
}

/* Notes a mapping if it may serve. */
static void note_mapping(struct tracee *t, const struct proc_map *l, struct borrow_addresses *p)
{
	const struct thread *main = main_thread(t);
	uint64_t sp = regs_sp(&t->borrowed.th->regs);

	if (strcmp(l->path, "[vdso]") == 0)
		p->vdso = l->end;
	else if (l->exec && !p->text && l->path[0] == '/' &&
		 look_at_slot(t, l->end - BORROWED_CODE_BYTES) == SLOT_FREE)
		p->text = l->end;
	if (strcmp(l->path, "[stack]") == 0) {
		p->stack = l->start;
		p->stack_end = l->end;
		if (main && regs_sp(&main->regs) > l->start && regs_sp(&main->regs) <= l->end)
			p->stack_end = regs_sp(&main->regs) - REGS_RED_ZONE;
	}
	if (l->write && sp > l->start && sp <= l->end) {
		p->own = l->start;
		p->own_end = sp - REGS_RED_ZONE;
	}
}

/* Reads the maps of a thread that is alive: those of an ended main thread are empty. */
static void find_addresses(struct tracee *t, struct borrow_addresses *p)
{
	FILE *f = proc_maps_open(t->threads.at[0].tid);
	struct proc_map map;

	while (f && proc_maps_next(f, &map))
		/* The kernel has a mapping above ([vsyscall]). */
		if (map.start < ARCH_ADDRESS_END)
			note_mapping(t, &map, p);
	if (f)
		fclose(f);
}

/* Returns an address for frame k, counted from the low end of the main stack's mapping, where the
 * stack hardly ever grows to. If there is no room, right below the thread's own stack pointer. */
static uint64_t place_frame(const struct borrow_addresses *p, unsigned k, size_t bytes)
{
	uint64_t each = (SIGNAL_ROOM + bytes + 63) & ~UINT64_C(63);
	uint64_t top = p->stack + (k + 1) * each;

	if (p->stack && top + STACK_MARGIN <= p->stack_end)
		return (top - bytes) & ~UINT64_C(63);
	if (!p->own || p->own_end - p->own < each)
		return 0;
	return (p->own_end - bytes) & ~UINT64_C(63);
}

/* Notes where the instructions are, for borrow_begin()'s users. */
static void use_slot(struct borrowed_thread *borrowed, uint64_t at)
{
	borrowed->call = at;
	borrowed->result = at + BORROWED_CODE_RESULT;
	borrowed->back = at + BORROWED_CODE_BACK;
	borrowed->end = at + BORROWED_CODE_END;
}

/* Chooses a place for the code, and one for scratch memory and frame, which has the same number. */
static int choose_addresses(struct tracee *t, size_t frame_bytes, struct err *err)
{
	struct borrowed_thread *borrowed = &t->borrowed;
	struct borrow_addresses p = { 0 };
	unsigned chosen = 2 * PLACES;

	find_addresses(t, &p);
	borrowed->others = false;
	/* Last to first, so that the kernel's code is preferred over the text's. */
	for (unsigned i = 2 * PLACES; i-- > 0;) {
		uint64_t end = i < PLACES ? p.vdso : p.text,
			 at = end - (i % PLACES + 1) * BORROWED_CODE_BYTES;
		enum slot slot = end ? look_at_slot(t, at) : SLOT_TAKEN;

		borrowed->others |= slot == SLOT_UNDER_WAY;
		if (slot != SLOT_FREE)
			continue;
		chosen = i;
		use_slot(borrowed, at);
	}
	if (chosen == 2 * PLACES)
		return err_set(err, ENOEXEC,
			       "process %d has no room behind its code to lend a thread",
			       (int)t->pid);
	borrowed->scratch = place_frame(&p, chosen % PLACES, TRACEE_SCRATCH + frame_bytes);
	borrowed->frame = borrowed->scratch + TRACEE_SCRATCH;
	return borrowed->scratch ? 0
				 : err_set(err, ENOMEM,
					   "process %d has no room on its stacks to lend a thread",
					   (int)t->pid);
}

/* --- which thread, and what it is ------------------------------------------------------------- */

/* Smaller is better: a thread in its own code, then one in a system call that begins anew, then one
 * in the midst of a sleep, whose restart block a further call would overwrite. */
static int thread_preference(const struct thread *th)
{
	if (!run_would_restart(&th->regs))
		return 0;
	return regs_result(&th->regs) == RESTART_BLOCK ? 2 : 1;
}

/* Returns the best thread that stands; NULL: none does. */
static struct thread *choose_thread(struct tracee *t)
{
	struct thread *best = NULL;

	for (size_t i = 0; i < t->threads.n; i++) {
		struct thread *th = &t->threads.at[i];

		if (th->stopped && (!best || thread_preference(th) < thread_preference(best)))
			best = th;
	}
	return best;
}

/* The kernel forgets that a thread is in a restartable sequence when it sees the thread elsewhere,
 * so rseq_cs is saved. */
static void save_rseq(struct tracee *t, struct borrowed_thread *borrowed)
{
	struct rseq_config config = { 0 };
	struct err ignored;

	borrowed->rseq_at = 0;
	if (ptrace((enum __ptrace_request)PTRACE_GET_RSEQ_CONFIGURATION, borrowed->th->tid,
		   sizeof(config), &config) < 0 ||
	    !config.pointer)
		return;
	if (tracee_read(t, config.pointer + RSEQ_CS, &borrowed->rseq_cs, sizeof(borrowed->rseq_cs),
			&ignored) == 0 &&
	    borrowed->rseq_cs)
		borrowed->rseq_at = config.pointer + RSEQ_CS;
}

/* Registers with which the thread goes on if the tracer dies: a system call begins again, a
 * restartable sequence is aborted. */
static struct user_regs_struct regs_alone(struct tracee *t, const struct borrowed_thread *borrowed)
{
	struct user_regs_struct regs = borrowed->th->regs;
	struct rseq_section s;
	struct err ignored;

	if (run_would_restart(&regs)) {
		regs_repeat_call(&regs);
	} else if (borrowed->rseq_at &&
		   tracee_read(t, borrowed->rseq_cs, &s, sizeof(s), &ignored) == 0 &&
		   regs_pc(&regs) - s.start < s.bytes) {
		regs_set_pc(&regs, s.abort);
	}
	return regs;
}

/* Reads what PTRACE_SETREGS does not bring back: signal mask, vector registers, restartable
 * sequence. */
static int read_state(struct tracee *t, struct borrowed_thread *borrowed, struct err *err)
{
	struct iovec vector = { borrowed->vectors, sizeof(borrowed->vectors) };
	pid_t tid = borrowed->th->tid;

	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(borrowed->mask), &borrowed->mask) < 0)
		return tracee_died(t, err);
	if (ptrace(PTRACE_GETREGSET, tid, REGS_VECTORS, &vector) < 0)
		return errno == ESRCH ? tracee_died(t, err)
				      : err_set(err, EIO,
						"cannot save the vector registers of thread %d: %s",
						(int)tid, strerror(errno));
	borrowed->n_vectors = vector.iov_len;
	save_rseq(t, borrowed);
	return 0;
}

/* Saves the bytes under scratch memory and frame, and writes the frame. */
static int put_frame(struct tracee *t, struct borrowed_thread *borrowed, struct err *err)
{
	uint8_t bytes[SIGFRAME_MAX];
	struct user_regs_struct regs = regs_alone(t, borrowed);
	size_t n = sigframe_build(bytes, borrowed->frame, &regs, borrowed->mask, borrowed->vectors,
				  borrowed->n_vectors);
	int r;

	vec_reserve(&borrowed->before, TRACEE_SCRATCH + n);
	borrowed->before.n = TRACEE_SCRATCH + n;
	r = tracee_read(t, borrowed->scratch, borrowed->before.at, borrowed->before.n, err);
	return r < 0 ? r : tracee_write(t, borrowed->frame, bytes, n, err);
}

/* --- taking and giving back ------------------------------------------------------------------- */

/* From here on the thread returns through the frame if we die. `call` replaces the
 * system call that it is in: REGS_NO_CALL keeps the kernel from restarting that. */
static int make_detour(struct tracee *t, const struct borrowed_thread *borrowed, int64_t call,
		       struct err *err)
{
	const uint64_t all = ~UINT64_C(0);
	struct user_regs_struct regs = borrowed->th->regs;

	regs_set_pc(&regs, borrowed->back);
	regs_replace_call(&regs, call);
	regs_set_sp(&regs, borrowed->frame);
	regs_set_flags(&regs);
	if (regs_put(borrowed->th->tid, &regs) < 0 ||
	    /* All signals are blocked until the frame restores the mask: a handler must not run on
	     * the borrowed stack. */
	    ptrace(PTRACE_SETSIGMASK, borrowed->th->tid, sizeof(all), &all) < 0)
		return tracee_died(t, err);
	return 0;
}

/* Borrows th. The order matters: state, places, frame, code, and only then the registers that lead
 * there. */
static int take_thread(struct tracee *t, struct thread *th, int64_t call, struct err *err)
{
	struct borrowed_thread *borrowed = &t->borrowed;
	int r;

	borrowed->th = th;
	borrowed->called = false;
	r = t->dead ? tracee_died(t, err) : read_state(t, borrowed, err);
	if (r == 0)
		r = choose_addresses(t, SIGFRAME_CONTEXT + borrowed->n_vectors + SIGFRAME_END, err);
	if (r == 0)
		r = put_frame(t, borrowed, err);
	if (r == 0)
		r = put_code(t, err);
	if (r == 0)
		r = make_detour(t, borrowed, call, err);
	if (r < 0)
		borrowed->th = NULL;
	return r;
}

int borrow_begin(struct tracee *t, struct err *err)
{
	struct thread *th = choose_thread(t);

	if (t->borrowed.th)
		return 0;
	if (!th)
		return err_set(err, EIO, "no thread of process %d stands still", (int)t->pid);
	return take_thread(t, th, REGS_NO_CALL, err);
}

/* The call at whose entry the thread stands is made in any case, so it is replaced by one that does
 * nothing and that a seccomp filter allows. */
int borrow_from_call(struct tracee *t, struct thread *th, struct err *err)
{
	int r = borrow_end(t, err);

	if (r < 0)
		return r;
	/* The program makes its call later. */
	regs_repeat_call(&th->regs);
	regs_replace_call(&th->regs, REGS_NO_CALL);
	r = take_thread(t, th, SYS_getpid, err);
	return r < 0 ? r : borrow_end(t, err);
}

/* Registers last: until then the frame is valid. The thread is at the stop that run_to_event_stop()
 * reached, since only there does the kernel decide about restarts from the registers. */
static int put_state(struct tracee *t, struct borrowed_thread *borrowed, struct err *err)
{
	struct iovec vector = { borrowed->vectors, borrowed->n_vectors };
	struct thread *th = borrowed->th;
	struct err ignored;

	/* Vector registers only if a function was called; system calls keep them. */
	if (borrowed->called)
		ptrace(PTRACE_SETREGSET, th->tid, REGS_VECTORS, &vector);
	if (borrowed->rseq_at)
		tracee_write(t, borrowed->rseq_at, &borrowed->rseq_cs, sizeof(borrowed->rseq_cs),
			     &ignored);
	if (ptrace(PTRACE_SETSIGMASK, th->tid, sizeof(borrowed->mask), &borrowed->mask) < 0 ||
	    regs_put(th->tid, &th->regs) < 0)
		return tracee_died(t, err);
	return 0;
}

/* Zeros after the code and the bytes under the frame come back. */
static void put_memory(struct tracee *t, const struct borrowed_thread *borrowed)
{
	static const uint8_t none[BORROWED_CODE_BYTES];
	struct err ignored;

	tracee_write(t, borrowed->call, none, sizeof(none), &ignored);
	tracee_write(t, borrowed->scratch, borrowed->before.at, borrowed->before.n, &ignored);
}

int borrow_end(struct tracee *t, struct err *err)
{
	struct borrowed_thread *borrowed = &t->borrowed;
	int r = 0;

	if (!borrowed->th)
		return 0;
	/* A thread that runs returns through the frame by itself. */
	if (t->dead || !borrowed->th->stopped)
		r = -EIO;
	if (r == 0)
		r = run_to_event_stop(t, borrowed->th, 0, err);
	if (r == 0)
		r = put_state(t, borrowed, err);
	if (r == 0)
		put_memory(t, borrowed);
	borrowed->th = NULL;
	return r;
}

/* SPDX-License-Identifier: MIT */
/* System calls and functions in a stopped process's name, made by a borrowed thread; on the
 * holder's thread. A failure half way gives the thread back at once, since it may stand
 * anywhere.
 *
 * Both run by PTRACE_SYSCALL, whose stops are no signals: a SIGTRAP from a breakpoint or a
 * single step would, in a program that blocks or ignores SIGTRAP, make the kernel reset that
 * program's disposition of it. If the tracer dies in the midst, the thread just goes on. A
 * called function returns to the borrowed thread's own way back, and the stop at the entry of
 * its system call is how we see it. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "arch/borrowed_code.h"
#include "tracee/internal.h"

static int set_regs(struct tracee *t, const struct user_regs_struct *regs, struct err *err)
{
	return regs_put(t->borrowed.th->tid, regs) < 0 ? tracee_died(t, err) : 0;
}

static int get_regs(struct tracee *t, struct user_regs_struct *regs, struct err *err)
{
	return regs_get(t->borrowed.th->tid, regs) < 0 ? tracee_died(t, err) : 0;
}

/* The thread got a signal instead of reaching a system call: SIGSEGV and the like are blamed on
 * what was called. */
static int err_faulted(struct tracee *t, int status, struct err *err)
{
	struct user_regs_struct regs = { 0 };
	siginfo_t info = { 0 };

	regs_get(t->borrowed.th->tid, &regs);
	ptrace(PTRACE_GETSIGINFO, t->borrowed.th->tid, NULL, &info);
	return err_set(
		err, EIO,
		"what was called in process %d ended with signal %d (%s) at %#llx, address %p",
		(int)t->pid, WSTOPSIG(status), sigabbrev_np(WSTOPSIG(status)),
		(unsigned long long)regs_pc(&regs), info.si_addr);
}

/* Runs to the next entry to, or exit from, a system call. */
static int run_to_call(struct tracee *t, struct err *err)
{
	int status, r = run_thread(t, t->borrowed.th, PTRACE_SYSCALL, 0, &status, err);

	if (r == 0 && WSTOPSIG(status) != TRAP_SYSCALL)
		r = err_faulted(t, status, err);
	return r;
}

/* Returns the thread's registers with the stack on the frame and flags as a function expects
 * them. */
static struct user_regs_struct regs_for(const struct borrowed_thread *borrowed)
{
	struct user_regs_struct regs = borrowed->th->regs;

	regs_replace_call(&regs, REGS_NO_CALL);
	regs_set_sp(&regs, borrowed->frame);
	regs_set_flags(&regs);
	return regs;
}

/* Makes one system call; *result is its return value, negative as the kernel gives it. */
static int do_syscall(struct tracee *t, long number, const uint64_t args[6], int64_t *result,
		      struct err *err)
{
	struct user_regs_struct regs = regs_for(&t->borrowed);
	int r;

	regs_begin_call(&regs, t->borrowed.call, number, args);
	r = set_regs(t, &regs, err);
	/* Two stops: the entry and the exit. */
	for (int stop = 0; r == 0 && stop < 2; stop++)
		r = run_to_call(t, err);
	if (r == 0)
		r = get_regs(t, &regs, err);
	*result = regs_result(&regs);
	return r;
}

/* After a failure half way the thread may stand anywhere, so it is given back. */
static int end_call(struct tracee *t, int r)
{
	struct err ignored;

	if (r < 0)
		borrow_end(t, &ignored);
	return r;
}

int tracee_syscall(struct tracee *t, long number, const uint64_t args[6], int64_t *result,
		   struct err *err)
{
	int r = borrow_begin(t, err);

	return r < 0 ? r : end_call(t, do_syscall(t, number, args, result, err));
}

/* The function's own system calls stop, too, at entry and exit, and are let on. */
static int run_to_return(struct tracee *t, struct user_regs_struct *regs, struct err *err)
{
	for (bool entry = true;; entry = !entry) {
		int r = run_to_call(t, err);

		if (r == 0)
			r = get_regs(t, regs, err);
		if (r < 0 ||
		    (entry && regs_pc(regs) == t->borrowed.end &&
		     regs_sp(regs) == t->borrowed.frame))
			return r;
	}
}

/* Calls the function with four arguments on the given stack, and waits until it has returned. */
static int do_call(struct tracee *t, uint64_t function, const uint64_t args[4], uint64_t stack_top,
		   uint64_t *result, struct err *err)
{
	struct user_regs_struct regs = regs_for(&t->borrowed);
	/* Named in the frame, so that a later tracer knows that the call is under way if we die. */
	const uint64_t link = (uint64_t)t->borrowed.th->tid;
	const uint64_t back = t->borrowed.result;
	uint64_t at = regs_begin_function(&regs, function, args, stack_top, back);
	int r = at ? tracee_write(t, at, &back, sizeof(back), err) : 0;

	if (r == 0)
		r = tracee_write(t, t->borrowed.frame + SIGFRAME_LINK, &link, sizeof(link), err);
	if (r == 0)
		r = set_regs(t, &regs, err);
	if (r == 0)
		r = run_to_return(t, &regs, err);
	if (r < 0)
		return r;
	*result = borrowed_code_result(&regs);
	/* The call at whose entry the thread stands has to be one that a seccomp filter allows. */
	regs_replace_call(&regs, SYS_getpid);
	regs_set_pc(&regs, t->borrowed.back);
	r = set_regs(t, &regs, err);
	return r < 0 ? r : run_to_call(t, err);
}

int tracee_call(struct tracee *t, uint64_t function, const uint64_t args[4], uint64_t stack_top,
		uint64_t *result, struct err *err)
{
	int r = borrow_begin(t, err);

	if (r == 0 && t->borrowed.others)
		r = err_set(
			err, EAGAIN,
			"process %d has not ended yet what a tracer began that was killed: try again",
			(int)t->pid);
	if (r < 0)
		return r;
	t->borrowed.called = true;
	return end_call(t, do_call(t, function, args, stack_top, result, err));
}

int tracee_scratch(struct tracee *t, uint64_t *at, struct err *err)
{
	int r = borrow_begin(t, err);

	*at = t->borrowed.scratch;
	return r;
}

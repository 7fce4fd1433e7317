/* Borrows a thread of the process to make a system call or to call a function.
 *
 * Both are run by PTRACE_SYSCALL, whose stops are no signals: a SIGTRAP from a breakpoint or a
 * single step would, in a program that blocks or ignores SIGTRAP, make the kernel reset that
 * program's disposition of it. A called function returns to a `syscall` instruction, and the stop at
 * its entry is how we see it come back. */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tracee/internal.h"

#define XSTATE_MAX 16384
#define RSEQ_CS 8           /* offset in struct rseq */
#define FLAGS_AT_CALL 0x202 /* interrupts on, direction forward */
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

/* What is put back when the thread is given back. */
struct loan {
	struct thread *th;
	uint64_t mask;
	uint64_t rseq_at, rseq_cs;
};

struct rseq_config {
	uint64_t pointer;
	uint32_t size, signature, flags, pad;
};

/* The kernel's own page has one, and so has any program that ever did a system call. */
static int find_syscall(struct tracee *t, struct err *err)
{
	static const uint8_t instruction[2] = { 0x0f, 0x05 };

	if (!t->syscall_at)
		t->syscall_at = code_find(t, true, instruction, sizeof(instruction));
	if (!t->syscall_at)
		t->syscall_at = code_find(t, false, instruction, sizeof(instruction));
	return t->syscall_at ? 0 : err_set(err, ENOEXEC, "process %d has no system call instruction to borrow", (int)t->pid);
}

/* --- borrowing ------------------------------------------------------------------------------ */

/* Smaller is better: a thread in its own code, then one in a system call that begins anew, then one
 * in the midst of a sleep. */
static int preference(const struct thread *th)
{
	if (!regs_restart(&th->regs))
		return 0;
	return (int64_t)th->regs.rax == RESTART_BLOCK ? 2 : 1;
}

static struct thread *choose(struct tracee *t)
{
	struct thread *best = NULL;

	for (size_t i = 0; i < t->threads.n; i++) {
		struct thread *th = &t->threads.at[i];

		if (th->stopped && (!best || preference(th) < preference(best)))
			best = th;
	}
	return best;
}

/* The kernel forgets that a thread is in a restartable sequence when it sees it elsewhere. */
static void save_rseq(struct tracee *t, struct loan *loan)
{
	struct rseq_config config = { 0 };
	struct err ignored;

	loan->rseq_at = 0;
	if (ptrace((enum __ptrace_request)PTRACE_GET_RSEQ_CONFIGURATION, loan->th->tid, sizeof(config), &config) < 0 ||
	    !config.pointer)
		return;
	if (tracee_read(t, config.pointer + RSEQ_CS, &loan->rseq_cs, sizeof(loan->rseq_cs), &ignored) == 0 &&
	    loan->rseq_cs)
		loan->rseq_at = config.pointer + RSEQ_CS;
}

static int borrow(struct tracee *t, struct loan *loan, struct err *err)
{
	const uint64_t all = ~UINT64_C(0);
	int r;

	loan->th = choose(t);
	if (!loan->th)
		return err_set(err, EIO, "no thread of process %d stands still", (int)t->pid);
	r = find_syscall(t, err);
	if (t->dead || ptrace(PTRACE_GETSIGMASK, loan->th->tid, sizeof(loan->mask), &loan->mask) < 0)
		return tracee_died(t, err);
	if (r < 0)
		return r;
	save_rseq(t, loan);
	if (ptrace(PTRACE_SETSIGMASK, loan->th->tid, sizeof(all), &all) < 0)
		return tracee_died(t, err);
	return 0;
}

/* Registers last: only at the stop that run_settle reaches does the kernel decide about restarts. */
static int give_back(struct tracee *t, struct loan *loan, struct err *err)
{
	struct thread *th = loan->th;
	struct err ignored;
	int r;

	if (t->dead || !th->stopped)
		return -EIO;
	r = run_settle(t, th, 0, err);
	if (r < 0)
		return r;
	if (loan->rseq_at)
		tracee_write(t, loan->rseq_at, &loan->rseq_cs, sizeof(loan->rseq_cs), &ignored);
	if (ptrace(PTRACE_SETREGS, th->tid, NULL, &th->regs) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, th->tid, sizeof(loan->mask), &loan->mask) < 0)
		return tracee_died(t, err);
	return 0;
}

/* --- running -------------------------------------------------------------------------------- */

static int set_regs(struct tracee *t, const struct thread *th, const struct user_regs_struct *regs, struct err *err)
{
	return ptrace(PTRACE_SETREGS, th->tid, NULL, regs) < 0 ? tracee_died(t, err) : 0;
}

static int get_regs(struct tracee *t, const struct thread *th, struct user_regs_struct *regs, struct err *err)
{
	return ptrace(PTRACE_GETREGS, th->tid, NULL, regs) < 0 ? tracee_died(t, err) : 0;
}

static int faulted(struct tracee *t, const struct thread *th, int status, struct err *err)
{
	struct user_regs_struct regs = { 0 };
	siginfo_t info = { 0 };

	ptrace(PTRACE_GETREGS, th->tid, NULL, &regs);
	ptrace(PTRACE_GETSIGINFO, th->tid, NULL, &info);
	return err_set(err, EIO, "what was called in process %d ended with signal %d (%s) at %#llx, address %p", (int)t->pid,
		       WSTOPSIG(status), sigabbrev_np(WSTOPSIG(status)), regs.rip, info.si_addr);
}

/* On to the next entry to, or exit from, a system call. */
static int run_to_call(struct tracee *t, struct thread *th, struct err *err)
{
	int status, r = run_thread(t, th, PTRACE_SYSCALL, 0, &status, err);

	if (r == 0 && WSTOPSIG(status) != TRAP_SYSCALL)
		r = faulted(t, th, status, err);
	return r;
}

static int do_syscall(struct tracee *t, struct thread *th, long number, const uint64_t args[6], int64_t *result,
		      struct err *err)
{
	struct user_regs_struct regs = th->regs;
	int r;

	regs.rip = t->syscall_at;
	regs.orig_rax = ~UINT64_C(0); /* no restart of what the thread was in */
	regs.rax = (uint64_t)number;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	regs.eflags = FLAGS_AT_CALL;
	r = set_regs(t, th, &regs, err);
	for (int stop = 0; r == 0 && stop < 2; stop++)
		r = run_to_call(t, th, err);
	if (r == 0)
		r = get_regs(t, th, &regs, err);
	*result = (int64_t)regs.rax;
	return r;
}

int tracee_syscall(struct tracee *t, long number, const uint64_t args[6], int64_t *result, struct err *err)
{
	struct loan loan;
	struct err ignored;
	int r = borrow(t, &loan, err), back;

	if (r < 0)
		return r;
	r = do_syscall(t, loan.th, number, args, result, err);
	back = give_back(t, &loan, r < 0 ? &ignored : err);
	return r < 0 ? r : back;
}

/* The function's own system calls stop too, on entry and exit, and are let on. */
static int run_to_return(struct tracee *t, struct thread *th, uint64_t stack, struct user_regs_struct *regs, struct err *err)
{
	for (bool entry = true;; entry = !entry) {
		int r = run_to_call(t, th, err);

		if (r == 0)
			r = get_regs(t, th, regs, err);
		if (r < 0 || (entry && regs->rip == t->syscall_at + 2 && regs->rsp == stack))
			return r;
	}
}

static int do_call(struct tracee *t, struct thread *th, uint64_t function, const uint64_t args[4], uint64_t stack_top,
		   uint64_t *result, struct err *err)
{
	struct user_regs_struct regs = th->regs;
	uint64_t stack = stack_top & ~UINT64_C(15);
	int r;

	regs.rip = function;
	regs.orig_rax = ~UINT64_C(0);
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.rcx = args[3];
	regs.rax = regs.rbp = 0;
	regs.rsp = stack - 8;
	regs.eflags = FLAGS_AT_CALL;
	r = tracee_write(t, regs.rsp, &t->syscall_at, sizeof(t->syscall_at), err);
	if (r == 0)
		r = set_regs(t, th, &regs, err);
	if (r == 0)
		r = run_to_return(t, th, stack, &regs, err);
	if (r < 0)
		return r;
	*result = regs.orig_rax;
	/* The call that this stop is about has to be one that a seccomp filter lets through. */
	regs.orig_rax = SYS_getpid;
	return set_regs(t, th, &regs, err);
}

int tracee_call(struct tracee *t, uint64_t function, const uint64_t args[4], uint64_t stack_top, uint64_t *result,
		struct err *err)
{
	uint8_t xstate[XSTATE_MAX];
	struct iovec vectors = { xstate, sizeof(xstate) };
	struct loan loan;
	struct err ignored;
	int r = borrow(t, &loan, err), back;

	if (r < 0)
		return r;
	if (ptrace(PTRACE_GETREGSET, loan.th->tid, NT_X86_XSTATE, &vectors) < 0)
		r = err_set(err, EIO, "cannot save the vector registers of thread %d: %s", (int)loan.th->tid, strerror(errno));
	if (r == 0)
		r = do_call(t, loan.th, function, args, stack_top, result, err);
	back = give_back(t, &loan, r < 0 ? &ignored : err);
	if (back == 0)
		ptrace(PTRACE_SETREGSET, loan.th->tid, NT_X86_XSTATE, &vectors);
	return r < 0 ? r : back;
}

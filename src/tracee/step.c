/* One instruction of one thread, as the program would have executed it. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "tracee/internal.h"

#define FLAG_TRAP UINT64_C(0x100)
#define BIT(signal) (UINT64_C(1) << ((signal) - 1))
/* What an instruction can cause. If it were blocked, the kernel would end the program. */
#define SYNCHRONOUS (BIT(SIGTRAP) | BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE))

enum outcome { STEP_DONE, STEP_FAULT, STEP_SIGNAL };

static enum outcome judge(const struct thread *th, int status)
{
	siginfo_t info = { 0 };

	ptrace(PTRACE_GETSIGINFO, th->tid, NULL, &info);
	if (info.si_code <= 0)
		return STEP_SIGNAL;
	if (WSTOPSIG(status) == SIGTRAP && (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT))
		return STEP_DONE;
	return STEP_FAULT;
}

/* pushf shows the flag by which the processor was told to stop after it. */
static void hide_trap_flag(struct tracee *t, const struct thread *th, const uint8_t code[2])
{
	uint64_t flags;
	struct err ignored;

	if ((code[0] == 0x9c || (code[0] == 0x66 && code[1] == 0x9c)) &&
	    tracee_read(t, th->regs.rsp, &flags, sizeof(flags), &ignored) == 0) {
		flags &= ~FLAG_TRAP;
		tracee_write(t, th->regs.rsp, &flags, sizeof(flags), &ignored);
	}
}

/* A fault is the program's: its handler's first instruction is where the thread goes on. A signal
 * from outside goes back into the queue, blocked as it is. */
static int finish(struct tracee *t, struct thread *th, int status, uint64_t mask, uint64_t blocked, struct err *err)
{
	enum outcome outcome = judge(th, status);
	uint64_t now = outcome == STEP_SIGNAL ? blocked | BIT(WSTOPSIG(status)) : mask;
	int r = 0;

	if (ptrace(PTRACE_SETSIGMASK, th->tid, sizeof(now), &now) < 0)
		return tracee_died(t, err);
	if (outcome != STEP_DONE)
		r = run_settle(t, th, WSTOPSIG(status), err);
	if (r == 0 && (ptrace(PTRACE_GETREGS, th->tid, NULL, &th->regs) < 0 ||
		       (outcome == STEP_SIGNAL && ptrace(PTRACE_SETSIGMASK, th->tid, sizeof(mask), &mask) < 0)))
		return tracee_died(t, err);
	return r == 0 && outcome == STEP_SIGNAL ? -EBUSY : r;
}

int tracee_step(struct tracee *t, size_t i, struct err *err)
{
	struct thread *th = &t->threads.at[i];
	uint64_t mask, blocked = ~SYNCHRONOUS;
	uint8_t code[2] = { 0 };
	struct err ignored;
	int status, r;

	if (t->dead)
		return tracee_died(t, err);
	if (regs_restart(&th->regs) || !th->stopped)
		return err_set(err, EBUSY, "thread %d is in a system call", (int)th->tid);
	if (th->moved)
		ptrace(PTRACE_SETREGS, th->tid, NULL, &th->regs);
	tracee_read(t, th->regs.rip, code, sizeof(code), &ignored);
	if (ptrace(PTRACE_GETSIGMASK, th->tid, sizeof(mask), &mask) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, th->tid, sizeof(blocked), &blocked) < 0)
		return tracee_died(t, err);
	r = run_thread(t, th, PTRACE_SINGLESTEP, 0, &status, err);
	if (r == 0)
		r = finish(t, th, status, mask, blocked, err);
	if (r == 0)
		hide_trap_flag(t, th, code);
	return r;
}

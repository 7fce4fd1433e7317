/* One instruction of one thread, as the program would have executed it. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tracee/internal.h"
#include "tracee/proc_status.h"

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

/* --- SIGTRAP ignored ------------------------------------------------------------------------ */

/* The kernel resets an ignored SIGTRAP when a step causes one. So it is asked for, with the memory
 * behind the red zone of the borrowed thread's stack, and set again before the process goes on. */
static int trap_action(struct tracee *t, bool set, struct err *err)
{
	const struct thread *th = &t->threads.at[0];
	uint64_t at = ((th->regs.rsp - 128) & ~UINT64_C(15)) - 64;
	uint64_t args[6] = { SIGTRAP, set ? at : 0, set ? 0 : at, 8 };
	struct saved_action *s = &t->trap_action;
	int64_t result = 0;
	int r = set ? tracee_write(t, at, &s->action, sizeof(s->action), err) : 0;

	if (r == 0)
		r = tracee_syscall(t, SYS_rt_sigaction, args, &result, err);
	if (r == 0 && !set)
		r = tracee_read(t, at, &s->action, sizeof(s->action), err);
	return r == 0 && result < 0 ? (int)result : r;
}

static int keep_trap_action(struct tracee *t, struct err *err)
{
	struct proc_status status;
	int r;

	if (t->trap_action.saved || proc_status_read(t->threads.at[0].tid, &status) < 0 ||
	    !(status.sig_ignored & BIT(SIGTRAP)))
		return 0;
	r = trap_action(t, false, err);
	t->trap_action.saved = r == 0;
	return r;
}

void step_undo(struct tracee *t)
{
	struct err ignored;

	if (t->trap_action.saved && !t->dead)
		trap_action(t, true, &ignored);
}

/* --- stepping ------------------------------------------------------------------------------- */

/* A step into the kernel may take long, and may change the mask that we are about to put back. */
static bool enters_kernel(const uint8_t code[2])
{
	return (code[0] == 0x0f && (code[1] == 0x05 || code[1] == 0x34)) || (code[0] == 0xcd && code[1] == 0x80);
}

static int step(struct tracee *t, struct thread *th, const uint8_t code[2], struct err *err)
{
	uint64_t mask, blocked = ~SYNCHRONOUS;
	int status, r;

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

int tracee_step(struct tracee *t, size_t i, struct err *err)
{
	struct thread *th = &t->threads.at[i];
	uint8_t code[2] = { 0 };
	struct err ignored;
	int r;

	if (t->dead)
		return tracee_died(t, err);
	tracee_read(t, th->regs.rip, code, sizeof(code), &ignored);
	if (!th->stopped || regs_restart(&th->regs) || enters_kernel(code))
		return err_set(err, EBUSY, "thread %d is in a system call", (int)th->tid);
	r = keep_trap_action(t, err);
	if (r < 0)
		return r;
	if (th->moved)
		ptrace(PTRACE_SETREGS, th->tid, NULL, &th->regs);
	return step(t, th, code, err);
}

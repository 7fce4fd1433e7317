/* SPDX-License-Identifier: MIT */
/* Runs one thread of a stopped process until a system call, a trap or a stop, on the holder's
 * thread. A thread that does not come back within TRACEE_STOP_MS is interrupted; one that ends
 * makes the whole tracee dead. -EIO and a sentence where the process is dead. */
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tracee/internal.h"

/* -EIO and *err. From then on every call for this tracee fails at once. */
int tracee_died(struct tracee *t, struct err *err)
{
	t->dead = true;
	return err_set(err, EIO, "process %d ended while it was held", (int)t->pid);
}

/* Signals that stop a whole group: they are delivered again, so that the program's job control
 * stays right. */
static bool is_job_signal(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* Asks for a stop of a thread that has been running too long. */
static int call_back(struct tracee *t, struct thread *th, struct err *err)
{
	int status, r;

	ptrace(PTRACE_INTERRUPT, th->tid, NULL, NULL);
	r = wait_thread(&t->ticks, th->tid, tracee_clock_ns() + TRACEE_STOP_MS * UINT64_C(1000000),
			&status);
	if (r < 0 || (r > 0 && !WIFSTOPPED(status)))
		return tracee_died(t, err);
	th->stopped = r > 0;
	return err_set(err, EIO, "thread %d of process %d did not come back within %d ms",
		       (int)th->tid, (int)t->pid, TRACEE_STOP_MS);
}

/* 0: *status is the stop that was waited for. One deadline holds for all stops that are passed
 * over. */
int run_thread(struct tracee *t, struct thread *th, int request, int signal, int *status,
	       struct err *err)
{
	uint64_t deadline = tracee_clock_ns() + TRACEE_STOP_MS * UINT64_C(1000000);

	for (;;) {
		int r;

		if (t->dead || ptrace(request, th->tid, NULL, (void *)(intptr_t)signal) < 0)
			return tracee_died(t, err);
		r = wait_thread(&t->ticks, th->tid, deadline, status);
		if (r == 0)
			return call_back(t, th, err);
		if (r < 0 || !WIFSTOPPED(*status))
			return tracee_died(t, err);
		if (wait_is_event_stop(*status) && request != PTRACE_CONT)
			signal = 0; /* the group stops or continues: not the stop we wait for */
		else if (!wait_is_event_stop(*status) && is_job_signal(WSTOPSIG(*status)))
			signal = WSTOPSIG(*status);
		else
			return 0;
	}
}

/* The interrupt is pending before the thread goes on, and the kernel looks at it before it takes
 * another signal: no instruction of the program is executed. */
int run_to_event_stop(struct tracee *t, struct thread *th, int signal, struct err *err)
{
	int status, r;

	for (;;) {
		if (ptrace(PTRACE_INTERRUPT, th->tid, NULL, NULL) < 0)
			return tracee_died(t, err);
		r = run_thread(t, th, PTRACE_CONT, signal, &status, err);
		if (r < 0 || wait_is_event_stop(status))
			return r;
		signal = WSTOPSIG(status) == TRAP_SYSCALL ? 0 : WSTOPSIG(status);
	}
}

/* The values are the kernel's ERESTART codes, which programs never see. */
bool run_would_restart(const struct user_regs_struct *regs)
{
	int64_t result = regs_result(regs);

	return regs_call(regs) >= 0 && (result == RESTART_SYS || result == RESTART_NOINTR ||
					result == RESTART_NOHAND || result == RESTART_BLOCK);
}

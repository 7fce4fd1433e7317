/* SPDX-License-Identifier: MIT */
/* Lets some threads of a stopped process run for a moment while the others stand, so that they
 * leave code that is to be changed. inject/ calls it on the holder's thread. They run by
 * PTRACE_SYSCALL, so that they make no system call but harmless ones: no new thread, no new
 * program, nothing that waits. A thread that is gone is forgotten. */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tracee/internal.h"

#define LOOK_NS 30000 /* interval of looks at the used time */
#define WAIT_NS 5000000 /* limit of the wait for a processor */

/* Returns how many threads run now, stragglers included. */
static size_t set_going(struct tracee *t, const bool *which)
{
	size_t n = 0;

	for (size_t i = 0; i < t->threads.n; i++) {
		struct thread *th = &t->threads.at[i];

		if (which[i] && th->stopped)
			th->stopped = ptrace(PTRACE_SYSCALL, th->tid, NULL, NULL) < 0;
		n += !th->stopped;
	}
	return n;
}

/* The process's own clock: it stands while no thread of it has a processor, however busy the
 * machine is. */
static uint64_t processor_ns(pid_t pid)
{
	struct timespec used = { 0, 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) == 0)
		clock_gettime(clock, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* All other threads of the process stand, so the process's time is that of these. */
static void wait_used(const struct tracee *t, uint64_t ns)
{
	const struct timespec nap = { 0, LOOK_NS };
	uint64_t began = processor_ns(t->pid), deadline = tracee_clock_ns() + WAIT_NS;

	do {
		nanosleep(&nap, NULL);
	} while (processor_ns(t->pid) - began < ns && tracee_clock_ns() < deadline);
}

/* Calls that neither wait nor change anything beyond the thread; the agent makes them. */
static bool is_harmless(uint64_t number)
{
	return number == SYS_rt_sigprocmask || number == SYS_rt_sigreturn || number == SYS_gettid ||
	       number == SYS_getpid || number == SYS_getcpu;
}

/* The call is made if it is harmless or cannot be taken back. */
static bool stop_at_call(struct tracee *t, struct thread *th)
{
	struct err ignored;

	th->stopped = true;
	if (regs_get(th->tid, &th->regs) < 0)
		return false;
	if ((is_harmless((uint64_t)regs_call(&th->regs)) ||
	     borrow_from_call(t, th, &ignored) < 0) &&
	    run_to_event_stop(t, th, 0, &ignored) == 0)
		hold_thread_stands(th);
	return true;
}

/* Returns false if the thread is gone. */
static bool stop_again(struct tracee *t, struct thread *th, uint64_t deadline)
{
	for (;;) {
		int status, r = wait_thread(&t->ticks, th->tid, deadline, &status);

		if (r == 0)
			return true; /* a straggler: not let go before it stops */
		if (r < 0 || !WIFSTOPPED(status))
			return false;
		if (wait_is_event_stop(status)) {
			hold_thread_stands(th);
			return true;
		}
		if (WSTOPSIG(status) == TRAP_SYSCALL)
			return stop_at_call(t, th);
		ptrace(PTRACE_SYSCALL, th->tid, NULL, (void *)(intptr_t)WSTOPSIG(status));
	}
}

void tracee_let_run(struct tracee *t, const bool *which, uint64_t ns)
{
	struct err ignored;
	uint64_t deadline;

	if (t->dead || borrow_end(t, &ignored) < 0)
		return;
	wait_used(t, ns * set_going(t, which));
	/* Stops are asked for all at once, then awaited. */
	deadline = tracee_clock_ns() + TRACEE_STOP_MS * UINT64_C(1000000);
	for (size_t i = 0; i < t->threads.n; i++)
		if (!t->threads.at[i].stopped)
			ptrace(PTRACE_INTERRUPT, t->threads.at[i].tid, NULL, NULL);
	for (size_t i = t->threads.n; i-- > 0;)
		if (!t->threads.at[i].stopped && !stop_again(t, &t->threads.at[i], deadline))
			t->threads.at[i] = t->threads.at[--t->threads.n];
	t->dead |= t->threads.n == 0;
}

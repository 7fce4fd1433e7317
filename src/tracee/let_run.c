/* SPDX-License-Identifier: MIT */
/* Some threads of a held process run for a moment while the others stand: to leave a place where none may
 * be. By PTRACE_SYSCALL, so that they come to no system call but harmless ones: no new thread, no new
 * program, nothing that waits. */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tracee/internal.h"

#define LOOK_NS 30000
#define WAIT_NS 5000000 /* for a processor */

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

static uint64_t processor_ns(pid_t pid)
{
	struct timespec used = { 0, 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) == 0)
		clock_gettime(clock, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* The others of the process stand: what it uses, they use. */
static void wait_used(const struct tracee *t, uint64_t ns)
{
	const struct timespec nap = { 0, LOOK_NS };
	uint64_t began = processor_ns(t->pid), deadline = clock_ns() + WAIT_NS;

	do {
		nanosleep(&nap, NULL);
	} while (processor_ns(t->pid) - began < ns && clock_ns() < deadline);
}

static bool is_harmless(uint64_t number)
{
	return number == SYS_rt_sigprocmask || number == SYS_rt_sigreturn || number == SYS_gettid ||
	       number == SYS_getpid || number == SYS_getcpu;
}

/* A call that is not to be taken back, or cannot be, is made. */
static bool stop_at_call(struct tracee *t, struct thread *th)
{
	struct err ignored;

	th->stopped = true;
	if (ptrace(PTRACE_GETREGS, th->tid, NULL, &th->regs) < 0)
		return false;
	if ((is_harmless(th->regs.orig_rax) || borrow_from_call(t, th, &ignored) < 0) &&
	    run_settle(t, th, 0, &ignored) == 0)
		thread_stands(th);
	return true;
}

/* false: it is gone. */
static bool stop_again(struct tracee *t, struct thread *th, uint64_t deadline)
{
	for (;;) {
		int status, r = wait_thread(&t->ticks, th->tid, deadline, &status);

		if (r == 0)
			return true; /* and is not let go before it stops */
		if (r < 0 || !WIFSTOPPED(status))
			return false;
		if (is_event_stop(status)) {
			thread_stands(th);
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
	deadline = clock_ns() + TRACEE_STOP_MS * UINT64_C(1000000);
	for (size_t i = 0; i < t->threads.n; i++)
		if (!t->threads.at[i].stopped)
			ptrace(PTRACE_INTERRUPT, t->threads.at[i].tid, NULL, NULL);
	for (size_t i = t->threads.n; i-- > 0;)
		if (!t->threads.at[i].stopped && !stop_again(t, &t->threads.at[i], deadline))
			t->threads.at[i] = t->threads.at[--t->threads.n];
	t->dead |= t->threads.n == 0;
}

/* SPDX-License-Identifier: MIT */
/* Shared by the files of this folder: the threads of a stopped process, and the ways to make one of
 * them run to its next stop.
 *
 * A stopped thread stands in PTRACE_EVENT_STOP (from PTRACE_INTERRUPT), inside the kernel's signal
 * code: the kernel decides after the stop, from the registers we leave there, whether an
 * interrupted system call restarts. Every operation that ran a thread elsewhere brings it back to
 * such a stop (run_to_event_stop()), so that restarts and signals work out as if the thread had
 * never been moved.
 *
 * We may die at any moment, and the kernel then lets every thread go as it stands. So none may ever
 * stand where it could not go on: no single step (its SIGTRAP would end the program), no registers
 * that lead nowhere (borrow.h), no signal mask or disposition that a later step was to put back. */
#pragma once
#include <signal.h>
#include <sys/ptrace.h>
#include <time.h>

#include "base/vec.h"
#include "tracee/borrow.h"
#include "tracee/served.h"
#include "tracee/tracee.h"

/* Results of an interrupted system call that the kernel means to restart. */
enum { RESTART_SYS = -512, RESTART_NOINTR = -513, RESTART_NOHAND = -514, RESTART_BLOCK = -516 };

#define TRAP_SYSCALL (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */

struct thread {
	pid_t tid;
	bool stopped;
	uint64_t asked_at; /* when it was asked to stop; CLOCK_MONOTONIC, ns */
	struct user_regs_struct regs;
};

/* A timer that interrupts waits; it belongs to the thread that began it. */
struct ticks {
	bool began;
	timer_t timer;
	sigset_t mask;
	pid_t keep; /* a child of ours: its end is for others to wait for */
};

/* The kernel's struct sched_attr. */
struct boost_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* Priority of the calling thread before boost_begin(). */
struct boost {
	bool raised;
	struct boost_attr before;
};

struct tracee {
	pid_t pid;
	bool dead;
	bool may_give_up; /* its stop ends with tracee_give_up() */
	struct ticks ticks;
	VEC(struct thread) threads;
	int mem;         /* /proc/TID/mem */
	struct served served; /* looked at by the first access to its memory */
	struct boost boost;
	struct borrowed_thread borrowed;
};

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t tracee_clock_ns(void);

/* Waits for the thread's next stop or end. Both return 1: *status is waitpid's; 0: not within 10 ms
 * (or before the deadline, of tracee_clock_ns()); -ESRCH: there is no such thread any more. */
int wait_tick(struct ticks *ticks, pid_t tid, int *status);
int wait_thread(struct ticks *ticks, pid_t tid, uint64_t deadline, int *status);
/* waitpid(), except that the end of the process to be kept is reported as ECHILD and left for
 * others to wait for. */
pid_t wait_now(const struct ticks *ticks, pid_t tid, int *status, int options);
/* Raise the calling thread's priority, and restore it. */
void boost_begin(struct boost *u);
void boost_end(struct boost *u);
/* Create and delete the timer. -errno and *err. */
int wait_ticks_begin(struct ticks *ticks, struct err *err);
void wait_ticks_end(struct ticks *ticks);
/* Makes a signal handler call `call` every 10 ms from now on; NULL: no more. No wait_*()
 * meanwhile. */
void wait_ticks_during(struct ticks *ticks, void (*call)(void *), void *of);
bool wait_has_ended(pid_t tid); /* true if it can be waited for */

/* Whether waitpid()'s status is that of PTRACE_EVENT_STOP, the stop of a seized thread. */
static inline bool wait_is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

/* Lets the thread run by `request` (PTRACE_CONT, PTRACE_SYSCALL) to its next stop, and gives it
 * `signal` (0: none). Stops for SIGSTOP and its like are passed on. Returns 0 and *status, or
 * -errno and *err. */
int run_thread(struct tracee *t, struct thread *th, int request, int signal, int *status,
	       struct err *err);
/* Brings the thread from any stop to PTRACE_EVENT_STOP; `signal` (or 0) goes to the program on the
 * way. */
int run_to_event_stop(struct tracee *t, struct thread *th, int signal, struct err *err);
/* Notes that the process died. Returns -EIO and *err. */
int tracee_died(struct tracee *t, struct err *err);

/* Returns the address of these bytes (at most 64) in the code of the process, in the vdso or in the
 * rest; 0: nowhere. */
uint64_t code_find(struct tracee *t, bool vdso, const void *bytes, size_t n);
int hold_open_memory(struct tracee *t, struct err *err);
/* Notes the registers of a thread that came to PTRACE_EVENT_STOP. */
void hold_thread_stands(struct thread *th);
/* Takes waitpid's status of a thread that was asked to stop. Returns 1: it stands; 0: not yet; -1:
 * it is gone. */
int hold_take_status(struct thread *th, int status);

/* Notes that a thread of process pid was asked to stop and has not: the calling holder lets it go
 * when it stops. Does nothing outside of a holder. */
void stragglers_add(pid_t pid, pid_t keep, const struct thread *th);
pid_t stragglers_of(pid_t pid); /* a thread of pid that a holder still waits for; 0: none */
void stragglers_await(void);    /* returns when none of the calling holder's is left */

/* True in a holder's thread. */
bool holder_is_here(void);
/* Call after threads of t were asked to stop: gives the caller, if it is among them, the early
 * answer without which it cannot stop. */
void holder_answer(const struct tracee *t);
/* True for the caller, which stands and is not to be let go yet. */
bool holder_keep(const struct tracee *t, const struct thread *th);
void holder_take(struct tracee *t); /* adds the kept caller to t, if it is t's */

/* True if a system call that was interrupted in the thread would restart. */
bool run_would_restart(const struct user_regs_struct *regs);

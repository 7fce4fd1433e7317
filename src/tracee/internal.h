/* SPDX-License-Identifier: MIT */
/* What the files of this folder share: the threads of a held process, and how one of them is made
 * to run to its next stop.
 *
 * A held thread stands in PTRACE_EVENT_STOP (from PTRACE_INTERRUPT), inside the kernel's signal code:
 * whatever system call was under way, its restart is decided after the stop from the registers we leave
 * there. Every operation that ran a thread elsewhere brings it back to such a stop (run_settle), so that
 * restarts and signals work out as if the thread had never been moved.
 *
 * We may die at any moment, and the kernel then lets every thread go as it stands. So none may ever stand
 * where it could not go on: no single step (its SIGTRAP would be the program's end), no registers that
 * lead nowhere (borrow.h), no mask or disposition of signals that a later step was to put back. */
#pragma once
#include <signal.h>
#include <sys/ptrace.h>
#include <time.h>

#include "base/vec.h"
#include "tracee/borrow.h"
#include "tracee/tracee.h"

/* What the kernel leaves in rax of a system call that it means to take up again. */
enum { RESTART_SYS = -512, RESTART_NOINTR = -513, RESTART_NOHAND = -514, RESTART_BLOCK = -516 };

#define TRAP_SYSCALL (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */

struct thread {
	pid_t tid;
	bool stopped;
	uint64_t asked_at; /* to stop; CLOCK_MONOTONIC, ns */
	struct user_regs_struct regs;
};

/* What ends a wait that takes too long. Belongs to the thread that began it. */
struct ticks {
	bool began;
	timer_t timer;
	sigset_t mask;
	pid_t keep; /* a child of ours: its end is for others to wait for */
};

/* As sched_getattr gives it. */
struct boost_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* The calling thread goes before others. */
struct boost {
	bool raised;
	struct boost_attr before;
};

struct tracee {
	pid_t pid;
	bool dead;
	struct ticks ticks;
	VEC(struct thread) threads;
	int mem;         /* /proc/TID/mem */
	struct boost boost;
	struct borrowed_thread borrowed;
};

uint64_t clock_ns(void); /* CLOCK_MONOTONIC */

/* Waits for the thread's next stop or end. 1: *status as waitpid gives it; 0: not within 10 ms (or
 * before the deadline); -ESRCH: there is no such thread any more. */
int wait_tick(struct ticks *ticks, pid_t tid, int *status);
int wait_thread(struct ticks *ticks, pid_t tid, uint64_t deadline, int *status);
/* waitpid, but the end of what is to be kept is told by ECHILD and left to wait for. */
pid_t wait_now(const struct ticks *ticks, pid_t tid, int *status, int options);
void boost_begin(struct boost *u);
void boost_end(struct boost *u);
int ticks_begin(struct ticks *ticks, struct err *err);
void ticks_end(struct ticks *ticks);
/* Has `call` called in a signal handler every 10 ms from now on; NULL: no more. No waiting meanwhile. */
void ticks_during(struct ticks *ticks, void (*call)(void *), void *of);
bool has_ended(pid_t tid); /* and is to be waited for */

static inline bool is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

/* Lets the thread run by `request` (PTRACE_CONT, PTRACE_SYSCALL, PTRACE_SINGLESTEP) to the next stop that
 * means something: what SIGSTOP and its like cause on the way is passed on. 0 and *status, or
 * -errno and *err. */
int run_thread(struct tracee *t, struct thread *th, int request, int signal, int *status, struct err *err);
/* From any stop to PTRACE_EVENT_STOP; `signal` (or 0) goes to the program on the way. */
int run_settle(struct tracee *t, struct thread *th, int signal, struct err *err);
int tracee_died(struct tracee *t, struct err *err); /* -EIO */

/* Where these bytes (at most 64) stand in the code of the process: in the kernel's page, or in the rest. 0 if
 * nowhere. */
uint64_t code_find(struct tracee *t, bool vdso, const void *bytes, size_t n);
int open_memory(struct tracee *t, struct err *err);
/* It came to PTRACE_EVENT_STOP: notes its registers. */
void thread_stands(struct thread *th);
/* waitpid's answer about a thread that was asked to stop. 1: it stands; 0: not yet; -1: it is gone. */
int thread_take_status(struct thread *th, int status);

/* A thread of process pid was asked to stop and has not: the holder that calls lets it go when it stops. No holder: nothing. */
void stragglers_add(pid_t pid, pid_t keep, const struct thread *th);
pid_t stragglers_of(pid_t pid); /* one that a holder still waits for; 0: none */
void stragglers_await(void);    /* until none of the calling holder's is left */

bool holder_is_here(void);
/* Threads of t were asked to stop: if the caller is among them it gets its answer, with which it can. */
void holder_answer(const struct tracee *t);
bool holder_keep(const struct tracee *t, const struct thread *th); /* it stands and is not to be let go: the caller */
void holder_take(struct tracee *t);                                /* the one that is kept, if it is t's */

/* A system call stopped in thread th would be taken up again, at rip - 2. */
bool regs_restart(const struct user_regs_struct *regs);

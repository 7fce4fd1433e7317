/* SPDX-License-Identifier: MIT */
/* A process stopped by ptrace for a moment: every thread stopped, its registers and memory at hand;
 * then let go as if nothing had happened, even if we are killed in the midst of it. Attaching,
 * detaching and changing filters on a running program are made of this. All functions of one tracee
 * are called from the thread that stopped it (ptrace wants that): a holder's (holder.h). */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/regs.h"
#include "base/err.h"

struct tracee;

/* Tells whether this process could be stopped; touches nothing. Returns 0, or -errno and one
 * sentence that names the rule in the way and what would change it: no such process, a zombie, a
 * kernel thread, 32-bit, another user's, not dumpable (set-uid, capabilities, prctl), Yama, a
 * tracer it has already, a user or pid namespace, a seccomp filter (see seccomp.h). */
int tracee_check(pid_t pid, struct err *err);

/* Stops every thread, also those born meanwhile. Returns 0, or -errno and *err, and the process
 * runs on as before: a thread that does not stop (an uninterruptible sleep, a vfork whose child
 * lives) is named after `TRACEE_STOP_MS`. */
#define TRACEE_STOP_MS 2000
int tracee_stop(pid_t pid, struct tracee **out, struct err *err);
/* Works like tracee_stop, for a process of which nothing depends on this stop: after
 * tracee_give_up() it fails at once with -ECANCELED and *err. */
int tracee_stop_unless_given_up(pid_t pid, struct tracee **out, struct err *err);
/* The user waits no more: for good, in all threads. From any thread, a signal's handler too. */
void tracee_give_up(void);
/* -ECANCELED and *err if that was called. */
int tracee_check_given_up(pid_t pid, struct err *err);
/* The condition that becomes true by it, for aside_until(). */
const atomic_bool *tracee_given_up(void);

/* Lets the process go: borrowed registers are put back, signals that came meanwhile are delivered,
 * a stopped (SIGSTOP) process stays stopped, system calls go on as if not interrupted (those that
 * the kernel would end with EINTR for no reason the program could see are restarted, with their
 * whole time limit). As after SIGSTOP and SIGCONT, a call that has done its work in part (a write
 * to a full pipe, a recv with MSG_WAITALL) returns that part. Returns the nanoseconds for which a
 * thread stood still at most, from the request to stop to its release. Frees t. A process that died
 * meanwhile is no error. */
uint64_t tracee_release(struct tracee *t);

/* All of a stopped process, as it was stopped; threads are numbered from 0 on. */
pid_t tracee_pid(const struct tracee *t);
bool tracee_alive(const struct tracee *t);       /* false once it died in our hands */
size_t tracee_threads(const struct tracee *t);   /* at least 1 */
pid_t tracee_tid(const struct tracee *t, size_t i);
/* Refuses a process whose handler would get system calls that are made in it: 0, or -EPERM and
 * *err. */
int tracee_check_dispatch(const struct tracee *t, struct err *err);
/* Registers as the program has them (borrowing for calls does not show). regs_pc() is the
 * instruction at which the thread goes on; where the kernel restarts a system call, it goes on
 * REGS_CALL_BYTES before (that instruction again), or there when a signal handler ran first. */
const struct user_regs_struct *tracee_regs(const struct tracee *t, size_t i);
/* Sets the pc at once, not only at release: the code at its old place may be changed next. */
void tracee_set_pc(struct tracee *t, size_t i, uint64_t pc);
/* Lets the threads i with which[i] go on for about `ns` of processor time, or up to their next
 * system call, which is not made: nothing but user code runs. Threads that end by it (a signal) are
 * forgotten, and others may get their index. */
void tracee_let_run(struct tracee *t, const bool *which, uint64_t ns);

/* Transfer all bytes or none; page protections do not matter (/proc/PID/mem). Return 0, or -errno
 * and *err. */
int tracee_read(struct tracee *t, uint64_t address, void *to, size_t bytes, struct err *err);
/* tracee_read() with a second try, for a caller that takes a failure for bytes that are not mapped:
 * a read can fail once for lack of memory. */
int tracee_read_twice(struct tracee *t, uint64_t address, void *to, size_t bytes, struct err *err);
int tracee_write(struct tracee *t, uint64_t address, const void *from, size_t bytes,
		 struct err *err);

/* Reads one word from each address, all at once; zero where nothing is mapped. */
void tracee_read_words(struct tracee *t, const uint64_t *addresses, size_t n, uint64_t *words);

/* Gives TRACEE_SCRATCH bytes of the process's memory, at *at, for arguments of system calls, until
 * it is released. Each call gives the same bytes. 0, or -errno and *err. */
#define TRACEE_SCRATCH 256
int tracee_scratch(struct tracee *t, uint64_t *at, struct err *err);

/* Makes a system call in the process's name. *result is the kernel's result (-4095..-1 are errors).
 * Returns 0, or -errno and *err if it could not be made at all. */
int tracee_syscall(struct tracee *t, long number, const uint64_t args[6], int64_t *result,
		   struct err *err);

/* Calls function(args[0..3]) in the process, on the stack that ends at stack_top (not the program's
 * own), with all its signals held back. The function must not take locks that another thread may
 * hold: they are all stopped. If we die it runs on to its end, while the others run, too. *result
 * is what it returned. -EIO and *err when it faulted: the registers are put back all the same.
 * -EAGAIN while a call is under way whose tracer died. */
int tracee_call(struct tracee *t, uint64_t function, const uint64_t args[4], uint64_t stack_top,
		uint64_t *result, struct err *err);

/* Duplicates the process's descriptor fd into ours (pidfd_getfd), close-on-exec. Returns it, or
 * -errno and *err. */
int tracee_take_fd(struct tracee *t, int fd, struct err *err);

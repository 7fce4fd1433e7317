/* SPDX-License-Identifier: MIT */
/* Stops every thread of a process, and lets them go, on the holder's thread (ptrace wants all calls
 * from one thread). A failure lets the process run on as before.
 *
 * Threads are seized first, which stops nothing, then all are interrupted, so that the pause is
 * that of the slowest and not the sum. A thread that was about to take a signal is allowed to, with
 * the interrupt pending: it stops at the first instruction of its handler, and no signal has to be
 * kept. Threads born meanwhile are found by reading /proc/PID/task again until there is nothing
 * new. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/old_calls.h"
#include "base/caller.h"
#include "base/flag.h"
#include "tracee/check.h"
#include "tracee/internal.h"
#include "tracee/proc_status.h"

/* Written by tracee_give_up(), in whatever thread or signal's handler, and never taken back. */
static atomic_bool user_gave_up;

void tracee_give_up(void)
{
	flag_set(&user_gave_up);
}

/* Whether a wait that may be given up is. */
static bool is_given_up(bool may_give_up)
{
	return may_give_up && flag_is_set(&user_gave_up);
}

const atomic_bool *tracee_given_up(void)
{
	return &user_gave_up;
}

static int err_given_up(pid_t pid, struct err *err)
{
	return err_set(err, ECANCELED, "interrupted: process %d was not stopped, and runs on",
		       (int)pid);
}

int tracee_check_given_up(pid_t pid, struct err *err)
{
	return flag_is_set(&user_gave_up) ? err_given_up(pid, err) : 0;
}

/* Both lists mostly have the same order: `next` is the place after the last answer, where the
 * search begins. */
static bool knows_thread(const struct tracee *t, pid_t tid, size_t *next)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		size_t at = (*next + i) % t->threads.n;

		if (t->threads.at[at].tid == tid) {
			*next = at + 1;
			return true;
		}
	}
	return false;
}

/* Takes the thread out of the list; the last one gets its place, so loops that forget go
 * backwards. */
static void forget_thread(struct tracee *t, size_t i)
{
	t->threads.at[i] = t->threads.at[--t->threads.n];
}

/* Lets a stopped thread run, untraced. False: it was killed meanwhile. */
static bool resume_untraced(const struct thread *th)
{
	return ptrace(PTRACE_DETACH, th->tid, NULL, NULL) == 0;
}

/* A thread that ended in our hands has to be waited for, or it stays as a zombie. */
static void reap_thread(struct tracee *t, pid_t tid)
{
	int status;

	wait_thread(&t->ticks, tid, tracee_clock_ns() + TRACEE_STOP_MS * UINT64_C(1000000),
		    &status);
}

/* The main thread last: the kernel reports its end when all others are waited for. */
static void reap_all(struct tracee *t)
{
	size_t next = 0;

	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.at[i].tid != t->pid)
			reap_thread(t, t->threads.at[i].tid);
	if (knows_thread(t, t->pid, &next))
		reap_thread(t, t->pid);
}

/* Threads that did not stop in time cannot be let go; the holder's thread stays for them. */
static void leave_stragglers(const struct tracee *t)
{
	for (size_t i = 0; i < t->threads.n; i++)
		if (!t->threads.at[i].stopped)
			stragglers_add(t->pid, t->ticks.keep, &t->threads.at[i]);
}

/* Frees all but the threads' stops, which tracee_release() ends before. */
static void free_tracee(struct tracee *t)
{
	if (t->mem >= 0)
		close(t->mem);
	wait_ticks_end(&t->ticks);
	boost_end(&t->boost);
	vec_free(&t->borrowed.before);
	vec_free(&t->threads);
	served_free(&t->served);
	free(t);
}

uint64_t tracee_release(struct tracee *t)
{
	uint64_t longest = 0;
	struct err ignored;

	borrow_end(t, &ignored);
	/* In the order in which they were stopped, so that none stands longer than others. */
	for (size_t i = 0; i < t->threads.n; i++) {
		struct thread *th = &t->threads.at[i];
		uint64_t stood;

		/* Only a killed thread cannot be let go. */
		if (th->stopped && !holder_keep(t, th) && !resume_untraced(th))
			t->dead = true;
		stood = th->asked_at ? tracee_clock_ns() - th->asked_at : 0;
		longest = stood > longest ? stood : longest;
	}
	if (t->dead)
		reap_all(t);
	else
		leave_stragglers(t);
	free_tracee(t);
	return longest;
}

/* --- stopping ------------------------------------------------------------------------------- */

#define SEIZE_TRIES 3
#define LAST_WAIT_MS 200

/* True if the thread has ended, or is not there any more. */
static bool is_zombie(struct tracee *t, pid_t tid)
{
	struct proc_stat stat;

	return proc_stat_read(t->pid, tid, &stat) < 0 || stat.state == 'Z' || stat.state == 'X';
}

/* PTRACE_SEIZE waits for a thread that is just executing a program, and that one waits until we
 * have waited for the threads it has ended. So these are reaped from a signal handler meanwhile. */
static void reap_meanwhile(void *of)
{
	const struct tracee *t = of;
	int status;

	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.at[i].tid != t->pid && wait_has_ended(t->threads.at[i].tid))
			waitpid(t->threads.at[i].tid, &status, __WALL | WNOHANG);
}

/* PTRACE_O_TRACESYSGOOD tells stops at system calls from a program's own SIGTRAP. */
static long seize_and_reap(struct tracee *t, pid_t tid)
{
	long r;

	wait_ticks_during(&t->ticks, reap_meanwhile, t);
	r = ptrace(PTRACE_SEIZE, tid, NULL, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD);
	wait_ticks_during(&t->ticks, NULL, NULL);
	return r;
}

/* Returns 1: seized; 0: nothing there to seize; -errno. */
static int seize_once(struct tracee *t, pid_t tid)
{
	struct proc_status status;
	int code;

	if (seize_and_reap(t, tid) == 0)
		return 1;
	code = errno;
	if (code == ESRCH || is_zombie(t, tid))
		return 0;
	/* A thread that executed a program when we knew it by another number is ours already. */
	return proc_status_read(tid, &status) == 0 && status.tracer == gettid() ? 1 : -code;
}

/* While a thread executes a program, its number may pass from a zombie to it between two looks; the
 * answer is then EPERM for a moment. */
static int seize_thread(struct tracee *t, pid_t tid)
{
	const struct timespec nap = { 0, 100000 };
	int r = seize_once(t, tid);

	for (int i = 1; i < SEIZE_TRIES && r == -EPERM; i++) {
		nanosleep(&nap, NULL);
		r = seize_once(t, tid);
	}
	return r;
}

/* Seizes the threads that are not known yet. Returns how many, or -errno. */
static int seize_new(struct tracee *t)
{
	char name[32];
	struct dirent *e;
	size_t next = 0;
	int n = 0, r = 0;
	DIR *d;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)t->pid);
	d = opendir(name);
	while (r >= 0 && d && (e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid <= 0 || knows_thread(t, tid, &next))
			continue;
		r = seize_thread(t, tid);
		if (r > 0) {
			*vec_add(&t->threads) = (struct thread){ .tid = tid };
			n++;
		}
	}
	if (d)
		closedir(d);
	return r < 0 ? r : n;
}

/* Asks all threads that run to stop. The pause of a thread counts from here (asked_at). */
static void interrupt_all(struct tracee *t)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		struct thread *th = &t->threads.at[i];

		if (th->stopped)
			continue;
		if (!th->asked_at)
			th->asked_at = tracee_clock_ns();
		ptrace(PTRACE_INTERRUPT, th->tid, NULL, NULL);
	}
}

/* Some system calls end with EINTR merely because the thread was stopped (signal(7) lists them).
 * Such a call is made to restart, unless a handler runs first: then it ends with EINTR, as it would
 * have without us. */
static bool ends_for_a_stop(const struct user_regs_struct *regs)
{
	static const uint16_t calls[] = {
		OLD_CALLS_WAITING
		SYS_epoll_pwait,  SYS_epoll_pwait2, SYS_rt_sigtimedwait, SYS_semop,
		SYS_semtimedop,	  SYS_io_getevents, SYS_io_pgetevents,	 SYS_io_uring_enter,
		SYS_msgrcv,	  SYS_msgsnd,	    SYS_read,		 SYS_readv,
		SYS_recvfrom,	  SYS_recvmsg,	    SYS_recvmmsg,	 SYS_write,
		SYS_writev,	  SYS_sendto,	    SYS_sendmsg,	 SYS_sendmmsg,
		SYS_accept,	  SYS_accept4,	    SYS_connect,	 SYS_sendfile,
		SYS_splice,	  SYS_pselect6,	    SYS_ppoll,		 SYS_nanosleep,
		SYS_clock_nanosleep, SYS_futex,	    SYS_futex_waitv,	 SYS_mq_timedsend,
		SYS_mq_timedreceive, SYS_wait4,	    SYS_waitid,		 SYS_flock,
		SYS_fcntl,	  SYS_rt_sigsuspend,
	};

	if (regs_result(regs) != -EINTR)
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (regs_call(regs) == calls[i])
			return true;
	return false;
}

void hold_thread_stands(struct thread *th)
{
	th->stopped = true;
	regs_get(th->tid, &th->regs);
	if (ends_for_a_stop(&th->regs)) {
		/* ptrace shows the registers as the stop left them; the kernel looks at the
		 * result again when the thread goes on. */
		regs_set_result(&th->regs, RESTART_NOHAND);
		regs_put_result(th->tid, RESTART_NOHAND);
	}
}

int hold_take_status(struct thread *th, int status)
{
	th->stopped = false;
	if (!WIFSTOPPED(status))
		return -1;
	if (wait_is_event_stop(status)) {
		hold_thread_stands(th);
		return 1;
	}
	/* A signal's stop: the signal goes on to the program, and the interrupt is asked for
	 * again. */
	ptrace(PTRACE_INTERRUPT, th->tid, NULL, NULL);
	ptrace(PTRACE_CONT, th->tid, NULL, (void *)(intptr_t)WSTOPSIG(status));
	return 0;
}

/* Returns 1: it stands; 0: not yet; -1: it is gone. */
static int stop_one(struct tracee *t, struct thread *th)
{
	int status, r = wait_tick(&t->ticks, th->tid, &status);

	if (r > 0)
		return hold_take_status(th, status);
	/* The number may be another thread's by now: one that executed a program has the main
	 * thread's number, and may be ours or not. */
	return r < 0 || (ptrace(PTRACE_INTERRUPT, th->tid, NULL, NULL) < 0 && errno == ESRCH) ? -1
											      : 0;
}

/* A thread in ptrace-stop answers; one that was killed, or is replaced, does not. */
static bool thread_answers(const struct thread *th)
{
	unsigned long message;

	return ptrace(PTRACE_GETEVENTMSG, th->tid, NULL, &message) == 0;
}

/* A stopped thread may have been killed by another's execve. If it was the main thread, its number
 * now belongs to the exec'ing thread, whose own stop may be pending, or arrived and not taken yet.
 * Returns as stop_one(). */
static int stands_still(struct tracee *t, struct thread *th)
{
	int status, r = wait_now(&t->ticks, th->tid, &status, WNOHANG);

	if (r == 0)
		th->stopped = thread_answers(th);
	return r > 0 ? hold_take_status(th, status) : r < 0 ? -1 : th->stopped;
}

/* A thread that does not stop may wait for others: one that executes a program ends the others, and
 * waits until these are reaped. A main thread that ended is not reported before the rest. Returns
 * true if all stand. */
static bool look_again(struct tracee *t)
{
	bool all = true;

	for (size_t i = t->threads.n; i-- > 0;) {
		struct thread *th = &t->threads.at[i];
		int r = th->stopped				     ? stands_still(t, th)
			: th->tid == t->pid && is_zombie(t, th->tid) ? -1
								     : 0;

		if (r < 0)
			forget_thread(t, i);
		all = all && r != 0;
	}
	return all;
}

/* Returns false if the deadline passed, or the user gave up. */
static bool wait_all(struct tracee *t, uint64_t deadline)
{
	for (size_t i = t->threads.n; i-- > 0;) {
		int r = t->threads.at[i].stopped ? 1 : stop_one(t, &t->threads.at[i]);

		if (r < 0)
			forget_thread(t, i);
		if (r == 0 && (tracee_clock_ns() > deadline || is_given_up(t->may_give_up)))
			return false;
		/* A new round: threads that stood may be gone. */
		if (r == 0) {
			look_again(t);
			i = t->threads.n;
		}
	}
	return true;
}

/* Says which thread did not stop, and for what it waits; or that the user gave up. */
static int explain_unstopped(struct tracee *t, struct err *err)
{
	size_t i = 0;

	if (is_given_up(t->may_give_up))
		return err_given_up(t->pid, err);
	while (i + 1 < t->threads.n && t->threads.at[i].stopped)
		i++;
	return proc_explain_wait(t->pid, t->threads.at[i].tid, err);
}

/* Reading /proc/PID/task ends early when the thread at hand ends meanwhile; the number in stat does
 * not lie. */
static bool has_others(const struct tracee *t)
{
	struct proc_stat stat;
	size_t next = 0;

	return proc_stat_read(t->pid, t->pid, &stat) == 0 &&
	       stat.threads > t->threads.n + (knows_thread(t, t->pid, &next) ? 0 : 1);
}

/* Stops all threads, however many come meanwhile. Two conditions end it: nothing new in /proc, and
 * the kernel's count agrees. */
static int stop_all(struct tracee *t, struct err *err)
{
	uint64_t deadline = tracee_clock_ns() + TRACEE_STOP_MS * UINT64_C(1000000);

	for (;;) {
		int n = seize_new(t);

		if (n < 0)
			return err_set(err, -n, "cannot hold process %d: %s", (int)t->pid,
				       strerror(-n));
		if (look_again(t) && n == 0 && !has_others(t))
			break;
		if (is_given_up(t->may_give_up))
			return err_given_up(t->pid, err);
		if (tracee_clock_ns() > deadline)
			return err_set(
				err, EBUSY,
				"process %d starts threads or programs faster than they can be stopped: try again",
				(int)t->pid);
		interrupt_all(t);
		holder_answer(t);
		if (!wait_all(t, deadline))
			return explain_unstopped(t, err);
	}
	if (t->threads.n > 0)
		return 0;
	return err_set(err, ESRCH, "there is no process %d", (int)t->pid);
}

int hold_open_memory(struct tracee *t, struct err *err)
{
	char name[32];

	/* By a thread: a main thread that is gone has no memory. */
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)t->threads.at[0].tid);
	t->mem = open(name, O_RDWR | O_CLOEXEC);
	return t->mem >= 0 ? 0 : err_set(err, errno, "cannot open %s: %s", name, strerror(errno));
}

/* An earlier holder has given up and still waits for a thread of the process, which only that
 * holder can let go. */
static int wait_stragglers(pid_t pid, uint64_t deadline, bool may_give_up, struct err *err)
{
	const struct timespec nap = { 0, 1000000 };
	pid_t tid;

	while ((tid = stragglers_of(pid))) {
		if (is_given_up(may_give_up))
			return err_given_up(pid, err);
		if (tracee_clock_ns() > deadline)
			return proc_explain_wait(pid, tid, err);
		nanosleep(&nap, NULL);
	}
	return 0;
}

/* True for the thread that waits for our answer (base/caller.h): it is in the kernel, but the
 * answer lets it stop. */
static bool is_caller(pid_t tid)
{
	return caller_now() && caller_now()->tid == tid;
}

/* A thread in an uninterruptible sleep, or one whose vfork child lives, would stop when it wakes,
 * long after brace has given up. So no thread is touched before all were seen awake, or in a usual
 * sleep. */
static int wait_interruptible(pid_t pid, bool may_give_up, struct err *err)
{
	const struct timespec nap = { 0, 1000000 };
	uint64_t deadline = tracee_clock_ns() + TRACEE_STOP_MS * UINT64_C(1000000);
	char name[32];
	struct proc_stat stat;
	struct dirent *e;
	int r = wait_stragglers(pid, deadline, may_give_up, err);
	DIR *d;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	d = r == 0 ? opendir(name) : NULL;
	while (r == 0 && d && (e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		while (r == 0 && tid > 0 && proc_stat_read(pid, tid, &stat) == 0 &&
		       stat.state == 'D' && !is_caller(tid)) {
			if (is_given_up(may_give_up))
				r = err_given_up(pid, err);
			else if (tracee_clock_ns() > deadline)
				r = proc_explain_wait(pid, tid, err);
			nanosleep(&nap, NULL);
		}
	}
	if (d)
		closedir(d);
	return r;
}

/* After a failure: only a stopped thread can be let go, so threads that still run have to stop for
 * it. */
static void stop_to_let_go(struct tracee *t)
{
	uint64_t deadline = tracee_clock_ns() + LAST_WAIT_MS * UINT64_C(1000000);

	interrupt_all(t);
	for (size_t i = t->threads.n; i-- > 0;) {
		struct thread *th = &t->threads.at[i];

		while (!th->stopped && tracee_clock_ns() < deadline)
			if (stop_one(t, th) < 0) {
				forget_thread(t, i);
				break;
			}
	}
}

/* Replaces the kernel's errno by the rule in the way, if one is found. */
static int explain_failure(pid_t pid, int r, struct err *err)
{
	struct proc_status own;
	struct err why;
	int rule = r == -EBUSY || r == -ECANCELED ? 0 : check_rules(pid, &why);

	if (rule < 0) {
		*err = why;
		return rule;
	}
	if ((r == -EPERM || r == -ENOSYS) && proc_status_read(getpid(), &own) == 0 && own.seccomp)
		return err_set(
			err, EPERM,
			"brace itself is under a seccomp filter that forbids ptrace (a container's?): run it "
			"outside, or without that filter (docker run --security-opt seccomp=unconfined)");
	return r;
}

static int stop_process(pid_t pid, bool may_give_up, struct tracee **out, struct err *err)
{
	struct proc_stat stat;
	struct tracee *t;
	int r = wait_interruptible(pid, may_give_up, err);

	if (r < 0)
		return r;
	t = mem_zalloc(sizeof(*t));
	*t = (struct tracee){ .pid = pid, .mem = -1, .may_give_up = may_give_up };
	if (proc_stat_read(pid, pid, &stat) == 0 && stat.ppid == getpid())
		t->ticks.keep = pid;
	holder_take(t);
	boost_begin(&t->boost);
	r = wait_ticks_begin(&t->ticks, err);
	if (r == 0)
		r = stop_all(t, err);
	if (r == 0)
		r = hold_open_memory(t, err);
	if (r < 0) {
		stop_to_let_go(t);
		tracee_release(t);
		return explain_failure(pid, r, err);
	}
	*out = t;
	return 0;
}

int tracee_stop(pid_t pid, struct tracee **out, struct err *err)
{
	return stop_process(pid, false, out, err);
}

int tracee_stop_unless_given_up(pid_t pid, struct tracee **out, struct err *err)
{
	return is_given_up(true) ? err_given_up(pid, err) : stop_process(pid, true, out, err);
}

/* --- looking at it -------------------------------------------------------------------------- */

pid_t tracee_pid(const struct tracee *t)
{
	return t->pid;
}

bool tracee_alive(const struct tracee *t)
{
	return !t->dead;
}

size_t tracee_threads(const struct tracee *t)
{
	return t->threads.n;
}

pid_t tracee_tid(const struct tracee *t, size_t i)
{
	return t->threads.at[i].tid;
}

const struct user_regs_struct *tracee_regs(const struct tracee *t, size_t i)
{
	return &t->threads.at[i].regs;
}

void tracee_set_pc(struct tracee *t, size_t i, uint64_t pc)
{
	struct thread *th = &t->threads.at[i];
	struct err ignored;

	/* The borrowed thread's registers are put back at borrow_end(); later they would overwrite
	 * it. */
	if (t->borrowed.th == th)
		borrow_end(t, &ignored);
	regs_set_pc(&th->regs, pc);
	regs_put_pc(th->tid, pc);
}

/* SPDX-License-Identifier: MIT */
/* Waiting for a thread's stop, with a limit. All users of this folder, each on its own thread.
 *
 * waitpid() has no limit, and polling costs either a processor (that the thread may be waiting for)
 * or the length of a nap, at every stop of a pause that is to be short. So waitpid() blocks, and a
 * timer that signals this thread interrupts it now and then to look at the clock. A thread that is
 * gone is -ESRCH. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tracee/internal.h"

#define TICK_SIGNAL (SIGRTMAX - 1)
#define TICK_NS 10000000

uint64_t tracee_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Per thread, since the timer signals the thread that made it. */
static __thread void (*on_tick)(void *);
static __thread void *on_tick_of;

/* A signal handler: on_tick may only do what is safe in one. */
static void ticked(int signal)
{
	int code = errno;

	if (on_tick)
		on_tick(on_tick_of);
	errno = code;
}

int wait_ticks_begin(struct ticks *ticks, struct err *err)
{
	/* Without SA_RESTART: waitpid() has to return. */
	const struct sigaction action = { .sa_handler = ticked };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TICK_SIGNAL };
	sigset_t tick;

	event._sigev_un._tid = gettid();
	sigemptyset(&tick);
	sigaddset(&tick, TICK_SIGNAL);
	if (sigaction(TICK_SIGNAL, &action, NULL) < 0 ||
	    timer_create(CLOCK_MONOTONIC, &event, &ticks->timer) < 0)
		return err_set(err, errno, "cannot make a timer: %s", strerror(errno));
	sigprocmask(SIG_UNBLOCK, &tick, &ticks->mask);
	ticks->began = true;
	return 0;
}

void wait_ticks_end(struct ticks *ticks)
{
	if (!ticks->began)
		return;
	timer_delete(ticks->timer);
	sigprocmask(SIG_SETMASK, &ticks->mask, NULL);
}

/* 0 stops them. A single tick could come before waitpid() blocks and be missed, hence they
 * repeat. */
static void start_ticks(struct ticks *ticks, long ns)
{
	const struct itimerspec every = { { 0, ns }, { 0, ns } };

	timer_settime(ticks->timer, 0, &every, NULL);
}

void wait_ticks_during(struct ticks *ticks, void (*call)(void *), void *of)
{
	on_tick_of = of;
	on_tick = call;
	start_ticks(ticks, call ? TICK_NS : 0);
}

/* WNOWAIT leaves the end for whoever reaps it. __WALL, because threads are no ordinary children. */
bool wait_has_ended(pid_t tid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)tid, &info, WEXITED | __WALL | WNOWAIT | WNOHANG) == 0 &&
	       (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
		info.si_code == CLD_DUMPED);
}

/* True if waitpid() would take the end of a child of ours from the thread that waits for it. */
static bool must_be_kept(const struct ticks *ticks, pid_t tid)
{
	return tid == ticks->keep && wait_has_ended(tid);
}

pid_t wait_now(const struct ticks *ticks, pid_t tid, int *status, int options)
{
	siginfo_t info;

	/* waitid() with WNOWAIT first: it looks and takes nothing. */
	if (tid == ticks->keep &&
	    waitid(P_PID, (id_t)tid, &info, WEXITED | __WALL | WNOWAIT | options) < 0)
		return -1;
	if (must_be_kept(ticks, tid)) {
		errno = ECHILD;
		return -1;
	}
	return waitpid(tid, status, __WALL | options);
}

int wait_tick(struct ticks *ticks, pid_t tid, int *status)
{
	/* Most stops are there already: no timer is needed. */
	pid_t r = wait_now(ticks, tid, status, WNOHANG);
	int code;

	if (r == 0) {
		start_ticks(ticks, TICK_NS);
		r = wait_now(ticks, tid, status, 0);
		code = errno;
		start_ticks(ticks, 0);
		errno = code;
	}
	return r == tid ? 1 : errno == EINTR ? 0 : -ESRCH;
}

int wait_thread(struct ticks *ticks, pid_t tid, uint64_t deadline, int *status)
{
	for (;;) {
		int r = wait_tick(ticks, tid, status);

		if (r != 0 || tracee_clock_ns() > deadline)
			return r;
	}
}

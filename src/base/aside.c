/* SPDX-License-Identifier: MIT */
/* A forked copy, not a thread and not one that shares memory: whatever the kernel still writes when
 * the server answers late is the copy's. Called by base/file.c, on any thread; fails where no
 * process can be made. */
#include "base/aside.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/flag.h"
#include "base/monotonic.h"
#include "base/vec.h"

#define STEP_MS 50   /* how soon aside_until's word is heard */
#define DEATH_MS 100 /* for one that is killed, and can die */

/* The word that ends this thread's waits (aside_until); NULL: none. Per thread, because planners
 * are stopped while other threads go on. */
static _Thread_local const atomic_bool *over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static VEC(pid_t) copies; /* that live, or are not reaped: nobody else has their numbers */

void aside_until(const atomic_bool *word)
{
	over = word;
}

bool aside_is_over(void)
{
	return over && flag_is_set(over);
}

/* For those that walk over processes and must leave these alone. begin_copy() keeps the lock over
 * the clone, so that no copy is seen before it is in the list. */
bool aside_is(pid_t pid)
{
	bool is = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < copies.n && !is; i++)
		is = copies.at[i] == pid;
	pthread_mutex_unlock(&lock);
	return is;
}

/* Called after the copy was reaped, when its number may belong to anybody. A copy that could not be
 * reaped stays in the list for good. */
static void forget_copy(pid_t pid)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < copies.n; i++)
		if (copies.at[i] == pid)
			copies.at[i--] = copies.at[--copies.n];
	pthread_mutex_unlock(&lock);
}

/* Whether one more copy can be noted. Without memory no copy is made: libbrace's way out
 * (mem_try()) would leave the lock taken, and signals blocked. */
static bool has_room(void)
{
	const size_t cap = copies.cap ? 2 * copies.cap : 16;
	pid_t *at;

	if (copies.n < copies.cap)
		return true;
	at = realloc(copies.at, cap * sizeof(*at));
	if (!at) {
		errno = ENOMEM;
		return false;
	}
	copies.at = at;
	copies.cap = cap;
	return true;
}

/* No SIGCHLD, and no wait for any child sees it: nobody's children change. Its signals are blocked:
 * the terminal's are for us. */
static pid_t begin_copy(void (*f)(void *), void *work, int *pidfd)
{
	sigset_t all, before;
	long pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&lock);
	pid = has_room() ? syscall(SYS_clone, CLONE_PIDFD, NULL, pidfd, NULL, 0) : -1;
	if (pid == 0) {
		syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
		f(work);
		syscall(SYS_exit_group, 0);
	}
	if (pid > 0)
		*vec_add(&copies) = (pid_t)pid;
	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return (pid_t)pid;
}

/* True: it has ended (a pidfd is readable then). False: `ms` have passed, or, unless `anyway`, this
 * thread's word came. */
static bool ends_within(int pidfd, unsigned ms, bool anyway)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	const long long until = (long long)monotonic_ms() + ms;
	long long left = ms;

	while (left > 0 && (anyway || !aside_is_over())) {
		if (poll(&ended, 1, left < STEP_MS ? (int)left : STEP_MS) > 0)
			return true;
		left = until - (long long)monotonic_ms();
	}
	return false;
}

/* Reaps a copy that has ended. One that hangs in the kernel stays unreaped, and init gets it at our
 * end. __WALL, because a child made without SIGCHLD is no ordinary child to waitid. */
static bool has_exited(int pidfd, pid_t pid)
{
	siginfo_t how = { 0 };

	if (waitid(P_PIDFD, (id_t)pidfd, &how, WEXITED | WNOHANG | __WALL) < 0 || how.si_pid != pid)
		return false;
	forget_copy(pid);
	return how.si_code == CLD_EXITED;
}

/* Whether f returned within ms. Otherwise the copy is killed. */
static bool is_done(int pidfd, pid_t pid, unsigned ms)
{
	bool ended = ends_within(pidfd, ms, false);

	if (!ended) {
		kill(pid, SIGKILL);
		ends_within(pidfd, DEATH_MS, true);
	}
	return has_exited(pidfd, pid) && ended;
}

/* `shared` is a mapping of its own, since the copy's other memory is private to it. *work changes
 * only after success: a copy that is late writes into a mapping that we no longer have. */
int aside_run(void (*f)(void *work), void *work, size_t n, unsigned ms)
{
	void *shared;
	int pidfd, e = -ECANCELED;
	pid_t pid;

	if (aside_is_over())
		return e;
	shared = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return -errno;
	memcpy(shared, work, n);
	pid = begin_copy(f, shared, &pidfd);
	if (pid < 0) {
		e = -errno;
	} else if (is_done(pidfd, pid, ms)) {
		memcpy(work, shared, n);
		e = 0;
	} else if (!aside_is_over()) {
		e = -ETIMEDOUT;
	}
	if (pid > 0)
		close(pidfd);
	munmap(shared, n);
	return e;
}

int aside_begin(void (*f)(void *work), void *work, struct aside_copy *out)
{
	out->pid = begin_copy(f, work, &out->pidfd);
	return out->pid < 0 ? -errno : 0;
}

void aside_end(const struct aside_copy *copy)
{
	is_done(copy->pidfd, copy->pid, 0);
	close(copy->pidfd);
}

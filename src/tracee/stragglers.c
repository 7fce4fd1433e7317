/* SPDX-License-Identifier: MIT */
/* Threads that were asked to stop and did not come in time. The list is shared by all holders; a
 * holder adds to it when it gives up, and ends only when its own entries are gone. Other holders
 * ask before they touch the same process. Nothing fails: a process that does not let go stays in
 * the list. */
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

#include "tracee/internal.h"

#define NAP_NS 10000000

struct straggler {
	pid_t holder, pid;
	pid_t keep;          /* as in ticks */
	struct thread thread;
};

/* Late threads of all holders; under `lock`. */
static VEC(struct straggler) stragglers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void stragglers_add(pid_t pid, pid_t keep, const struct thread *th)
{
	if (!holder_is_here())
		return;
	pthread_mutex_lock(&lock);
	*vec_add(&stragglers) = (struct straggler){ gettid(), pid, keep, *th };
	pthread_mutex_unlock(&lock);
}

pid_t stragglers_of(pid_t pid)
{
	pid_t tid = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < stragglers.n && !tid; i++)
		if (stragglers.at[i].pid == pid)
			tid = stragglers.at[i].thread.tid;
	pthread_mutex_unlock(&lock);
	return tid;
}

/* True if the thread is not ours any more: it stood and was let go, or is gone. */
static bool is_let_go(struct straggler *s)
{
	const struct ticks ticks = { .keep = s->keep };
	int status;
	pid_t r = wait_now(&ticks, s->thread.tid, &status, WNOHANG);

	if (r != s->thread.tid)
		return r < 0 && errno != EINTR;
	return hold_take_status(&s->thread, status) < 0 ||
	       (s->thread.stopped && ptrace(PTRACE_DETACH, s->thread.tid, NULL, NULL) == 0);
}

/* Lets go the calling thread's stragglers that stand. Returns how many are left. */
static size_t release_stragglers(void)
{
	size_t left = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = stragglers.n; i-- > 0;) {
		struct straggler *s = &stragglers.at[i];

		if (s->holder != gettid())
			continue;
		if (is_let_go(s))
			*s = stragglers.at[--stragglers.n];
		else
			left++;
	}
	if (!stragglers.n)
		vec_free(&stragglers);
	pthread_mutex_unlock(&lock);
	return left;
}

/* waitid() with WNOWAIT tells that one of them can be waited for, and takes nothing: the end of a
 * child of ours stays, and is told again, hence the nap. */
void stragglers_await(void)
{
	const struct timespec nap = { 0, NAP_NS };
	size_t left = release_stragglers();

	while (left > 0) {
		size_t before = left;
		siginfo_t info;

		waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | __WALL | __WNOTHREAD | WNOWAIT);
		left = release_stragglers();
		if (left == before)
			nanosleep(&nap, NULL);
	}
}

#include "tracee/holder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tracee/internal.h"

#define NAP_NS 10000000

/* A straggler was asked to stop and did not come in time. */
struct straggler {
	pid_t holder, pid;
	pid_t keep;          /* as in ticks */
	struct thread thread;
};

/* Of all holders. Guarded by `lock`. */
static VEC(struct straggler) stragglers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __thread bool is_holder;

struct holder {
	pthread_mutex_t lock;
	pthread_cond_t done;
	int (*work)(void *of); /* NULL: it is done */
	void *of;
	int result;
};

/* --- those that do not come ------------------------------------------------------------------- */

void stragglers_add(pid_t pid, pid_t keep, const struct thread *th)
{
	if (!is_holder)
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

/* Whether it is ours no longer: it stood and was let go, or is no more. */
static bool is_settled(struct straggler *s)
{
	const struct ticks ticks = { .keep = s->keep };
	int status;
	pid_t r = wait_now(&ticks, s->thread.tid, &status, WNOHANG);

	if (r != s->thread.tid)
		return r < 0 && errno != EINTR;
	return thread_take_status(&s->thread, status) < 0 ||
	       (s->thread.stopped && ptrace(PTRACE_DETACH, s->thread.tid, NULL, NULL) == 0);
}

/* How many of this thread's are left. */
static size_t settle(void)
{
	size_t left = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = stragglers.n; i-- > 0;) {
		struct straggler *s = &stragglers.at[i];

		if (s->holder != gettid())
			continue;
		if (is_settled(s))
			*s = stragglers.at[--stragglers.n];
		else
			left++;
	}
	if (!stragglers.n)
		vec_free(&stragglers);
	pthread_mutex_unlock(&lock);
	return left;
}

/* waitid tells that one of them can be waited for, and takes nothing: the end of a child of ours stays, and is told again. */
static void await_stragglers(void)
{
	const struct timespec nap = { 0, NAP_NS };
	size_t left = settle();

	while (left > 0) {
		size_t before = left;
		siginfo_t info;

		waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | __WALL | __WNOTHREAD | WNOWAIT);
		left = settle();
		if (left == before)
			nanosleep(&nap, NULL);
	}
}

/* --- the thread ------------------------------------------------------------------------------- */

static void *hold(void *arg)
{
	struct holder *h = arg;
	int result;

	is_holder = true;
	result = h->work(h->of);
	pthread_mutex_lock(&h->lock);
	h->result = result;
	h->work = NULL;
	pthread_cond_signal(&h->done);
	pthread_mutex_unlock(&h->lock);
	await_stragglers();
	return NULL;
}

/* Signals are for others; the ticks of waits let their own through. */
static int start(struct holder *h)
{
	sigset_t all, before;
	pthread_t thread;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&thread, NULL, hold, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (e == 0)
		pthread_detach(thread);
	return e;
}

int holder_run(int (*work)(void *of), void *of, struct err *err)
{
	struct holder h = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .work = work, .of = of };
	int e;

	if (is_holder)
		return work(of);
	e = start(&h);
	if (e)
		return err_set(err, e, "cannot start a thread: %s", strerror(e));
	pthread_mutex_lock(&h.lock);
	while (h.work)
		pthread_cond_wait(&h.done, &h.lock);
	pthread_mutex_unlock(&h.lock);
	return h.result;
}

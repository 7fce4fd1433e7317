/* SPDX-License-Identifier: MIT */
/* Threads that hold processes (see the header). A holder runs one piece of work after another for
 * the thread that asked, which waits meanwhile; `lock` and `changed` guard what they share. At the
 * end it frees itself, when the last straggler is let go. Starting one is the only thing that can
 * fail. */
#include "tracee/holder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/caller.h"
#include "tracee/internal.h"

/* One thread and its work. The thread that asked owns it until end_holder(), from then on it owns
 * itself. */
struct holder {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int (*work)(void *of);  /* NULL: done */
	void *of;
	int result;
	bool over;              /* no more work comes; the thread frees this */
	struct caller *caller;  /* NULL: nobody */
	pid_t pid;              /* the caller's process */
	/* The caller, as long as its result may change; tid 0: we do not hold it. */
	struct thread kept;
};

/* The holder that the current thread is; NULL: none. */
static __thread struct holder *here;

bool holder_is_here(void)
{
	return here;
}

/* --- the caller ------------------------------------------------------------------------------- */

void holder_answer(const struct tracee *t)
{
	struct caller *c = caller_now();

	for (size_t i = 0; here && c && !c->answered && i < t->threads.n; i++)
		if (t->threads.at[i].tid == c->tid) {
			c->answered = true;
			c->answer(c);
		}
}

bool holder_keep(const struct tracee *t, const struct thread *th)
{
	struct caller *c = caller_now();

	if (!here || !c || !c->answered || c->tid != th->tid)
		return false;
	here->pid = t->pid;
	here->kept = *th;
	return true;
}

void holder_take(struct tracee *t)
{
	if (!here || !here->kept.tid || here->pid != t->pid)
		return;
	*vec_add(&t->threads) =
		(struct thread){ .tid = here->kept.tid, .asked_at = tracee_clock_ns() };
	hold_thread_stands(&t->threads.at[t->threads.n - 1]);
	here->kept.tid = 0;
}

/* Replaces the early answer in the caller's registers by the true result, unless a signal's handler
 * is to run first. */
static void set_result(pid_t tid, int64_t answered, int64_t result)
{
	struct user_regs_struct regs;

	if (regs_get(tid, &regs) == 0 && regs_result(&regs) == answered && result != answered)
		regs_put_result(tid, result);
}

/* On the holder's thread: lets the kept caller go, with *of as the result of its request. */
static int free_caller(void *of)
{
	struct thread *th = &here->kept;

	if (!th->tid)
		return 0;
	set_result(th->tid, here->caller->result, *(const int64_t *)of);
	if (ptrace(PTRACE_DETACH, th->tid, NULL, NULL) < 0)
		/* The thread was killed: only its end has to be waited for. */
		stragglers_add(here->pid, 0, th);
	return 0;
}

/* --- the thread ------------------------------------------------------------------------------- */

/* A holder's life: work after work, then the stragglers. */
static void *holder_thread(void *arg)
{
	struct holder *h = arg;

	here = h;
	caller_begin(h->caller);
	pthread_mutex_lock(&h->lock);
	for (;;) {
		while (!h->work && !h->over)
			pthread_cond_wait(&h->changed, &h->lock);
		if (h->over)
			break;
		/* Unlocked: the work may take seconds, and the thread that asked waits for
		 * `changed`. */
		pthread_mutex_unlock(&h->lock);
		h->result = h->work(h->of);
		pthread_mutex_lock(&h->lock);
		h->work = NULL;
		pthread_cond_signal(&h->changed);
	}
	pthread_mutex_unlock(&h->lock);
	stragglers_await();
	free(h);
	return NULL;
}

/* A holder gets no signals of brace's; the ticks of waits unblock their own. */
static int start_holder(struct holder *h)
{
	sigset_t all, before;
	pthread_t thread;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&thread, NULL, holder_thread, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (e == 0)
		pthread_detach(thread);
	return e;
}

/* Starts a holder for the caller's requests. NULL: *err. */
static struct holder *begin_caller(struct caller *c, struct err *err)
{
	struct holder *h = mem_zalloc(sizeof(*h));
	int e;

	*h = (struct holder){ .lock = PTHREAD_MUTEX_INITIALIZER,
			      .changed = PTHREAD_COND_INITIALIZER,
			      .caller = c };
	e = start_holder(h);
	if (e == 0)
		return h;
	free(h);
	err_set(err, e, "cannot start a thread: %s", strerror(e));
	return NULL;
}

/* Gives the holder the work and waits for its result. */
static int run_work(struct holder *h, int (*work)(void *of), void *of)
{
	int result;

	pthread_mutex_lock(&h->lock);
	h->of = of;
	h->work = work;
	pthread_cond_signal(&h->changed);
	while (h->work)
		pthread_cond_wait(&h->changed, &h->lock);
	result = h->result;
	pthread_mutex_unlock(&h->lock);
	return result;
}

/* No more work comes. The holder frees itself: h is not to be used any more. */
static void end_holder(struct holder *h)
{
	pthread_mutex_lock(&h->lock);
	h->over = true;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

/* Called as caller.let_go when the request has its final result. */
static void finish_caller(struct caller *c, int64_t result)
{
	run_work(c->holder, free_caller, &result);
	end_holder(c->holder);
}

int holder_run(int (*work)(void *of), void *of, struct err *err)
{
	struct caller *c = caller_now();
	struct holder *h;
	int r;

	if (here)
		return work(of);
	/* One holder for all work of a caller: only it can let the caller's thread go. */
	h = c && c->holder ? c->holder : begin_caller(c, err);
	if (!h)
		return -err->code;
	r = run_work(h, work, of);
	if (!c) {
		end_holder(h);
		return r;
	}
	c->holder = h;
	c->let_go = finish_caller;
	return r;
}

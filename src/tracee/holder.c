/* SPDX-License-Identifier: MIT */
#include "tracee/holder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/caller.h"
#include "tracee/internal.h"

struct holder {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int (*work)(void *of);  /* NULL: it is done */
	void *of;
	int result;
	bool over;              /* no more work comes: the thread frees this */
	struct caller *caller;  /* NULL: nobody */
	pid_t pid;              /* the caller's process */
	struct thread kept;     /* the caller, as long as its answer may change; tid 0: it is not ours */
};

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
	*vec_add(&t->threads) = (struct thread){ .tid = here->kept.tid, .asked_at = clock_ns() };
	thread_stands(&t->threads.at[t->threads.n - 1]);
	here->kept.tid = 0;
}

/* The system call's result is what it got for an answer, unless a signal's handler is to run first. */
static void set_result(pid_t tid, int64_t answered, int64_t result)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) == 0 && (int64_t)regs.rax == answered && result != answered)
		ptrace(PTRACE_POKEUSER, tid, (void *)offsetof(struct user_regs_struct, rax), (void *)result);
}

static int free_caller(void *of)
{
	struct thread *th = &here->kept;

	if (!th->tid)
		return 0;
	set_result(th->tid, here->caller->result, *(const int64_t *)of);
	if (ptrace(PTRACE_DETACH, th->tid, NULL, NULL) < 0)
		stragglers_add(here->pid, 0, th); /* it was killed */
	return 0;
}

/* --- the thread ------------------------------------------------------------------------------- */

static void *hold(void *arg)
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

static struct holder *begin(struct caller *c, struct err *err)
{
	struct holder *h = mem_zalloc(sizeof(*h));
	int e;

	*h = (struct holder){ .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .caller = c };
	e = start(h);
	if (e == 0)
		return h;
	free(h);
	err_set(err, e, "cannot start a thread: %s", strerror(e));
	return NULL;
}

static int run(struct holder *h, int (*work)(void *of), void *of)
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

static void end(struct holder *h)
{
	pthread_mutex_lock(&h->lock);
	h->over = true;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

static void let_go(struct caller *c, int64_t result)
{
	run(c->holder, free_caller, &result);
	end(c->holder);
}

int holder_run(int (*work)(void *of), void *of, struct err *err)
{
	struct caller *c = caller_now();
	struct holder *h;
	int r;

	if (here)
		return work(of);
	h = c && c->holder ? c->holder : begin(c, err);
	if (!h)
		return -err->code;
	r = run(h, work, of);
	if (!c) {
		end(h);
		return r;
	}
	c->holder = h;
	c->let_go = let_go;
	return r;
}

/* SPDX-License-Identifier: MIT */
#include "instance/fork_follow.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shared/tasks.h"
#include "trace/unpack.h"
#include "tracee/proc_status.h"

static const struct { size_t at; enum trace_option option; } of_list[FOLLOW_LISTS] = {
	[FOLLOW_PIDS] = { offsetof(struct settings, pids), OPTION_FUNCTION_FORK },
	[FOLLOW_NOTRACE_PIDS] = { offsetof(struct settings, notrace_pids), OPTION_FUNCTION_FORK },
	[FOLLOW_EVENT_PIDS] = { offsetof(struct settings, event_pids), OPTION_EVENT_FORK },
	[FOLLOW_EVENT_NOTRACE_PIDS] = { offsetof(struct settings, event_notrace_pids), OPTION_EVENT_FORK },
};

static struct pid_list *list_of(const struct settings *s, unsigned i)
{
	return (struct pid_list *)((char *)s + of_list[i].at);
}

static bool is_same(const struct pid_list *a, const struct pid_list *b)
{
	return a->pids.n == b->pids.n && a->all_ended == b->all_ended && (!a->pids.n || !memcmp(a->pids.at, b->pids.at, a->pids.n * sizeof(pid_t)));
}

static void replace(struct pid_list *to, const struct pid_list *from)
{
	pid_list_free(to);
	pid_list_copy(to, from);
}

bool fork_follow_wanted(const struct settings *s)
{
	for (unsigned i = 0; i < FOLLOW_LISTS; i++)
		if ((list_of(s, i)->pids.n || list_of(s, i)->all_ended) && option_is_set(s->options, of_list[i].option))
			return true;
	return false;
}

/* --- settings ----------------------------------------------------------------------- */

static uint32_t event_of(const struct settings *s, const char *name)
{
	const struct event_entry *e = s->events.catalogue ? events_find(s->events.catalogue, "sched", name) : NULL;

	return e ? e->index : UINT32_MAX;
}

struct fork_follow *fork_follow_new(const struct settings *s, const struct pid_list *threads)
{
	struct fork_follow *f = mem_zalloc(sizeof(*f));

	fork_follow_configure(f, s, threads);
	return f;
}

void fork_follow_configure(struct fork_follow *f, const struct settings *s, const struct pid_list *threads)
{
	bool same = true;

	f->fork = event_of(s, "sched_process_fork");
	f->exit = event_of(s, "sched_process_exit");
	for (unsigned i = 0; i < FOLLOW_LISTS; i++) {
		f->follows[i] = option_is_set(s->options, of_list[i].option);
		same = same && is_same(&f->shown[i], list_of(s, i));
	}
	if (!same)
		pid_list_free(&f->ended);
	for (unsigned i = 0; i < FOLLOW_LISTS && !same; i++) {
		replace(&f->lists[i], list_of(s, i));
		replace(&f->shown[i], list_of(s, i));
	}
	for (size_t i = 0; i < threads->pids.n; i++)
		pid_list_add(&f->known, threads->pids.at[i]);
}

void fork_follow_free(struct fork_follow *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < FOLLOW_LISTS; i++) {
		pid_list_free(&f->lists[i]);
		pid_list_free(&f->shown[i]);
	}
	pid_list_free(&f->known);
	pid_list_free(&f->ended);
	for (size_t i = 0; i < f->waiting.n; i++)
		chunk_put(f->waiting.at[i].chunk);
	vec_free(&f->waiting);
	free(f);
}

/* A thread that was there once: a number that somebody wrote into the list may be of none at all. */
static bool has_ended(const struct fork_follow *f, pid_t tid)
{
	struct proc_status status;

	if (pid_list_has(&f->ended, tid))
		return true;
	return pid_list_has(&f->known, tid) &&
	       (proc_status_read(tid, &status) || status.state == 'Z' || status.state == 'X');
}

/* Its last records may be on their way: only who reads the list sees it no more. */
void fork_follow_present(struct fork_follow *f, struct settings *s)
{
	for (unsigned i = 0; i < FOLLOW_LISTS; i++) {
		struct pid_list *shown = &f->shown[i];

		if (!f->follows[i])
			continue;
		replace(shown, &f->lists[i]);
		for (size_t k = f->lists[i].pids.n; k-- > 0;)
			if (has_ended(f, f->lists[i].pids.at[k]))
				pid_list_remove(shown, f->lists[i].pids.at[k]);
		replace(list_of(s, i), shown);
	}
}

/* --- births and ends ---------------------------------------------------------------- */

/* Its creator may have been in the lists when it was made and not be any more: so it is looked when it is told. */
static void is_born(struct fork_follow *f, pid_t parent, pid_t child)
{
	for (unsigned i = 0; i < FOLLOW_LISTS; i++) {
		if (!f->follows[i])
			continue;
		if (pid_list_has(&f->lists[i], parent))
			pid_list_add(&f->lists[i], child);
		else
			pid_list_remove(&f->lists[i], child); /* an earlier thread's number */
	}
	pid_list_add(&f->known, child);
	pid_list_remove(&f->ended, child);
}

static void take(struct fork_follow *f, const struct event *e)
{
	struct task_fork fork;
	struct task_exit exit;

	if (e->kind != EVENT_TRACE)
		return;
	if (e->fn == f->fork && e->count >= sizeof(fork)) {
		memcpy(&fork, e->payload, sizeof(fork));
		is_born(f, fork.parent_pid, fork.child_pid);
	} else if (e->fn == f->exit && e->count >= sizeof(exit)) {
		memcpy(&exit, e->payload, sizeof(exit));
		pid_list_add(&f->ended, exit.pid);
	}
}

static void scan(struct fork_follow *f, const struct chunk *c)
{
	struct unpack u = { .at = c->words, .end = c->words + c->n, .tsc = c->near_tsc, .cpu = c->cpu };
	struct event e;

	while (unpack_next(&u, &e))
		take(f, &e);
}

/* --- chunks ------------------------------------------------------------------------- */

void fork_follow_offer(struct fork_follow *f, struct chunk *c, pid_t tid)
{
	*vec_add(&f->waiting) = (struct fork_follow_chunk){ chunk_get(c), tid };
}

static unsigned allowed(const struct fork_follow *f, pid_t tid)
{
	const struct pid_list *l = f->lists;

	return (pid_lists_allow(&l[FOLLOW_PIDS], &l[FOLLOW_NOTRACE_PIDS], tid) ? CHUNK_FUNCTIONS : 0) |
	       (pid_lists_allow(&l[FOLLOW_EVENT_PIDS], &l[FOLLOW_EVENT_NOTRACE_PIDS], tid) ? CHUNK_EVENTS : 0);
}

/* Somebody who wrote its number into a list knows it. */
static bool is_listed(const struct fork_follow *f, pid_t tid)
{
	for (unsigned i = 0; i < FOLLOW_LISTS; i++)
		if (pid_list_has(&f->lists[i], tid))
			return true;
	return false;
}

bool fork_follow_next(struct fork_follow *f, uint64_t complete, uint64_t patience, struct chunk **c, unsigned *what)
{
	for (size_t i = 0; i < f->waiting.n; i++) {
		struct fork_follow_chunk *w = &f->waiting.at[i];

		if (!pid_list_has(&f->known, w->tid) && !is_listed(f, w->tid) && w->chunk->near_tsc + patience > complete)
			continue;
		pid_list_add(&f->known, w->tid);
		*c = w->chunk;
		*what = allowed(f, w->tid);
		f->waiting.n--;
		memmove(w, w + 1, (f->waiting.n - i) * sizeof(*w));
		scan(f, *c);
		return true;
	}
	return false;
}

/* SPDX-License-Identifier: MIT */
/* Keeps the lists of threads of one buffer up to date and holds back chunks of threads that they
 * have not judged. buffer.c owns it and calls it under the buffer's lock. Fork records are scanned
 * as chunks come out of the queue: a creator that is known comes out at once, so that its children
 * can be judged next. A fork record that is lost delays the child by `patience` and leaves it out
 * of the lists. */
#include "instance/fork_follow.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shared/tasks.h"
#include "trace/unpack.h"
#include "tracee/proc_status.h"

/* Where each list stands in the settings, and the option that makes forks join it. */
static const struct { size_t at; enum trace_option option; } of_list[FOLLOW_LISTS] = {
	[FOLLOW_PIDS] = { offsetof(struct settings, pids), OPTION_FUNCTION_FORK },
	[FOLLOW_NOTRACE_PIDS] = { offsetof(struct settings, notrace_pids), OPTION_FUNCTION_FORK },
	[FOLLOW_EVENT_PIDS] = { offsetof(struct settings, event_pids), OPTION_EVENT_FORK },
	[FOLLOW_EVENT_NOTRACE_PIDS] = { offsetof(struct settings, event_notrace_pids),
					OPTION_EVENT_FORK },
};

/* Casts const away: callers with const settings only read. */
static struct pid_list *list_of(const struct settings *s, unsigned i)
{
	return (struct pid_list *)((char *)s + of_list[i].at);
}

static bool is_same(const struct pid_list *a, const struct pid_list *b)
{
	return a->pids.n == b->pids.n && a->all_ended == b->all_ended &&
	       (!a->pids.n || !memcmp(a->pids.at, b->pids.at, a->pids.n * sizeof(pid_t)));
}

static void replace_list(struct pid_list *to, const struct pid_list *from)
{
	pid_list_free(to);
	pid_list_copy(to, from);
}

/* A list whose threads have all ended counts: it is not an empty one, which would allow
 * everybody. */
bool fork_follow_wanted(const struct settings *s)
{
	for (unsigned i = 0; i < FOLLOW_LISTS; i++)
		if ((list_of(s, i)->pids.n || list_of(s, i)->all_ended) &&
		    option_is_set(s->options, of_list[i].option))
			return true;
	return false;
}

/* --- settings ----------------------------------------------------------------------- */

/* The event's index in the catalogue; UINT32_MAX: there is none, and no record matches. */
static uint32_t event_of(const struct settings *s, const char *name)
{
	const struct event_entry *e =
		s->events.catalogue ? events_find(s->events.catalogue, "sched", name) : NULL;

	return e ? e->index : UINT32_MAX;
}

struct fork_follow *fork_follow_new(const struct settings *s, const struct pid_list *threads)
{
	struct fork_follow *f = mem_zalloc(sizeof(*f));

	fork_follow_configure(f, s, threads);
	return f;
}

void fork_follow_configure(struct fork_follow *f, const struct settings *s,
			   const struct pid_list *threads)
{
	bool same = true;

	f->fork = event_of(s, "sched_process_fork");
	f->exit = event_of(s, "sched_process_exit");
	for (unsigned i = 0; i < FOLLOW_LISTS; i++) {
		f->follows[i] = option_is_set(s->options, of_list[i].option);
		same = same && is_same(&f->shown[i], list_of(s, i));
	}
	/* Lists that the user did not change keep the threads that joined since. */
	if (!same)
		pid_list_free(&f->ended);
	for (unsigned i = 0; i < FOLLOW_LISTS && !same; i++) {
		replace_list(&f->lists[i], list_of(s, i));
		replace_list(&f->shown[i], list_of(s, i));
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

/* Whether a thread that existed has ended. A number that was never seen to exist stays in the list:
 * the user may have written it for a thread to come. */
static bool has_ended(const struct fork_follow *f, pid_t tid)
{
	struct proc_status status;

	if (pid_list_has(&f->ended, tid))
		return true;
	return pid_list_has(&f->known, tid) &&
	       /* A zombie keeps its number until it is waited for, but records nothing more. */
	       (proc_status_read(tid, &status) || status.state == 'Z' || status.state == 'X');
}

/* Removes ended threads only from what readers of the file see. f->lists keeps them, because their
 * last records may still be on their way. */
void fork_follow_present(struct fork_follow *f, struct settings *s)
{
	for (unsigned i = 0; i < FOLLOW_LISTS; i++) {
		struct pid_list *shown = &f->shown[i];

		if (!f->follows[i])
			continue;
		replace_list(shown, &f->lists[i]);
		for (size_t k = f->lists[i].pids.n; k-- > 0;)
			if (has_ended(f, f->lists[i].pids.at[k]))
				pid_list_remove(shown, f->lists[i].pids.at[k]);
		replace_list(list_of(s, i), shown);
	}
}

/* --- births and ends ---------------------------------------------------------------- */

/* Adds a new thread to its creator's lists. The lists are asked when the fork record is scanned:
 * the creator may have left them since. */
static void add_child(struct fork_follow *f, pid_t parent, pid_t child)
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

/* Takes one record's effect. A payload shorter than the structure comes from a program that
 * overwrote it. */
static void follow_event(struct fork_follow *f, const struct event *e)
{
	struct task_fork fork;
	struct task_exit exit;

	if (e->kind != EVENT_TRACE)
		return;
	if (e->fn == f->fork && e->count >= sizeof(fork)) {
		memcpy(&fork, e->payload, sizeof(fork));
		add_child(f, fork.parent_pid, fork.child_pid);
	} else if (e->fn == f->exit && e->count >= sizeof(exit)) {
		memcpy(&exit, e->payload, sizeof(exit));
		pid_list_add(&f->ended, exit.pid);
	}
}

/* Looks for forks and ends in a chunk that was just judged, unpacked without a thread: the chunk
 * may not be resolved yet. */
static void scan_chunk(struct fork_follow *f, const struct chunk *c)
{
	struct unpack u = {
		.at = c->words, .end = c->words + c->n, .tsc = c->near_tsc, .cpu = c->cpu
	};
	struct event e;

	while (unpack_next(&u, &e))
		follow_event(f, &e);
}

/* --- chunks ------------------------------------------------------------------------- */

/* The chunk waits until it is known whose child its thread is: fork's record may be in a chunk of
 * the parent's that comes later. */
void fork_follow_offer(struct fork_follow *f, struct chunk *c, pid_t tid)
{
	*vec_add(&f->waiting) = (struct fork_follow_chunk){ chunk_get(c), tid };
}

/* The chunk_content that the lists allow the thread. */
static unsigned is_allowed(const struct fork_follow *f, pid_t tid)
{
	const struct pid_list *l = f->lists;

	return (pid_lists_allow(&l[FOLLOW_PIDS], &l[FOLLOW_NOTRACE_PIDS], tid) ? CHUNK_FUNCTIONS
									       : 0) |
	       (pid_lists_allow(&l[FOLLOW_EVENT_PIDS], &l[FOLLOW_EVENT_NOTRACE_PIDS], tid)
			? CHUNK_EVENTS
			: 0);
}

/* A thread whose number is in a list needs no fork record. */
static bool is_listed(const struct fork_follow *f, pid_t tid)
{
	for (unsigned i = 0; i < FOLLOW_LISTS; i++)
		if (pid_list_has(&f->lists[i], tid))
			return true;
	return false;
}

bool fork_follow_next(struct fork_follow *f, uint64_t complete, uint64_t patience, struct chunk **c,
		      unsigned *what)
{
	for (size_t i = 0; i < f->waiting.n; i++) {
		struct fork_follow_chunk *w = &f->waiting.at[i];

		if (!pid_list_has(&f->known, w->tid) && !is_listed(f, w->tid) &&
		    w->chunk->near_tsc + patience > complete)
			continue;
		/* Judged once: later chunks of the thread do not wait. */
		pid_list_add(&f->known, w->tid);
		*c = w->chunk;
		*what = is_allowed(f, w->tid);
		f->waiting.n--;
		memmove(w, w + 1, (f->waiting.n - i) * sizeof(*w));
		/* May judge threads whose chunks wait further ahead; the next call begins from the
		 * front again. */
		scan_chunk(f, *c);
		return true;
	}
	return false;
}

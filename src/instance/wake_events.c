/* SPDX-License-Identifier: MIT */
/* Owns a second stream of an instance's records, which runs ahead of the triggers', the wake-ups
 * that were found in it, and what is known of threads' priorities. Called by whoever runs the
 * triggers, with pump_lock; nothing fails.
 *
 * The horizon stands still at a wake whose end is not known: triggers wait for it for a second at
 * most, and longer ones come late, behind younger records, with their own time. */
#include "instance/wake_events.h"

#include <string.h>

#include "base/mem.h"
#include "collect/switches.h"
#include "instance/wakes.h"
#include "shared/record.h"
#include "shared/tasks.h"

#define WORDS (sizeof(struct task_woken) / 8)
#define FOUND_KEPT 1024u /* taken ones at the front of the list, before the others are moved */

/* A thread's notes: whether the instance's lists let its events pass, and its priority as
 * it was asked for in the round `asked`; 0: never. */
struct waked_thread {
	unsigned what;
	uint64_t asked;
	int32_t prio;
};

struct wake_events {
	const struct trace_info *info;
	struct stream *stream;
	struct wakeup *wakeup;
	VEC(struct wakeup_found) found; /* by time; those before `first` are made already */
	size_t first;
	VEC(struct waked_thread) threads; /* by index into info->threads */
	uint64_t round;             /* of wake_events_look() */
	uint64_t at;                /* TSC of the last record that was looked at */
	uint64_t patience;          /* ticks in a second */
	bool ended;
};

/* --- what is wanted --------------------------------------------------------------------------- */

/* A program may have an event of that name itself. */
struct wake_events_armed wake_events_armed(const struct event_set *s)
{
	/* In the order in which the kernel has them. */
	static const char *const names[WAKE_EVENTS] = { "sched_waking", "sched_wakeup" };
	struct wake_events_armed armed = { 0 };

	for (size_t i = 0; s->catalogue && i < WAKE_EVENTS; i++) {
		const struct event_entry *e = events_find(s->catalogue, "sched", names[i]);

		if (e && e->provider == &wakes_provider && event_set_armed(s, e->index))
			armed.at[i] = e;
	}
	return armed;
}

bool wake_events_wanted(const struct event_set *s)
{
	const struct wake_events_armed armed = wake_events_armed(s);

	return armed.at[0] || armed.at[1];
}

/* --- what is found ---------------------------------------------------------------------------- */

/* The time at which the waker's record is put: before the switch in, whose clock is another. Clocks
 * of the two sides may differ by ticks. A wake behind its own switch would confuse every reader. */
static uint64_t time_of(const struct wakeup_found *f)
{
	return f->enter < f->in ? f->enter : f->in - 1;
}

/* wakeup_watch(): wake-ups are found in the order in which their calls return. They are kept by
 * their times, from the end on: most are found nearly in order. */
static void keep_found(void *arg, const struct wakeup_found *f)
{
	struct wake_events *w = arg;
	size_t i;

	(void)vec_add(&w->found);
	for (i = w->found.n - 1; i > w->first && time_of(&w->found.at[i - 1]) > time_of(f); i--)
		w->found.at[i] = w->found.at[i - 1];
	w->found.at[i] = *f;
}

static struct waked_thread *thread_of(struct wake_events *w, uint32_t thread)
{
	while (w->threads.n <= thread)
		*vec_add(&w->threads) = (struct waked_thread){ 0 };
	return &w->threads.at[thread];
}

struct wake_events *wake_events_new(const struct trace_info *info)
{
	struct wake_events *w = mem_zalloc(sizeof(*w));

	w->info = info;
	w->stream = stream_new(false);
	w->wakeup = wakeup_new(info, WAKEUP_BY_WAY);
	w->patience = info->clock.hz;
	wakeup_watch(w->wakeup, keep_found, w);
	return w;
}

void wake_events_free(struct wake_events *w)
{
	if (!w)
		return;
	stream_free(w->stream);
	wakeup_free(w->wakeup);
	vec_free(&w->found);
	vec_free(&w->threads);
	free(w);
}

void wake_events_add(struct wake_events *w, const struct chunk_ref *k)
{
	stream_add(w->stream, k);
}

/* The lists of threads that held when the waker called hold for its wake, too. */
static void look_at(struct wake_events *w, const struct stream_item *i)
{
	w->at = i->time;
	if (i->event->thread >= w->info->threads.n)
		return;
	if (i->event->kind == EVENT_TRACE)
		thread_of(w, i->event->thread)->what = i->ref->what;
	wakeup_event(w->wakeup, i->event);
}

/* `most` bounds the time under pump_lock: the caller comes again until *all. UINT64_MAX is the end
 * of the session, behind which no wake can be completed. */
uint64_t wake_events_look(struct wake_events *w, uint64_t until, size_t most, bool *all)
{
	struct stream_item i;

	w->round++;
	*all = false;
	while (most-- && !*all) {
		*all = !stream_next(w->stream, until, &i);
		if (!*all)
			look_at(w, &i);
	}
	if (*all && until == UINT64_MAX) {
		if (!w->ended)
			wakeup_end(w->wakeup);
		w->ended = true;
		return until;
	}
	return wakeup_horizon(w->wakeup, *all ? until : w->at, w->patience);
}

/* --- records ---------------------------------------------------------------------------------- */

uint64_t wake_events_time(const struct wake_events *w)
{
	return w && w->first < w->found.n ? time_of(&w->found.at[w->first]) : UINT64_MAX;
}

/* Asked for once in a round: three system calls. A priority is asked for late anyway (wakes.c): a
 * round makes that no worse. */
static int32_t priority_of(struct wake_events *w, uint32_t thread)
{
	struct waked_thread *t = thread_of(w, thread);

	if (t->asked != w->round)
		t->prio = wakes_priority((pid_t)w->info->threads.at[thread].tid);
	t->asked = w->round;
	return t->prio;
}

static void fill(struct wake_events *w, const struct wakeup_found *f, struct task_woken *to)
{
	const struct trace_thread *t = &w->info->threads.at[f->wakee];

	*to = (struct task_woken){ .pid = (int32_t)t->tid,
				   .prio = priority_of(w, f->wakee),
				   .target_cpu = f->wakee_cpu };
	memcpy(to->comm, trace_thread_name_at(t, f->in), sizeof(to->comm));
}

/* Makes the record of one event, in a chunk of its own, because a record is shown with the losses
 * and the lists of its chunk. */
static void make_one(struct wake_events *w, const struct wakeup_found *f,
		     const struct event_entry *e, const struct task_woken *woken,
		     void (*make)(void *arg, const struct stream_item *i), void *arg)
{
	const uint64_t tsc = time_of(f);
	const uint32_t id = record_event_id(WORDS, RECORD_EVENT_TRACE + e->index);
	uint64_t words[1 + WORDS] = { record_word(tsc, id, RECORD_EVENT) };
	const struct drain_run run = { .slot = f->waker, .cpu = f->waker_cpu, .near_tsc = tsc,
				       .words = words, .n = 1 + WORDS, .records = 1 };
	const struct event event = { .kind = EVENT_TRACE, .fn = e->index, .payload = words + 1,
				     .count = WORDS * 8, .tsc = tsc, .thread = f->waker,
				     .cpu = f->waker_cpu };
	struct chunk_ref ref = { .what = thread_of(w, f->waker)->what & CHUNK_EVENTS };
	struct stream_item item = { .event = &event, .time = tsc, .ref = &ref, .words = words };

	memcpy(words + 1, woken, sizeof(*woken));
	ref.chunk = chunk_new(&run);
	ref.chunk->resolved = true;
	make(arg, &item);
	chunk_put(ref.chunk);
}

void wake_events_take(struct wake_events *w, const struct wake_events_armed *armed,
		      void (*make)(void *arg, const struct stream_item *i), void *arg)
{
	const struct wakeup_found f = w->found.at[w->first++];
	struct task_woken woken;

	if (w->first == w->found.n)
		w->found.n = w->first = 0;
	if (w->first >= FOUND_KEPT) {
		w->found.n -= w->first;
		memmove(w->found.at, w->found.at + w->first,
			w->found.n * sizeof(*w->found.at));
		w->first = 0;
	}
	fill(w, &f, &woken);
	for (size_t i = 0; i < WAKE_EVENTS; i++)
		if (armed->at[i])
			make_one(w, &f, armed->at[i], &woken, make, arg);
}

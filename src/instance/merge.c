/* SPDX-License-Identifier: MIT */
/* The view of a buffer that `trace`, trace_pipe and the extract counts share: chunks merged by time
 * (stream.c), without what the instance does not want (enum chunk_content, selections), off periods
 * and records that were cleared or read. Callers have pump_lock. Chunks are referenced, so the ring
 * may drop them meanwhile. */
#include "instance/merge.h"

#include <stdlib.h>

#include "base/mem.h"
#include "collect/clock.h"

struct instance_merge {
	struct source source;
	struct stream *stream;
	struct merge_filter filter;
	size_t span;          /* in filter.off: the first that ends after the events seen last */
};

/* Whether recording was off at tsc. Events come by time, so m->span only moves forward; but where
 * the clock puts times right, stamps do not rise with them. An event of a thread that was stamped
 * late belongs to the time before it: callers pass the thread's latest stamp. */
static bool is_off(struct instance_merge *m, uint64_t tsc)
{
	if (m->filter.clock && m->filter.clock->live)
		return off_at(&m->filter.off, tsc);
	while (m->span < m->filter.off.n && m->filter.off.at[m->span].to <= tsc)
		m->span++;
	return m->span < m->filter.off.n && m->filter.off.at[m->span].from <= tsc;
}

/* Whether the instance wants this kind of event from the chunk that has it. */
static bool is_chunk_kept(const struct instance_merge *m, const struct stream_item *i)
{
	const struct chunk_ref *k = i->ref;

	/* Losses are shown by every instance: nobody knows whose the records would have been. */
	if (i->event->kind == EVENT_LOST)
		return true;
	if (i->event->kind == EVENT_SLEPT)
		return k->what & CHUNK_SLEEPS;
	if (i->event->kind != EVENT_TRACE)
		return k->what & CHUNK_FUNCTIONS;
	return k->what & CHUNK_EVENTS &&
	       (!k->events || selection_keeps(k->events, i->event, m->source.info));
}

/* Whether the event passes the CPU filter and was not read or cleared. */
static bool is_unread(const struct instance_merge *m, const struct stream_item *i)
{
	return (!m->filter.one_cpu || i->event->cpu == m->filter.cpu) &&
	       i->stamp >= off_discarded_before(&m->filter.gone, i->event->cpu);
}

/* UINT64_MAX means everything, also records that are stamped so. */
static bool is_early(const struct instance_merge *m, const struct stream_item *i)
{
	return !m->filter.before || m->filter.before == UINT64_MAX ||
	       i->stamp < m->filter.before;
}

/* Sleeps pass whatever period and CPU they are in: they shorten calls that are shown. */
static bool is_sleep(const struct stream_item *i)
{
	return i->event->kind == EVENT_SLEPT;
}

/* source_ops.next. */
static int merge_next(struct source *s, struct event *out, struct err *err)
{
	struct instance_merge *m = (struct instance_merge *)s;
	struct stream_item i;

	while (stream_next(m->stream, m->filter.until, &i))
		if (is_early(m, &i) &&
		    (is_sleep(&i) ? is_chunk_kept(m, &i)
				  : !is_off(m, i.stamp) && is_chunk_kept(m, &i) &&
					    is_unread(m, &i))) {
			*out = *i.event;
			return 1;
		}
	return 0;
}

static void close_merge(struct source *s)
{
	struct instance_merge *m = (struct instance_merge *)s;

	stream_free(m->stream);
	vec_free(&m->filter.off);
	vec_free(&m->filter.gone);
	free(m);
}

struct source *merge_chunks(struct trace_info *info, chunk_list *chunks,
			    const struct merge_filter *filter)
{
	static const struct source_ops ops = { merge_next, close_merge };
	struct instance_merge *m = mem_zalloc(sizeof(*m));

	m->source = (struct source){ .ops = &ops, .info = info };
	m->stream = stream_new(false);
	stream_set_clock(m->stream, filter->clock);
	m->filter.clock = filter->clock;
	m->filter.before = filter->before;
	m->filter.one_cpu = filter->one_cpu;
	m->filter.cpu = filter->cpu;
	off_periods_copy(&m->filter.off, &filter->off);
	off_discards_copy(&m->filter.gone, &filter->gone);
	merge_more(&m->source, chunks, filter->until ? filter->until : UINT64_MAX);
	return &m->source;
}

void merge_more(struct source *source, chunk_list *chunks, uint64_t until)
{
	struct instance_merge *m = (struct instance_merge *)source;

	m->filter.until = until;
	for (size_t i = 0; i < chunks->n; i++)
		if (chunks->at[i].chunk->resolved)
			stream_add(m->stream, &chunks->at[i]);
	chunk_list_free(chunks);
}

/* SPDX-License-Identifier: MIT */
#include "instance/merge.h"

#include <stdlib.h>

#include "base/mem.h"

struct merge {
	struct source source;
	struct stream *stream;
	struct merge_filter filter;
	size_t span;          /* in filter.off: the first that ends after the events seen last */
};

/* Events come by time, but for those of a thread that were stamped late: these belong to what was before. */
static bool is_off(struct merge *m, uint64_t tsc)
{
	while (m->span < m->filter.off.n && m->filter.off.at[m->span].to <= tsc)
		m->span++;
	return m->span < m->filter.off.n && m->filter.off.at[m->span].from <= tsc;
}

static bool is_chunk_kept(const struct merge *m, const struct stream_item *i)
{
	const struct chunk_ref *k = i->ref;

	if (i->event->kind == EVENT_LOST)
		return true;
	if (i->event->kind == EVENT_SLEPT)
		return k->what & CHUNK_SLEEPS;
	if (i->event->kind != EVENT_TRACE)
		return k->what & CHUNK_FUNCTIONS;
	return k->what & CHUNK_EVENTS &&
	       (!k->events || selection_keeps(k->events, i->event, m->source.info));
}

static bool is_wanted(const struct merge *m, const struct stream_item *i)
{
	return (!m->filter.one_cpu || i->event->cpu == m->filter.cpu) && i->time >= discard_time(&m->filter.gone, i->event->cpu);
}

/* Whenever and wherever a thread slept: calls that are shown were open. */
static bool is_sleep(const struct stream_item *i)
{
	return i->event->kind == EVENT_SLEPT;
}

static int next(struct source *s, struct event *out, struct err *err)
{
	struct merge *m = (struct merge *)s;
	struct stream_item i;

	while (stream_next(m->stream, m->filter.until, &i))
		if (is_sleep(&i) ? is_chunk_kept(m, &i) : !is_off(m, i.time) && is_chunk_kept(m, &i) && is_wanted(m, &i)) {
			*out = *i.event;
			return 1;
		}
	return 0;
}

static void close_merge(struct source *s)
{
	struct merge *m = (struct merge *)s;

	stream_free(m->stream);
	vec_free(&m->filter.off);
	vec_free(&m->filter.gone);
	free(m);
}

struct source *merge_chunks(struct trace_info *info, chunk_list *chunks, const struct merge_filter *filter)
{
	static const struct source_ops ops = { next, close_merge };
	struct merge *m = mem_zalloc(sizeof(*m));

	m->source = (struct source){ .ops = &ops, .info = info };
	m->stream = stream_new(false);
	m->filter.one_cpu = filter->one_cpu;
	m->filter.cpu = filter->cpu;
	m->filter.until = filter->until ? filter->until : UINT64_MAX;
	off_periods_copy(&m->filter.off, &filter->off);
	discard_times_copy(&m->filter.gone, &filter->gone);
	for (size_t i = 0; i < chunks->n; i++)
		if (chunks->at[i].chunk->resolved)
			stream_add(m->stream, &chunks->at[i]);
	chunk_list_free(chunks);
	return &m->source;
}

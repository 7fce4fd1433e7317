/* SPDX-License-Identifier: MIT */
/* Owns the counts of a trace's events while it is exported: a number for each lane and kind, which
 * grows with each event. An exporter calls it from its walk, on the command's thread. Nothing here
 * fails: an event whose format lacks the field is not counted. */
#include "export/event_counts.h"

#include <string.h>

#include "report/event_fields.h"

/* The offset is the trace's own: the format is that of the kernel where it was recorded. */
static struct counted_event look_up(const struct trace_event *e)
{
	struct counted_event found = { .kind = (uint8_t)counter_events_kind(e) };
	struct event_format *f;

	if (found.kind == COUNTER_EVENTS_N || !counter_events[found.kind].by)
		return found;
	f = event_format_parse(e->format, strlen(e->format), e->system, NULL);
	found.by = f ? event_fields_offset(f, counter_events[found.kind].by, 4) : 0;
	event_format_free(f);
	if (!found.by)
		found.kind = COUNTER_EVENTS_N;
	return found;
}

void event_counts_init(struct event_counts *c, const struct trace_info *info)
{
	*c = (struct event_counts){ .info = info };
	for (size_t i = 0; i < info->events.n; i++)
		*vec_add(&c->events) = look_up(&info->events.at[i]);
}

void event_counts_free(struct event_counts *c)
{
	vec_free(&c->events);
	vec_free(&c->counts);
}

uint64_t event_counts_count(struct event_counts *c, const struct walk_step *s, unsigned *kind)
{
	const size_t at = (size_t)s->lane * COUNTER_EVENTS_N;
	const struct trace_event *e =
		s->kind == WALK_EVENT ? trace_info_event(c->info, s->event->fn) : NULL;
	struct counted_event of;

	if (!e)
		return 0;
	of = c->events.at[e - c->info->events.at];
	if (of.kind == COUNTER_EVENTS_N)
		return 0;
	if (of.by &&
	    event_fields_number(s->event, of.by, 4) != c->info->threads.at[s->thread].tid)
		return 0;
	while (c->counts.n < at + COUNTER_EVENTS_N)
		*vec_add(&c->counts) = 0;
	*kind = of.kind;
	return ++c->counts.at[at + of.kind];
}

const char *event_counts_name(unsigned kind)
{
	return counter_events[kind].name;
}

/* SPDX-License-Identifier: MIT */
/* Makes the payloads of ftrace:kernel_stack, user_stack and func_repeats, in the layout of the
 * kernel's formats (event/builtin.c). triggers.c owns the state and writes the results into the
 * buffer as if the programs had recorded them, with the time of the record that caused them. A
 * catalogue without the event means no record. */
#include "instance/synthesized.h"

#include <string.h>

#include "base/mem.h"

#define USER_FRAMES 8 /* in the format of ftrace:user_stack */
/* Frames of a stack's record; one payload word is their number. */
#define FRAMES (RECORD_PAYLOAD_MAX - 1)
/* The kernel's counter has 16 bits; a new record begins at its end. */
#define REPEATS_MAX UINT16_MAX

/* Writes the record's first word. False: the catalogue does not have the event. */
static bool fill_head(struct event_catalogue *events, const char *name, const struct stream_item *i,
		      unsigned payload, uint64_t *words)
{
	const struct event_entry *e = events ? events_find(events, "ftrace", name) : NULL;

	if (e)
		words[0] = record_word(i->event->tsc,
				       record_event_id(payload, RECORD_EVENT_TRACE + e->index),
				       RECORD_EVENT);
	return e;
}

size_t synthesized_addresses(struct open_calls *o, struct frames *frames,
			     const struct stream_item *i, uint64_t *to, size_t max)
{
	const struct event *e = i->event;

	if (i->stack)
		return frames_walk(frames, o->info->threads.at[e->thread].image, e->tsc, i->stack,
				   to, max);
	return open_calls_addresses(o, e, to, max);
}

bool synthesized_stack(struct open_calls *o, struct frames *frames, struct event_catalogue *events,
		       const struct stream_item *i, bool user, uint64_t *words)
{
	size_t n;

	memset(words, 0, SYNTHESIZED_WORDS * sizeof(*words));
	n = synthesized_addresses(o, frames, i, words + 2, user ? USER_FRAMES : FRAMES);
	if (!n) /* no call is known: the kernel's readers do not know empty stacks */
		return false;
	words[1] = user ? o->info->threads.at[i->event->thread].pid : n;
	return fill_head(events, user ? "user_stack" : "kernel_stack", i,
			 1 + (user ? USER_FRAMES : (unsigned)n), words);
}

/* --- repeats ------------------------------------------------------------------------ */

void synthesized_repeats_free(struct repeats *r)
{
	vec_free(&r->threads);
}

/* The fields count (16 bits) and the ns since the last repetition (48 bits: the upper 16 of them,
 * then the lower 32), as the kernel's format orders them. */
static uint64_t count_word(const struct repeated *was, uint64_t ago_ns)
{
	return was->count | (ago_ns >> 32 & 0xffff) << 16 | (ago_ns & UINT32_MAX) << 32;
}

/* Writes the func_repeats record of a call that is over. */
static void tell_repeats(const struct repeated *was, const struct trace_info *info,
			 struct event_catalogue *events, const struct stream_item *i,
			 uint64_t *words)
{
	uint32_t image = info->threads.at[i->event->thread].image;
	/* A record that was stamped late lies before the last repetition. */
	uint64_t ago = i->time > was->last ? i->time - was->last : 0;

	words[1] = open_calls_function(info, image, was->fn);
	words[2] = trace_info_site(info, image, was->site);
	words[3] = count_word(was, trace_clock_delta_ns(&info->clock, ago));
	if (!fill_head(events, "func_repeats", i, 3, words))
		words[0] = 0;
}

bool synthesized_repeats_take(struct repeats *r, const struct trace_info *info,
			      struct event_catalogue *events, const struct stream_item *i,
			      uint64_t *words)
{
	const struct event *e = i->event;
	struct repeated *was;

	*words = 0;
	while (r->threads.n <= e->thread)
		*vec_add(&r->threads) = (struct repeated){ 0 };
	was = &r->threads.at[e->thread];
	if (was->known && was->fn == e->fn && was->site == e->site && was->count < REPEATS_MAX) {
		was->count++;
		was->last = i->time;
		return true;
	}
	if (was->count)
		tell_repeats(was, info, events, i, words);
	*was = (struct repeated){ true, e->fn, e->site, 0, i->time };
	return false;
}

/* SPDX-License-Identifier: MIT */
/* Counts events by their headers alone, without their times and threads. The pump's thread feeds
 * it every chunk once somebody has asked (profiling.c), a reader of the file asks; nothing fails.
 * Words come from programs: a payload may claim to go on behind the chunk's end. */
#include "instance/hits.h"

#include "shared/record.h"

void hits_free(struct hits *h)
{
	vec_free(&h->at);
}

static void count_event(struct hits *h, uint32_t event)
{
	if (event >= RECORD_TRACES)
		return;
	while (h->at.n <= event)
		*vec_add(&h->at) = 0;
	h->at.at[event]++;
}

void hits_feed(struct hits *h, const struct chunk *c)
{
	for (size_t i = 0; i < c->n; i += 1 + record_payload(c->words[i]))
		if (record_kind(c->words[i]) == RECORD_EVENT &&
		    record_type(c->words[i]) >= RECORD_EVENT_TRACE)
			count_event(h, record_type(c->words[i]) - RECORD_EVENT_TRACE);
}

uint64_t hits_of(const struct hits *h, uint32_t event)
{
	return event < h->at.n ? h->at.at[event] : 0;
}

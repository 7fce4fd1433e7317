/* SPDX-License-Identifier: MIT */
/* Matches arguments with their calls. unpack.c calls it for readers that want arguments. The
 * records come from the traced program's memory: arguments whose call does not follow are dropped
 * when newer ones find their call, or need the room. */
#include "trace/call_arguments.h"

#include <string.h>

#include "trace/event.h"

void call_arguments_add(struct call_arguments *a, const uint64_t *payload, unsigned n)
{
	struct waiting_arguments *w;

	if (a->n == CALL_ARGUMENTS_MOST) {
		memmove(a->at, a->at + 1, (CALL_ARGUMENTS_MOST - 1) * sizeof(*a->at));
		a->n--;
	}
	w = &a->at[a->n++];
	w->fn = (uint32_t)payload[0];
	w->words = (uint16_t)(n - 1);
	w->called = false;
	memcpy(w->payload, payload + 1, w->words * sizeof(*payload));
}

void call_arguments_tell(struct call_arguments *a, struct event *e)
{
	uint32_t i = a->n;

	if (e->kind == EVENT_LOST)
		a->n = 0;
	if (!event_is_call(e))
		return;
	while (i && (a->at[i - 1].fn != e->fn || (e->kind == EVENT_CALL && a->at[i - 1].called)))
		i--;
	if (!i)
		return;
	e->flags |= EVENT_ARGUMENTS;
	e->payload = a->at[i - 1].payload;
	e->count = 8 * (uint64_t)a->at[i - 1].words;
	/* Arguments above it are of calls that were not recorded. */
	a->n = e->kind == EVENT_CALL ? i : i - 1;
	a->at[i - 1].called = true;
}

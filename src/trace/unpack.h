/* SPDX-License-Identifier: MIT */
/* Record words to events: the one place that knows what each record says. */
#pragma once
#include "trace/event.h"
#include "trace/stack_copy.h"

struct unpack {
	const uint64_t *at, *end; /* whole records of one thread */
	uint64_t tsc;             /* full, near the next record */
	uint32_t thread;
	uint16_t cpu;             /* where the next record was written */
	const uint64_t *record;   /* the last event's */
	struct stack_copy **stack; /* where stacks are put together, the thread's own, made with the first and for the owner
	                             to free; NULL: they are passed over */
};

/* The next event (payload points into the words); false when there is none left. Records that are no events (a change of CPU,
 * a type of a newer version) are passed over. */
bool unpack_next(struct unpack *u, struct event *out);

/* SPDX-License-Identifier: MIT */
/* Turns record words into events: the one place that knows the layout of each record. */
#pragma once
#include "trace/event.h"
#include "trace/call_arguments.h"
#include "trace/stack_copy.h"

struct unpack {
	const uint64_t *at, *end; /* whole records of one thread */
	uint64_t tsc;             /* full, near the next record */
	uint32_t thread;
	uint16_t cpu;             /* where the next record was written */
	const uint64_t *record;   /* the last event's record */
	/* where stack copies are put together: the thread's own, made with the first piece, freed
	 * by the owner; NULL: stack records are skipped */
	struct stack_copy **stack;
	/* where arguments wait for their calls: as `stack`; NULL: they are skipped */
	struct call_arguments **arguments;
};

/* Gives the next event (its payload points into the words); false when there is none left. Records
 * that are no events (a change of CPU, a type of a newer version) are skipped. */
bool unpack_next(struct unpack *u, struct event *out);

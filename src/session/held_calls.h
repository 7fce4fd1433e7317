/* SPDX-License-Identifier: MIT */
/* Holds back the records of calls that begin a graph until it is known what they return, where a
 * condition (`-g 'f if $retval < 0'`) decides by that whether they are kept: the call and all that
 * it called go on together, or nothing of it does. On the session's thread. */
#pragma once
#include "collect/drain.h"
#include "trace/trace_info.h"

/* Words that one thread's calls may have to wait, and those of all threads together. */
#define HELD_THREAD_WORDS (512u << 10)
#define HELD_WORDS (8u << 20)

struct held_counts {
	uint32_t open;     /* calls that have not returned: they wait, or are left out */
	uint32_t too_long; /* calls of which more came than can be held, or records were lost */
};

/* info must outlive it, and may grow. */
struct held_calls *held_calls_new(const struct trace_info *info);
void held_calls_free(struct held_calls *h); /* NULL is fine */
/* The info has new functions, or others are selected. */
void held_calls_renew(struct held_calls *h);

/* Takes the next run of a thread, whose index in info it is, and gives the sink the records that
 * are decided by now, in runs. Records that are left out count neither as kept nor as lost; those
 * of calls that are too long, and what they called, count as lost. The sink's error, or 0. */
int held_calls_take(struct held_calls *h, uint32_t thread, const struct drain_run *run,
		    drain_sink *sink, void *context, struct err *err);
/* Nothing comes any more: the sink gets what is decided, and calls that have not returned are left
 * out. The sink's error, or 0. */
int held_calls_end(struct held_calls *h, drain_sink *sink, void *context, struct err *err);
struct held_counts held_calls_counts(const struct held_calls *h);

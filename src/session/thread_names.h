/* SPDX-License-Identifier: MIT */
/* The names of a session's threads, each with the time from which it holds: from the threads
 * themselves (shared/memory.h), from sources that tell names (collect/producer.h), and from /proc.
 * Called only by the thread that may write the session's trace_info. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/processes.h"
#include "collect/slots.h"

struct session;

struct named_thread {
	uint32_t slot;       /* slots.h; UINT32_MAX: not a thread of the session */
	uint32_t seen;       /* names taken of those that it gave itself */
	uint64_t looked_tsc; /* last look at /proc */
	bool gone;           /* the thread has ended */
};

struct thread_names {
	VEC(struct named_thread) at;      /* by thread of the trace_info */
	struct processes processes[MEMORIES_MAX];
	uint64_t since_tsc;               /* since when `looks` are counted */
	uint32_t looks;
	/* thread_names_look: its last time, and the slot that it reached */
	uint64_t round_tsc;
	uint32_t memory, slot;
	bool spoiled; /* a count made no sense, and a note says so */
};

/* Begins with a thread that is new in the trace_info, where it has its first name. slot: its
 * own. */
void thread_names_begin(struct session *s, uint32_t slot, uint32_t thread);
/* Takes the thread's newer names, because records of it came. */
void thread_names_follow(struct session *s, uint32_t thread);
/* Looks at some of the threads that have written, whether their records have come or not; at most
 * ten times a second, else does nothing. True: the trace_info has new names. */
bool thread_names_look(struct session *s);
/* Takes all names that are known now. */
void thread_names_all(struct session *s);
void thread_names_free(struct thread_names *n);

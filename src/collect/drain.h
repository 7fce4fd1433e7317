/* SPDX-License-Identifier: MIT */
/* Turns sub-buffers into runs of whole records: thread by thread, each thread's in their order. */
#pragma once
#include "base/vec.h"
#include "collect/shared_memory.h"

struct drain_run {
	uint32_t slot;            /* thread slot in the session (slots.h) */
	uint16_t cpu;             /* where the first record was written */
	/* at most 2^39 ticks before the first record; in a run without records: a time by which
	 * the thread had ended, and after its last one */
	uint64_t near_tsc;
	/* records of this thread, kept and lost, before everything in this run */
	uint64_t position;
	uint64_t lost;            /* records of this thread lost right before the run */
	const uint64_t *words;    /* whole records; valid during the call */
	size_t n;                 /* 0: the run tells only of losses at the thread's end */
	uint64_t calls, records;  /* in the run */
};

/* Takes one run. -errno (and *err) ends the pass. */
typedef int drain_sink(void *context, const struct drain_run *run, struct err *err);

struct drain;
/* A drain belongs to one thread: the session's, or that of `brace recover`. The memory has to
 * outlive it. Neither function fails. */
struct drain *drain_new(struct shared_memory *memory);
/* Pages of zeros that were found among reserved records: no thread leaves so many slots, so
 * somebody took the pages out of the memory. Each is counted once. */
uint64_t drain_hollow_pages(const struct drain *d);
void drain_free(struct drain *d);

/* Looks once at all sub-buffers. Takes FULL sub-buffers whole and gives them back; with `partial`,
 * also takes the present content of FILLING ones. Losses at the end of a thread that is found gone
 * come as a run without records behind its last run, with the time of the look. Returns the number
 * of runs, or -errno. */
int drain_pass(struct drain *d, bool partial, drain_sink *sink, void *context, struct err *err);

/* Overwrite mode, in which nothing is taken before the end: when sub-buffers become scarce, gives
 * back the older half of those whose threads ended, and counts what stood in them. Does nothing in
 * other modes. */
void drain_recycle(struct drain *d);

/* The last pass, after the last writer stopped. Takes everything, the rings of overwrite mode too.
 * Returns the number of runs, or -errno. Losses that no pass has told come as in drain_pass(), with
 * the time of the newest record of all threads. Losses of threads that got no slot belong to no run
 * and are added to *lost. */
int drain_finish(struct drain *d, drain_sink *sink, void *context, uint64_t *lost, struct err *err);

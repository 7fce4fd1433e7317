/* SPDX-License-Identifier: MIT */
/* From sub-buffers to runs of whole records, thread by thread, in each thread's order. */
#pragma once
#include "base/vec.h"
#include "collect/shared_memory.h"

struct drain_run {
	uint32_t slot;            /* the thread's, in the session (slots.h) */
	uint16_t cpu;             /* of its first record */
	uint64_t near_tsc;        /* at most 2^39 ticks before its first record; of no records: when the thread's last was */
	uint64_t position;        /* records of this thread, kept and lost, before all that is told here */
	uint64_t lost;            /* records of this thread lost before it */
	const uint64_t *words;    /* whole records; valid during the call */
	size_t n;                 /* 0: it tells only what its thread lost at its end */
	uint64_t calls, records;  /* among them */
};

/* Takes one run; -errno (and *err) ends the pass. */
typedef int drain_sink(void *context, const struct drain_run *run, struct err *err);

struct drain;
struct drain *drain_new(struct shared_memory *memory);
void drain_free(struct drain *d);

/* One pass. FULL sub-buffers are taken whole and given back; with `partial`, what FILLING
 * ones hold so far as well. Returns how many runs, or -errno. */
int drain_pass(struct drain *d, bool partial, drain_sink *sink, void *context, struct err *err);

/* Overwrite mode, where nothing is taken before the end: when sub-buffers become scarce, the older half of those
 * whose threads ended is given back, what stood in them counted. Otherwise nothing. */
void drain_recycle(struct drain *d);

/* The last pass: nobody writes any more. Everything comes out, overwrite mode's rings too; returns
 * runs or -errno. What a thread lost at its end comes as a run of no records, behind its last. Losses of threads
 * that got no slot, and so have no run, are added to *lost. */
int drain_finish(struct drain *d, drain_sink *sink, void *context, uint64_t *lost, struct err *err);

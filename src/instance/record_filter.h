/* SPDX-License-Identifier: MIT */
/* When several instances trace functions, the programs record the union of what they select. A
 * record filter extracts from a thread's records those that the programs would have made for its
 * instance alone. Not locked: one thread at a time calls it, with pump_lock. */
#pragma once
#include "instance/ring.h"
#include "model/settings.h"
#include "shared/filter.h"
#include "trace/tracks.h"

/* The answers of settings_trace() for one image, by function id. */
struct record_filter_image {
	VEC(uint8_t) traced; /* 0: not looked up yet */
	/* of functions with a condition on their arguments; NULL: they have none */
	VEC(struct filter_program *) conditions;
};

struct record_filter {
	bool begun;          /* sites and tracks are initialized */
	bool graph;
	/* false: calls that are open at the beginning belong to the instance */
	bool others_before;
	struct settings settings;
	VEC(struct record_filter_image) images;
	VEC(struct call_arguments *) arguments; /* by thread: of its next call; NULL: none */
	struct sites sites;
	struct tracks tracks;
	struct chunk *one;   /* the result of record_filter_record */
};

/* s: settings whose tracer is not nop. alone: no other instance traced functions before, so that
 * exits of calls whose entry was never seen are the instance's. */
struct record_filter *record_filter_new(const struct settings *s, bool alone);
/* Takes other filters over and keeps the open calls. False: the tracer differs; make a new record
 * filter. */
bool record_filter_configure(struct record_filter *s, const struct settings *settings);
void record_filter_free(struct record_filter *s); /* NULL is fine */
/* Returns a new chunk with those records of the resolved chunk c that are the instance's; NULL:
 * none are. The caller passes a thread's chunks in their order and owns the result. */
struct chunk *record_filter_chunk(struct record_filter *s, const struct trace_info *info,
				  const struct chunk *c);
/* Returns the words of the instance's record made from e, valid until the next call; NULL: it has
 * none. words: e's own; NULL: e is EVENT_LOST. */
const uint64_t *record_filter_record(struct record_filter *s, const struct trace_info *info,
				     const struct event *e, const uint64_t *words);

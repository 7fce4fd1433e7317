/* SPDX-License-Identifier: MIT */
/* What one instance sees of functions that several trace: out of a thread's records as the programs made them for all,
 * those they would have made for this instance alone. */
#pragma once
#include "instance/ring.h"
#include "model/settings.h"
#include "trace/tracks.h"

struct sieve_image {
	VEC(uint8_t) traced; /* by function id: enum, 0 = not looked up yet */
};

struct sieve {
	bool begun;          /* from here on sites and tracks are */
	bool graph;
	bool others_before;  /* else calls that are open when it begins are the instance's own */
	struct settings settings;
	VEC(struct sieve_image) images;
	struct sites sites;
	struct tracks tracks;
	struct chunk *one;   /* what sieve_record gives */
};

/* For these settings, whose tracer is not nop. alone: no other instance traced functions up to now. */
struct sieve *sieve_new(const struct settings *s, bool alone);
/* Other filters; false: another tracer needs another sieve. */
bool sieve_configure(struct sieve *s, const struct settings *settings);
void sieve_free(struct sieve *s); /* NULL is fine */
/* A settled chunk's records that are the instance's: a chunk of its own, or NULL if nothing is. A thread's chunks
 * come in their order. */
struct chunk *sieve_chunk(struct sieve *s, const struct trace_info *info, const struct chunk *c);
/* The same of one record after the other: e, which stands at `words` (NULL: EVENT_LOST). What the instance has of
 * it, until the next call; NULL: nothing. */
const uint64_t *sieve_record(struct sieve *s, const struct trace_info *info, const struct event *e,
			     const uint64_t *words);

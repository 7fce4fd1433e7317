/* SPDX-License-Identifier: MIT */
/* When one thread did not run: stretches of TSC, by time, apart from each other. */
#pragma once
#include <stdint.h>

#include "base/vec.h"

struct sleep {
	uint64_t from, to;
	uint64_t before;         /* ticks slept in all before it */
};

/* Of very many, neighbours become one: a stretch in which the thread slept now and then. The older, the longer, up to 1/2048 of
 * the time since then; so much may be wrong of what is said of a call that began then. */
struct sleeps {
	VEC(struct sleep) at;
	uint64_t total;          /* ticks, with those that were dropped */
};

/* One more, after all that are there (what overlaps them is cut off). */
void sleeps_add(struct sleeps *s, uint64_t from, uint64_t to);
/* Ticks slept in stretch i. */
uint64_t sleeps_ticks(const struct sleeps *s, size_t i);
/* The first n are no more. */
void sleeps_drop(struct sleeps *s, size_t n);
/* The first n become one. */
void sleeps_fuse(struct sleeps *s, size_t n);
/* Ticks slept from begin to end: at most so many as that is long. */
uint64_t sleeps_between(const struct sleeps *s, uint64_t begin, uint64_t end);
void sleeps_free(struct sleeps *s);

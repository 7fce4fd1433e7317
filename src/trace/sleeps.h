/* SPDX-License-Identifier: MIT */
/* When one thread did not run: stretches of TSC, by time, disjoint. */
#pragma once
#include <stdint.h>

#include "base/vec.h"

struct sleep {
	uint64_t from, to;
	uint64_t before;         /* ticks slept before it, in all */
};

/* If there are very many, neighbours become one: a stretch in which the thread slept now and then.
 * The older a stretch, the longer it may be, up to 1/2048 of the time since then; by as much a
 * duration may be wrong that began then. */
struct sleeps {
	VEC(struct sleep) at;
	uint64_t total;          /* ticks of all, with those that were dropped */
};

/* Adds a stretch after all others; an overlap is cut off. */
void sleeps_add(struct sleeps *s, uint64_t from, uint64_t to);
/* Ticks slept in stretch i. */
uint64_t sleeps_ticks(const struct sleeps *s, size_t i);
/* Drops the first n stretches. */
void sleeps_drop(struct sleeps *s, size_t n);
/* Makes one of the first n stretches. */
void sleeps_fuse(struct sleeps *s, size_t n);
/* Ticks slept between begin and end, at most end - begin. */
uint64_t sleeps_between(const struct sleeps *s, uint64_t begin, uint64_t end);
void sleeps_free(struct sleeps *s);

/* SPDX-License-Identifier: MIT */
/* One long thread of a trace, added up by several cores. Each takes a part of its events, and takes
 * on trust what was open where that begins; when all have ended, the end of each part is held
 * against what the next one began with. A part that began with anything else is read again, after
 * the one before: the sums are those of one core that reads everything. */
#pragma once
#include <pthread.h>

#include "report/summary.h"
#include "report/tally.h"

/* The sums of a thread, in up to `n` tallies that its owner adds up. */
struct segments { struct tally **at; size_t n; };

/* Adds the thread up in so many parts. 1: that cannot be told of this thread, and nothing was done;
 * else 0, or -errno and *err of the input; segments_free() in any case. Runs parts - 1 threads
 * beside the calling one. `lock` protects in->open_part. */
int segments_tally(const struct summary_input *in, uint32_t thread, unsigned parts,
		   pthread_mutex_t *lock, struct segments *out, struct err *err);
void segments_free(struct segments *s);

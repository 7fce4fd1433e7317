/* SPDX-License-Identifier: MIT */
/* Events of two sources in the order of time. One thread at a time; nothing fails. */
#pragma once
#include "base/vec.h"
#include "follow/kernel.h"

/* Zeroed: there are none. */
struct follow_merge { VEC(struct follow_event) at; size_t given; };

/* Behind all that are not later: each source's own order holds where it gives times in order. */
void follow_merge_add(struct follow_merge *m, const struct follow_event *e);
/* Gives those until this time, which is the latest one of which both sources have told all. */
void follow_merge_give(struct follow_merge *m, uint64_t until_ns, follow_sink *sink,
		       void *context);
void follow_merge_free(struct follow_merge *m);

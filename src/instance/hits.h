/* SPDX-License-Identifier: MIT */
/* The number of records of each event, in all threads and whatever the buffers keep: kprobe_profile
 * and uprobe_profile. All functions need the session's pump_lock. */
#pragma once
#include "instance/chunk.h"

/* By the event's index in the catalogue. All zeros at first. */
struct hits { VEC(uint64_t) at; };

void hits_free(struct hits *h); /* what it has, not *h */
/* Counts the chunk's events. */
void hits_feed(struct hits *h, const struct chunk *c);
/* The number so far; 0 of an event that never came. */
uint64_t hits_of(const struct hits *h, uint32_t event);

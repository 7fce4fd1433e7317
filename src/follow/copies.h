/* SPDX-License-Identifier: MIT */
/* Calls of the kernel that took bytes of a followed buffer elsewhere, in which no copy was told:
 * into a pipe, behind the bytes of a packet that waits, by direct I/O. What they made is not
 * followed, and the user is told so. One thread at a time. */
#pragma once
#include <stdbool.h>

#include "base/vec.h"
#include "follow/kernel.h"

struct follow_copies_row { const char *function; uint64_t calls; };

/* A call that has not returned. */
struct follow_copies_call { uint32_t tid, function; bool copied; };

/* Zeroed: there are none yet. */
struct follow_copies {
	VEC(struct follow_copies_call) open;
	VEC(struct follow_copies_row) rows; /* by the first call of each */
	bool buffer;             /* an event was a buffer's */
};

/* Takes the next event of the kernel's, in order of time, and its function, whose name is to live
 * as long as *c; NULL: it is not known. */
void follow_copies_event(struct follow_copies *c, const struct follow_event *e,
			 const struct follow_function *f);
/* The number of calls that the rows have together. */
uint64_t follow_copies_calls(const struct follow_copies *c);
void follow_copies_free(struct follow_copies *c);

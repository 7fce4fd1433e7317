/* SPDX-License-Identifier: MIT */
/* Records that brace makes from a thread's records: the stack after a record (ftrace:kernel_stack,
 * ftrace:user_stack), and the number of times that a call was repeated (ftrace:func_repeats). Not
 * locked; the triggers call them under pump_lock. */
#pragma once
#include "event/catalogue.h"
#include "instance/frames.h"
#include "instance/open_calls.h"
#include "instance/stream.h"
#include "shared/record.h"

#define SYNTHESIZED_WORDS (1 + RECORD_PAYLOAD_MAX)

/* Writes the stack of i's thread at i into words (SYNTHESIZED_WORDS): from the copy of its stack if
 * there is one, else from the calls recorded so far, to which i was fed before. user: as
 * userstacktrace, at most eight calls; else as many as a record holds. False: the event does not
 * exist, or no open call is known. */
bool synthesized_stack(struct open_calls *o, struct frames *frames, struct event_catalogue *events,
		       const struct stream_item *i, bool user, uint64_t *words);

/* Writes the addresses of that stack, at most max, innermost first. Returns their number; 0: no
 * open call is known. */
size_t synthesized_addresses(struct open_calls *o, struct frames *frames,
			     const struct stream_item *i, uint64_t *to, size_t max);

/* A thread's last call, and the number of times it was repeated since. */
struct repeated { bool known; uint32_t fn, site, count; uint64_t last; };
struct repeats { VEC(struct repeated) threads; };

void synthesized_repeats_free(struct repeats *r); /* leaves *r empty, ready for use */
/* Takes i, an EVENT_CALL. True: the call repeats the one before and is only counted. False: words
 * has the func_repeats record of the call before, which is to be written first, or begins with 0 if
 * that was not repeated. */
bool synthesized_repeats_take(struct repeats *r, const struct trace_info *info,
			      struct event_catalogue *events, const struct stream_item *i,
			      uint64_t *words);

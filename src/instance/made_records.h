/* SPDX-License-Identifier: MIT */
/* Records that no program wrote: what brace makes of the records of a thread so far. A stack behind a record
 * (ftrace:kernel_stack, ftrace:user_stack), and how often a call came again (ftrace:func_repeats). */
#pragma once
#include "event/catalogue.h"
#include "instance/frames.h"
#include "instance/open_calls.h"
#include "instance/stream.h"
#include "shared/record.h"

#define MADE_WORDS (1 + RECORD_PAYLOAD_MAX)

/* Where the thread is at this record, which open_calls was fed: by the copy that it left of its stack, else by the calls that were
 * recorded. user: as userstacktrace has it, at most eight calls; else all that have
 * room in a record. False: there is no such event, or no call stands that is known of. */
bool made_stack(struct open_calls *o, struct frames *frames, struct event_catalogue *events, const struct stream_item *i, bool user, uint64_t *words);

/* The last call of a thread, and how often it was made again since. */
struct repeated { bool known; uint32_t fn, site, count; uint64_t last; };
struct repeats { VEC(struct repeated) threads; };

void repeats_free(struct repeats *r); /* it begins anew */
/* An EVENT_CALL. True: it is the one before again, and only counted. Else *words may be the record of how often the one before was:
 * to be written first, or 0. */
bool repeats_take(struct repeats *r, const struct trace_info *info, struct event_catalogue *events, const struct stream_item *i,
		  uint64_t *words);

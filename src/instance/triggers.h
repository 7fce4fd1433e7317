/* SPDX-License-Identifier: MIT */
/* Triggers and function commands of an instance, run over the records of all threads in the order of time. What they
 * bring about holds from the time stamp of the record on that brought it about, however late both are looked at: so
 * records of an instance that has any come to its ring only when all before them have been looked at, and one by one.
 *
 * What the lock of the buffer guards is marked (locked); the rest belongs to whoever has the trace_info to himself. */
#pragma once
#include "instance/ring.h"
#include "model/settings.h"
#include "trace/trace_info.h"

struct buffer;
struct triggers;

/* Other settings than `now` are to come (triggers_configure), which have something to run. */
struct triggers *triggers_new(struct buffer *b, const struct settings *now);
void triggers_free(struct triggers *t); /* NULL is fine */
/* (locked) From this time on `next` is set, where `before` was. */
void triggers_configure(struct triggers *t, const struct settings *before, const struct settings *next, uint64_t tsc);
/* (locked) Records that came, resolved or not. */
void triggers_offer(struct triggers *t, const struct chunk_ref *k);
/* All records before `until` are there; `most` of them are looked at, or a few more. False: nothing is set any more that
 * would have to be run. */
bool triggers_run(struct triggers *t, struct trace_info *info, uint64_t until, size_t most);
/* (locked) Nothing has come since. */
bool triggers_are_idle(const struct triggers *t);
/* (locked, too) Events are switched in the set as triggers have switched them. */
void triggers_present(const struct triggers *t, struct event_set *s);

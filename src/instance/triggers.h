/* SPDX-License-Identifier: MIT */
/* Triggers and function commands of an instance, run over the records of all threads in order of
 * time. An effect holds from the time stamp of the record that caused it, however late both are
 * looked at. Therefore records of an instance with triggers reach its ring only after all earlier
 * ones have been looked at, and one by one.
 *
 * Functions marked (locked) need the buffer's lock. The others need pump_lock. */
#pragma once
#include "instance/ring.h"
#include "model/settings.h"
#include "trace/trace_info.h"

struct buffer;
struct triggers;

/* Bytes that may wait to be looked at, less than a second of work. Beyond it a pass goes on until
 * it has caught up, while the programs' memory fills: they wait, or lose records that are
 * counted. */
#define TRIGGERS_BEHIND_MOST (UINT64_C(64) << 20)

/* Creates triggers that run nothing yet: `now` are the settings that hold, triggers_configure
 * brings those that have something to run. */
struct triggers *triggers_new(struct buffer *b, const struct settings *now);
void triggers_free(struct triggers *t); /* NULL is fine */
/* (locked) `next` replaces `before` from the TSC on. */
void triggers_configure(struct triggers *t, const struct settings *before,
			const struct settings *next, uint64_t tsc);
/* (locked) Queues a chunk, resolved or not. */
void triggers_offer(struct triggers *t, const struct chunk_ref *k);
/* Looks at records before `until`, at most about `most`; no record before `until` is missing.
 * False: no rule is left that would have to run, and all records are in the ring. */
bool triggers_run(struct triggers *t, struct trace_info *info, uint64_t until, size_t most);
/* The TSC before which no record waits to be looked at, of those that triggers_run() was given. */
uint64_t triggers_horizon(const struct triggers *t);
/* (locked) Whether no chunk and no settings have come since. */
bool triggers_are_idle(const struct triggers *t);
/* (locked) Switches events in the set as triggers have switched them. */
void triggers_present(const struct triggers *t, struct event_set *s);

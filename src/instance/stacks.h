/* SPDX-License-Identifier: MIT */
/* The stack tracer: how deep each thread's own stack became, and by which calls, out of records
 * that say where on the stack each call was made (EVENT_AT, memory_settings.record_sp).
 *
 * Like the kernel's it looks when a function is entered, and leaves out calls on other stacks (a
 * signal's, a coroutine's). A depth counts from the end of the mapping that has the stack. Not
 * locked: the caller has pump_lock. */
#pragma once
#include "instance/ring.h"
#include "model/settings.h"
#include "base/out.h"
#include "trace/trace_info.h"

struct stacks;

/* info may grow, and outlives the result. */
struct stacks *stacks_new(const struct trace_info *info);
void stacks_free(struct stacks *s); /* NULL is fine */
/* Records from the TSC on count, at calls of functions that stack_trace_filter selects. What was
 * found before stays. */
void stacks_begin(struct stacks *s, const struct settings *settings, uint64_t tsc);
/* Other functions are selected, or hooked. */
void stacks_configure(struct stacks *s, const struct settings *settings);
/* Records after the TSC do not count; what was found stays. */
void stacks_end(struct stacks *s, uint64_t tsc);
/* Forgets what was found; from here on only stacks of more than `floor` bytes count. */
void stacks_reset(struct stacks *s, uint64_t floor);

/* Takes the next chunk of its thread, which is resolved. The caller passes a thread's chunks in
 * their order. */
void stacks_feed(struct stacks *s, const struct chunk *c);
/* Bytes of the deepest stack; the floor if none was deeper. */
uint64_t stacks_max(const struct stacks *s);
/* Prints stack_trace, a table for each thread, the deepest first. False: there is none. */
bool stacks_show(struct stacks *s, struct out *out);

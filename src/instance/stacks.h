/* SPDX-License-Identifier: MIT */
/* The stack tracer: how deep each thread's own stack became, and by which calls, out of records that say where on the
 * stack each call was made (EVENT_AT, memory_header.places).
 *
 * As the kernel's it looks when a function is entered, and leaves calls on other stacks (a signal's, a coroutine's) out. A
 * depth counts from the end of the mapping that the stack lies in. Nothing here is locked. */
#pragma once
#include "instance/ring.h"
#include "model/settings.h"
#include "base/out.h"
#include "trace/trace_info.h"

struct stacks;

/* info: grows, and outlives it. */
struct stacks *stacks_new(const struct trace_info *info);
void stacks_free(struct stacks *s); /* NULL is fine */
/* What is recorded from this moment (a TSC) on counts, at calls of functions that stack_trace_filter means. */
void stacks_begin(struct stacks *s, const struct settings *settings, uint64_t tsc);
/* Other functions, or others are hooked. */
void stacks_configure(struct stacks *s, const struct settings *settings);
/* Nothing that is recorded after this moment counts; what was found stays. */
void stacks_end(struct stacks *s, uint64_t tsc);
/* Forgets what was found; only stacks of more bytes than this count from here on. */
void stacks_reset(struct stacks *s, uint64_t floor);

/* The next chunk of its thread, which is resolved. */
void stacks_feed(struct stacks *s, const struct chunk *c);
/* Bytes of the deepest stack; what it was reset to if there was none since. */
uint64_t stacks_max(const struct stacks *s);
/* stack_trace, a table for each thread, the deepest first; false: there is none. */
bool stacks_show(struct stacks *s, struct out *out);

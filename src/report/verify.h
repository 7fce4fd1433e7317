/* SPDX-License-Identifier: MIT */
/* `brace rv`: whether the records of a trace are what a model allows (automaton.h), as the kernel's
 * runtime verification does it. Each thread, process, or object that a key names (a pointer, a
 * descriptor) has a state. Where a state is not known, the set of those that it may be in is kept,
 * and a fault is an event that the model allows in none of them. So nothing is invented: after lost
 * records, and in what ran before the trace began or was forked, any state is possible, and faults
 * that were found while records were missing are taken back. Not locked. */
#pragma once
#include "base/out.h"
#include "report/automaton_bindings.h"
#include "trace/event.h"

struct verify;

/* a, b and info outlive the result, which verify_free() frees; info may grow. whole: the trace
 * begins with its program. */
struct verify *verify_new(const struct trace_info *info, const struct automaton *a,
			  const struct automaton_bindings *b, bool whole);
void verify_free(struct verify *v); /* NULL is fine */
/* Takes the next event of any kind, in the order of time. Keeps nothing of *e. */
void verify_event(struct verify *v, const struct event *e);
/* Called once, after the last event and before anything is printed: calls that are still open end
 * with it. */
void verify_end(struct verify *v);
/* Events of the model that were seen, and faults that were found. */
uint64_t verify_events(const struct verify *v);
uint64_t verify_faults(const struct verify *v);
/* Returns a function or event of the model that the trace cannot tell of, because it was not
 * recorded, or not always; NULL: there is none. */
const char *verify_unrecorded(struct verify *v);
/* Print the first n faults (0: all), and the sums; as JSON an object a line. */
void verify_print_text(struct verify *v, size_t n, struct out *o);
void verify_print_json(struct verify *v, size_t n, struct out *o);

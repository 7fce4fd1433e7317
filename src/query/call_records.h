/* SPDX-License-Identifier: MIT */
/* Arguments and returned values of calls, kept as recorded while the trace is read: no statement
 * pays for taking it apart but those that ask for it (call_values.h). Private to src/query. */
#pragma once
#include "query/load.h"
#include "trace/calls.h"

/* Arguments of a call, or a returned value that struct slice has no room for. */
struct kept_record {
	uint64_t payload;    /* its bytes: from that word of load.call_words on */
	uint64_t value, tsc; /* of a returned one */
	uint32_t bytes, flags; /* flags of struct call_value; 0: arguments */
	uint32_t slice, thread, fn;
};

/* Keep what the step has for the call in that row of slices, which is marked by has_args; nothing,
 * if the step has none. No room: l->failed and *l->err. */
void call_records_take(struct load *l, const struct call_step *s, uint32_t slice);
void call_records_return(struct load *l, const struct call_step *s, uint32_t slice);

/* As load_slices(). */
static inline struct kept_record *call_records(const struct load *l) { return l->call_records.at; }
static inline size_t call_records_n(const struct load *l)
{
	return l->call_records.bytes / sizeof(struct kept_record);
}

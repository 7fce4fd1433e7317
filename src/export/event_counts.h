/* SPDX-License-Identifier: MIT */
/* Counters of a trace, thread by thread, for formats that draw them: page faults and switches of
 * `brace record --counters`, under the names that `brace query` gives them. */
#pragma once
#include "base/vec.h"
#include "export/walk.h"
#include "report/counter_events.h"


struct counted_event { uint8_t kind; uint16_t by; }; /* by: offset of a field; 0: it has none */

struct event_counts {
	const struct trace_info *info;
	VEC(struct counted_event) events; /* as in info->events */
	VEC(uint64_t) counts;             /* by lane and kind */
};

/* info is borrowed; its events are complete. event_counts_free() frees what is made. */
void event_counts_init(struct event_counts *c, const struct trace_info *info);
void event_counts_free(struct event_counts *c);
/* Counts the step if it is an event of a kind: *kind is which, and the result how many of its kind
 * the lane has had. 0: it is none. */
uint64_t event_counts_count(struct event_counts *c, const struct walk_step *s, unsigned *kind);
const char *event_counts_name(unsigned kind);

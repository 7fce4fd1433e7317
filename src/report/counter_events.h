/* SPDX-License-Identifier: MIT */
/* The events that `brace record --counters` records, of which views and exports count those of each
 * thread. */
#pragma once
#include "trace/trace_info.h"

enum counter_event_kind { COUNTER_FAULTS, COUNTER_SWITCHES, COUNTER_EVENTS_N };

struct counter_event {
	const char *name; /* of the count, as it is shown */
	const char *system, *event;
	/* a field that must be the thread's number, because the event comes to both threads of a
	 * switch; NULL: each event counts */
	const char *by;
};

extern const struct counter_event counter_events[COUNTER_EVENTS_N];

/* COUNTER_EVENTS_N: the event is none that is counted. */
unsigned counter_events_kind(const struct trace_event *e);

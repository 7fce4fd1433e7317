/* SPDX-License-Identifier: MIT */
/* A table, and its look-up by a trace's own event. thread_counters.c, export/event_counts.c and
 * query/counters.c call it while they read a trace, on any thread. Nothing fails. */
#include "report/counter_events.h"

#include <string.h>

const struct counter_event counter_events[COUNTER_EVENTS_N] = {
	[COUNTER_FAULTS] = { "page_faults", "exceptions", "page_fault_user", NULL },
	[COUNTER_SWITCHES] = { "context_switches", "sched", "sched_switch", "prev_pid" },
};

unsigned counter_events_kind(const struct trace_event *e)
{
	unsigned k = 0;

	while (k < COUNTER_EVENTS_N && (strcmp(e->system, counter_events[k].system) ||
					strcmp(e->name, counter_events[k].event)))
		k++;
	return k;
}

/* SPDX-License-Identifier: MIT */
/* Records of events on other events' fields (event/eprobe.h), made of the other event's records
 * while triggers look at these. Under pump_lock. */
#pragma once
#include "base/vec.h"
#include "event/eprobe.h"
#include "trace/event.h"

struct eprobe_call;

/* Each thread's last record of a system call that has copies of memory, by the thread's index. */
struct eprobe_calls { VEC(struct eprobe_call *) threads; };

/* Notes *e, a record of the event: what it has copied, records that are made of later ones of the
 * thread can read. Nothing, if the event is no system call's. */
void eprobes_note(struct eprobe_calls *calls, const struct event_entry *entry,
		  const struct event *e);
void eprobes_free(struct eprobe_calls *calls); /* leaves *calls empty, ready for use */

/* Writes the payload of a record made of *e, which is a record of p->base; room for
 * RECORD_PAYLOAD_MAX words. Returns its words; 0: the filter does not let *e pass, or *e is
 * malformed. A filter that names functions (FILTER_NEEDS_RESOLVE) is the caller's to run. */
unsigned eprobes_make(const struct eprobe *p, const struct event *e,
		      const struct trace_info *info, const struct eprobe_calls *calls,
		      uint64_t *payload);

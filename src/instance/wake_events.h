/* SPDX-License-Identifier: MIT */
/* sched:sched_waking and sched:sched_wakeup of an instance. No thread records them: they are made
 * of system calls and switches (report/wakeup.h), and a pair of these is known only when both calls
 * have returned. So all records are looked at twice: here, as far as there are any, and by the
 * triggers, behind, up to the horizon before which no wake-up can be found any more. There the
 * made records come between the others in the order of time, and filters, triggers and histograms
 * see them as if the waker had recorded them.
 *
 * Needs pump_lock. */
#pragma once
#include "event/event_set.h"
#include "instance/stream.h"
#include "report/wakeup.h"
#include "trace/trace_info.h"

struct wake_events;

#define WAKE_EVENTS 2u
/* The events that are made here and armed in the set, sched_waking first; NULL: it is not. */
struct wake_events_armed { const struct event_entry *at[WAKE_EVENTS]; };
struct wake_events_armed wake_events_armed(const struct event_set *s);
/* Whether one of the two is armed. */
bool wake_events_wanted(const struct event_set *s);
/* info may grow; it must outlive the result, which wake_events_free() frees. */
struct wake_events *wake_events_new(const struct trace_info *info);
void wake_events_free(struct wake_events *w); /* NULL is fine */
/* Appends a resolved chunk to those of its thread. */
void wake_events_add(struct wake_events *w, const struct chunk_ref *k);
/* Looks at records before the TSC `until`, at most `most`, and returns the horizon. *all: no record
 * before `until` is left. */
uint64_t wake_events_look(struct wake_events *w, uint64_t until, size_t most, bool *all);
/* The time of the first wake-up that was found and not taken; UINT64_MAX: there is none. w NULL is
 * fine. */
uint64_t wake_events_time(const struct wake_events *w);
/* Takes that one out of the list: calls `make` for each of the armed events, with a record of the
 * waker's. */
void wake_events_take(struct wake_events *w, const struct wake_events_armed *armed,
		      void (*make)(void *arg, const struct stream_item *i), void *arg);

/* SPDX-License-Identifier: MIT */
/* Histograms over an instance's records: what triggers.c asks of src/hist, and the `hist` file. All
 * of it under pump_lock. */
#pragma once
#include "instance/addresses.h"
#include "instance/frames.h"
#include "instance/open_calls.h"
#include "instance/rules.h"
#include "instance/stream.h"
#include "base/out.h"

/* A record, and what is known about its thread there. */
struct hist_source_state {
	const struct trace_info *info;
	struct addresses *addresses;
	struct open_calls *calls; /* where the event needs stacks */
	struct frames *frames;    /* NULL: no stack was copied yet */
	uint16_t id;              /* of the event's format */
	/* hist_record.make and .snapshot, and what they get */
	bool (*make)(void *arg, const struct event_entry *e, const uint64_t *payload, size_t words);
	void (*snapshot)(void *arg);
	void *arg;
	const struct stream_item *item; /* an EVENT_TRACE of a thread that info has */
	uint64_t tsc;             /* its time: buffer_time_of() */
};

/* Counts the record in the histogram t. */
void hists_count(struct event_trigger *t, const struct hist_source_state *s);
/* The rules are in force from here on. */
void hists_begin(const struct rules *r);
/* n records of a thread are lost: one of any event may be among them, and counts as dropped in all
 * histograms. */
void hists_lose(const struct rules *r, uint64_t n);
/* Pauses or continues the histograms of an event; NULL: it has none. */
void hists_pause(const struct rule *r, bool paused);
/* Whether all of them are paused. */
bool hists_are_paused(const struct rule *r);
/* Prints the histograms of an event with these triggers. */
struct hist_printer;
void hists_print(const struct trigger_list *l, struct trace_info *info, struct addresses *a,
		 const struct hist_printer *printer, struct out *out);

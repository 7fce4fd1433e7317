/* SPDX-License-Identifier: MIT */
/* Formats of osnoise:sample_threshold and osnoise:thread_noise, with the fields of Linux 6.12. The
 * kernel's print formats call __print_ns_to_secs(), which libtraceevent does not know: the same
 * text is computed here. Nothing but the catalogue changes. */
#include "event/osnoise.h"

#include "event/catalogue.h"

#define SECONDS "REC->start / 1000000000, REC->start % 1000000000"

static const struct event_field threshold[] = {
	{ "u64", "start", 8, 8, false },
	{ "u64", "duration", 16, 8, false },
	{ "u64", "interference", 24, 8, false },
}, thread[] = {
	{ "char[16]", "comm", 8, 16, false },
	{ "u64", "start", 24, 8, false },
	{ "u64", "duration", 32, 8, false },
	{ "pid_t", "pid", 40, 4, true },
};

static const struct event_format formats[] = {
	{ "osnoise", "sample_threshold", 0, threshold, sizeof(threshold) / sizeof(*threshold),
	  "\"start %llu.%09llu duration %llu ns interference %llu\", " SECONDS ", REC->duration, "
	  "REC->interference" },
	{ "osnoise", "thread_noise", 0, thread, sizeof(thread) / sizeof(*thread),
	  "\"%8s:%d start %llu.%09llu duration %llu ns\", REC->comm, REC->pid, " SECONDS ", REC->duration" },
};

static void add_events(struct event_catalogue *c)
{
	events_add_constants(c, &osnoise_provider, formats, sizeof(formats) / sizeof(*formats));
}

const struct event_provider osnoise_provider = {
	.name = "measured", .can_enable = true, .without_agent = true, .add_common = add_events,
};

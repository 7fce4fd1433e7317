/* SPDX-License-Identifier: MIT */
/* Formats of the monitors' events, with the fields and the text of Linux 6.12's monitors that have
 * an id. Nothing but the catalogue changes. The catalogue takes the formats as a session begins, on
 * that thread. */
#include "event/rv.h"

#include "event/catalogue.h"

#define FIELDS(name) name, sizeof(name) / sizeof(*name)

static const struct event_field event[] = {
	{ "int", "id", 8, 4, true },
	{ "char[24]", "state", 12, 24, false },
	{ "char[24]", "event", 36, 24, false },
	{ "char[24]", "next_state", 60, 24, false },
	{ "bool", "final_state", 84, 1, false },
}, error[] = {
	{ "int", "id", 8, 4, true },
	{ "char[24]", "state", 12, 24, false },
	{ "char[24]", "event", 36, 24, false },
};

#define STEP "\"%d: %s x %s -> %s %s\", REC->id, REC->state, REC->event, REC->next_state, REC->final_state ? \"(final)\" : \"\""
#define FAULT "\"%d: event %s not expected in the state %s\", REC->id, REC->event, REC->state"

static const struct event_format formats[] = {
	{ "rv", "event_ebadf", 0, FIELDS(event), STEP },
	{ "rv", "error_ebadf", 0, FIELDS(error), FAULT },
};

static void add_events(struct event_catalogue *c)
{
	events_add_constants(c, &rv_provider, formats, sizeof(formats) / sizeof(*formats));
}

const struct event_provider rv_provider = {
	.name = "monitor", .can_enable = true, .without_agent = true,
	.add_common = add_events,
};

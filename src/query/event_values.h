/* SPDX-License-Identifier: MIT */
/* The fields of events' records as values. Private to src/query, but for event_value_in(). */
#pragma once
#include "event/format.h"
#include "query/load.h"

struct event_values {
	/* by row of info->events; NULL: its format cannot be read, and it has no fields */
	VEC(struct event_format *) formats;
	/* by event, and one more: the number of fields of all events before it */
	struct array_file before;
	bool made;
};

enum event_value_kind { EVENT_VALUE_NONE, EVENT_VALUE_NUMBER, EVENT_VALUE_TEXT };
struct event_value {
	enum event_value_kind kind; /* NONE: the record is too short for the field */
	int64_t number;
	const char *text;           /* text_bytes of the record's own */
	size_t text_bytes;
};

/* Reads the formats and counts the fields, the first time; the records must be loaded. 0, or -errno
 * and *err. */
int event_values_make(struct event_values *v, const struct load *l, struct err *err);
/* Frees what event_values_make() made; nothing if it was not called or failed. */
void event_values_free(struct event_values *v);
/* Number of fields of all events. */
size_t event_values_n(const struct event_values *v, const struct load *l);
/* The event that has field `i` of all, and the field; *format is its event's. */
const struct event_field *event_values_field(const struct event_values *v, const struct load *l,
					     size_t i, size_t *event);
/* Reads that field of the event in row `event`. The text is of the loaded payloads, valid until
 * load_free(), and has no NUL at its end. */
struct event_value event_value_of(const struct load *l, size_t event, const struct event_field *f);
/* Reads a field of a record of which `payload` has the bytes behind the common fields. The text is
 * the payload's. */
struct event_value event_value_in(const void *payload, size_t bytes, const struct event_field *f);

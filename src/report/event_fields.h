/* SPDX-License-Identifier: MIT */
/* Fields of records of the kernel's events, whose offsets the event's format in the trace tells.
 * Pure. */
#pragma once
#include <string.h>

#include "event/format.h"
#include "trace/event.h"

/* The offset of the field with this name and size; 0: the format has none. */
static inline uint16_t event_fields_offset(const struct event_format *f, const char *name,
					   uint16_t size)
{
	enum event_field_kind kind;
	const struct event_field *field = event_find_field(f, name, strlen(name), &kind);

	return field && field->size == size ? field->offset : 0;
}

/* The number of `size` bytes at an offset of the record; the payload begins at its byte 8. 0: the
 * record is too short. */
static inline uint64_t event_fields_number(const struct event *e, uint16_t offset, size_t size)
{
	uint64_t v = 0;

	if (offset >= 8 && offset - 8 + size <= e->count)
		memcpy(&v, (const char *)e->payload + offset - 8, size);
	return v;
}

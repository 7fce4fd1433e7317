/* SPDX-License-Identifier: MIT */
/* Takes records of events apart by their formats. Formats and records come from trace files, which
 * may be anybody's: each offset is checked against the record's own length. Called by the table
 * `args`, on the query's thread, and by the library's cursors, each on its own. Nothing fails: a
 * value that the record does not have is none. */
#include "query/event_values.h"

#include <string.h>

#include "base/mem.h"

/* Offsets of formats count the common fields, which payloads do not have. */
#define PAYLOAD_FROM EVENT_COMMON_BYTES

/* An event whose format cannot be read has no fields. */
static size_t fields_of(const struct event_values *v, uint32_t event)
{
	return v->formats.at[event] ? v->formats.at[event]->n : 0;
}

static uint64_t *before_at(const struct event_values *v)
{
	return v->before.at;
}

/* A format that cannot be read stays NULL: the table `args` has no rows of its event. Other events
 * are read nevertheless. */
static void read_formats(struct event_values *v, const struct trace_info *info)
{
	for (size_t i = 0; i < info->events.n; i++) {
		const struct trace_event *e = &info->events.at[i];

		*vec_add(&v->formats) =
			event_format_parse(e->format, strlen(e->format), e->system, NULL);
	}
}

/* For each event the number of fields before it: args has a row for each field, and finds its
 * event by bisection. */
int event_values_make(struct event_values *v, const struct load *l, struct err *err)
{
	size_t n = load_events_n(l);
	uint64_t sum = 0;
	int r;

	if (v->made)
		return 0;
	v->before.fd = -1;
	r = array_file_reserve(&v->before, (n + 1) * sizeof(uint64_t), err);
	if (r)
		return r;
	read_formats(v, l->info);
	array_file_add(&v->before, (n + 1) * sizeof(uint64_t));
	for (size_t i = 0; i < n; i++) {
		before_at(v)[i] = sum;
		sum += fields_of(v, load_events(l)[i].event);
	}
	/* One sum more than there are events: the number of all fields. */
	before_at(v)[n] = sum;
	v->made = true;
	return 0;
}

void event_values_free(struct event_values *v)
{
	if (!v->made)
		return;
	for (size_t i = 0; i < v->formats.n; i++)
		if (v->formats.at[i])
			event_format_free(v->formats.at[i]);
	vec_free(&v->formats);
	array_file_free(&v->before);
}

/* Only after event_values_make() has returned 0. */
size_t event_values_n(const struct event_values *v, const struct load *l)
{
	return before_at(v)[load_events_n(l)];
}

const struct event_field *event_values_field(const struct event_values *v, const struct load *l,
					     size_t i, size_t *event)
{
	size_t low = 0, high = load_events_n(l);

	/* Finds the last event whose fields begin at or before i. An event without fields has the
	 * sum of the next one, which is the later and so the one that is found. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (before_at(v)[middle] <= i)
			low = middle;
		else
			high = middle;
	}
	*event = low;
	return &v->formats.at[load_events(l)[low].event]->fields[i - before_at(v)[low]];
}

/* --- values ------------------------------------------------------------------------------ */

/* The bytes of one record, without the common fields. */
struct record { const uint8_t *at; size_t n; };

/* n bytes from `offset` of the whole record on; NULL: the record does not have them. */
static const uint8_t *part_of_record(const struct record *r, uint64_t offset, uint64_t n)
{
	if (offset < PAYLOAD_FROM || offset - PAYLOAD_FROM > r->n ||
	    n > r->n - (offset - PAYLOAD_FROM))
		return NULL;
	return r->at + (offset - PAYLOAD_FROM);
}

/* Formats come from files. A size that is no number's gives nothing, and the shift below stays less
 * than 64. */
static struct event_value number_of(const struct record *r, const struct event_field *f)
{
	const uint8_t *at = part_of_record(r, f->offset, f->size);
	unsigned spare = 64 - 8u * f->size;
	uint64_t v = 0;

	if (!at || (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8))
		return (struct event_value){ 0 };
	memcpy(&v, at, f->size);
	return (struct event_value){
		.kind = EVENT_VALUE_NUMBER,
		.number = f->is_signed ? (int64_t)(v << spare) >> spare : (int64_t)v,
	};
}

/* Up to the first NUL. */
static struct event_value text_at(const uint8_t *at, size_t n)
{
	if (!at)
		return (struct event_value){ 0 };
	return (struct event_value){ .kind = EVENT_VALUE_TEXT, .text = (const char *)at,
				     .text_bytes = strnlen((const char *)at, n) };
}

/* A field that says where its text is: length << 16 | offset; a relative one counts from behind
 * itself. */
static struct event_value dynamic_of(const struct record *r, const struct event_field *f,
				     bool relative)
{
	const uint8_t *at = part_of_record(r, f->offset, 4);
	uint32_t word, offset;

	if (!at)
		return (struct event_value){ 0 };
	memcpy(&word, at, sizeof(word));
	offset = (word & 0xffff) + (relative ? f->offset + 4u : 0);
	return text_at(part_of_record(r, offset, word >> 16), word >> 16);
}

struct event_value event_value_of(const struct load *l, size_t event, const struct event_field *f)
{
	const struct query_event *e = &load_events(l)[event];

	/* Payloads are stored as whole words; the record's own length excludes the padding. */
	return event_value_in((const uint8_t *)l->payloads.at + 8 * e->payload, e->bytes, f);
}

/* A field whose offset is not within the record has no value (EVENT_VALUE_NONE is 0), whatever its
 * format says. */
struct event_value event_value_in(const void *payload, size_t bytes, const struct event_field *f)
{
	struct record r = { payload, bytes };

	switch (event_field_kind(f)) {
	case EVENT_STRING:
		/* A string of size 0 goes on to the record's end. */
		if (f->size)
			return text_at(part_of_record(&r, f->offset, f->size), f->size);
		if (f->offset < PAYLOAD_FROM || f->offset - PAYLOAD_FROM > r.n)
			return (struct event_value){ 0 };
		return text_at(r.at + (f->offset - PAYLOAD_FROM),
			       r.n - (f->offset - PAYLOAD_FROM));
	case EVENT_DYNAMIC:
		return dynamic_of(&r, f, false);
	case EVENT_RELATIVE:
		return dynamic_of(&r, f, true);
	default:
		return number_of(&r, f);
	}
}

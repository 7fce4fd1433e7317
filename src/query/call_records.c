/* SPDX-License-Identifier: MIT */
/* Copies what a step has, because the reader keeps it until the next event only. Called by load.c,
 * on the query's thread. Fails only where the temporary files find no room. */
#include "query/call_records.h"

#include <string.h>

/* Room for both comes first: a failure leaves no record without its bytes. */
static void keep_record(struct load *l, struct kept_record record, const void *bytes)
{
	size_t room = ((size_t)record.bytes + 7) / 8 * 8;

	l->failed = array_file_reserve(&l->call_records, sizeof(record), l->err);
	if (!l->failed)
		l->failed = array_file_reserve(&l->call_words, room, l->err);
	if (l->failed)
		return;
	record.payload = l->call_words.bytes / 8;
	memcpy(array_file_add(&l->call_records, sizeof(record)), &record, sizeof(record));
	if (record.bytes)
		memcpy(array_file_add(&l->call_words, room), bytes, record.bytes);
	load_slices(l)[record.slice].has_args = 1;
}

void call_records_take(struct load *l, const struct call_step *s, uint32_t slice)
{
	if (s->flags & CALL_ARGUMENTS)
		keep_record(l,
			    (struct kept_record){ .bytes = (uint32_t)s->event->count,
						  .slice = slice, .thread = s->thread,
						  .fn = s->fn },
			    s->event->payload);
}

/* A number alone is in the call's row. A text that could not be read has no bytes, and is told by
 * its flags. */
void call_records_return(struct load *l, const struct call_step *s, uint32_t slice)
{
	const struct call_value v = call_step_value(s);

	if (v.flags & (CALL_FLOAT | CALL_TEXT | CALL_BLOCK))
		keep_record(l,
			    (struct kept_record){ .value = v.number, .tsc = s->tsc,
						  .bytes = v.text ? v.bytes : 0, .flags = v.flags,
						  .slice = slice, .thread = s->thread,
						  .fn = s->fn },
			    v.text);
}

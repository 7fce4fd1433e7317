/* SPDX-License-Identifier: MIT */
/* Any bytes as an event's format file: refused, or written again byte for byte, with fields that
 * can be looked up. */
#include <stdlib.h>
#include <string.h>

#include "event/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *exact = malloc(n + !n), *again;
	struct event_format *e;
	enum event_field_kind kind;

	if (n)
		memcpy(exact, data, n);
	e = event_format_parse(exact, n, "fuzz", NULL);
	if (e) {
		again = event_format_read(e);
		if (strlen(again) != n || memcmp(again, data, n))
			abort();
		for (size_t i = 0; i < e->n; i++)
			if (!event_find_field(e, e->fields[i].name, strlen(e->fields[i].name), &kind))
				abort();
		if (event_record_bytes(e) > 0xffff)
			abort();
		free(again);
	}
	event_format_free(e);
	free(exact);
	return 0;
}

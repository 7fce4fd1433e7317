/* SPDX-License-Identifier: MIT */
/* A format of a probe's event, a NUL, and a record: printed, as far as the event is a probe's. The
 * record is the exact size, so that a read behind it is seen. */
#include <stdlib.h>
#include <string.h>

#include "report/probe_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Every even address is in a function that begins at a multiple of 256. */
static char *symbol(void *context, unsigned long long *address, char **module)
{
	static char name[] = "function";

	*module = NULL;
	*address &= ~0xffull;
	return *address & 256 ? NULL : name;
}

static void print(const struct event_format *f, const uint8_t *bytes, size_t n)
{
	uint32_t fixed = event_record_bytes(f);
	uint8_t *record;
	struct trace_seq seq;

	if (!probe_text_is(f) || n < fixed)
		return;
	record = malloc(n);
	memcpy(record, bytes, n);
	trace_seq_init(&seq);
	probe_text(f, false, record, (uint32_t)n, symbol, NULL, &seq);
	trace_seq_destroy(&seq);
	free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const uint8_t *end = n ? memchr(data, 0, n) : NULL;
	struct event_format *f;

	if (!end)
		return 0;
	f = event_format_parse((const char *)data, (size_t)(end - data), "fuzz", NULL);
	if (f)
		print(f, end + 1, n - (size_t)(end + 1 - data));
	event_format_free(f);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* The trace file's reader on arbitrary bytes, in three ways by the first byte: as they are; as
 * the contents of packets, wrapped with the right checksums and compression so that the fuzzer
 * gets behind them; and as records, which must come back from the coding word for word. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/record.h"
#include "store/columns.h"
#include "store/format.h"
#include "store/store.h"
#include "trace_file.h"

#define EVENTS_MOST 300000 /* a few bytes can stand for a million records */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_merged(struct store_reader *r)
{
	struct source *source = store_source(r);
	struct event e;
	struct err err;

	for (int i = 0; i < EVENTS_MOST && source->ops->next(source, &e, &err) > 0; i++)
		if (e.thread >= store_info(r)->threads.n)
			abort();
	source->ops->close(source);
}

static void read_threads(struct store_reader *r)
{
	size_t left = EVENTS_MOST;

	for (uint32_t t = 0; t < store_info(r)->threads.n && left; t++) {
		struct store_cursor *c = store_cursor_open(r, t);
		struct event events[64];
		struct err err;
		int n;

		while (c && left && (n = store_cursor_next(c, events, 64, &err)) > 0)
			left -= (size_t)n < left ? (size_t)n : left;
		store_cursor_close(c);
	}
}

/* Reads what comes from the middle on, as --from does: from where the file says that it can. */
static void read_later(struct store_reader *r)
{
	struct store_part part = { 0 };
	struct store_start *start;
	uint64_t first, last;
	struct source *source;
	struct event e;
	struct err err;

	if (!store_range(r, &first, &last))
		return;
	part.start = start = store_start_at(r, first + (last - first) / 2);
	source = store_source_part(r, &part);
	for (int i = 0; i < EVENTS_MOST && source->ops->next(source, &e, &err) > 0; i++)
		if (e.thread >= store_info(r)->threads.n)
			abort();
	source->ops->close(source);
	for (uint32_t t = 0; t < store_info(r)->threads.n; t++) {
		struct store_cursor *c = store_cursor_open_at(r, t, start);
		struct event events[64];

		for (int i = 0; c && i < 100 && store_cursor_next(c, events, 64, &err) > 0; i++)
			;
		store_cursor_close(c);
	}
	store_start_free(start);
}

/* Asks the info for names and sites by any id, as the commands do. */
static void use_info(const struct trace_info *info)
{
	char name[64];

	for (size_t i = 0; i < info->modules.n; i++) {
		const struct trace_module *m = &info->modules.at[i];

		for (size_t f = 0; f < m->functions.n && f < 1000; f++) {
			bool known;

			trace_function_name(m, &m->functions.at[f], name, sizeof(name));
			if (strlen(trace_function_file(m, &m->functions.at[f], &known)) > PACKET_RAW_MAX)
				abort();
		}
		trace_info_function_at(info, m->image, m->start, m->from_tsc, NULL);
		trace_info_site(info, m->image, m->first_id);
	}
	for (size_t i = 0; i < info->settings.n; i++)
		if (strlen(info->settings.at[i].file) + strlen(info->settings.at[i].text) > PACKET_RAW_MAX)
			abort();
	if (strpbrk(info->run.invocation, "\n\x1b"))
		abort();
}

static void read_file(const uint8_t *p, size_t n)
{
	struct store_description description;
	struct store_reader *r;
	struct err err = {0};

	if (store_open_bytes("fuzz", p, n, &r, &err)) {
		if (!err.code || !err.text[0])
			abort();
		return;
	}
	store_describe(r, &description);
	use_info(store_info(r));
	read_merged(r);
	read_threads(r);
	read_later(r);
	store_close(r);
}

static void read_wrapped(const uint8_t *data, size_t size, bool indexed)
{
	struct bytes file = trace_file_make(data, size, indexed);

	read_file(file.at, file.n);
	vec_free(&file);
}

static void code_records(const uint8_t *data, size_t size)
{
	size_t n = size / 8;
	uint64_t *words = mem_realloc(NULL, n + 1, 8), *again = mem_realloc(NULL, n + 1, 8);
	struct packet_records head = {0};
	struct bytes payload = {0};
	static struct encoder *encoder;
	static struct decoder *decoder;
	struct err err;

	memcpy(words, data, n * 8);
	n = whole_records(words, n);
	head.first_tsc = n ? words[0] >> (64 - RECORD_TSC_BITS) : 0;
	encoder = encoder ? encoder : columns_encoder_new(0);
	decoder = decoder ? decoder : columns_decoder_new();
	if (n && (columns_encoder_run(encoder, words, n, &head, &payload, &err) ||
		  columns_decoder_run(decoder, &head, payload.at, payload.n, again, &err) ||
		  memcmp(words, again, n * 8)))
		abort();
	vec_free(&payload);
	free(words);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 4) {
	case 0:
		read_file(data + 1, size - 1);
		break;
	case 1:
	case 2:
		read_wrapped(data + 1, size - 1, data[0] % 4 == 1);
		break;
	case 3:
		code_records(data + 1, size - 1);
		break;
	}
	return 0;
}

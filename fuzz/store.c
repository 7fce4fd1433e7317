/* SPDX-License-Identifier: MIT */
/* links: store trace base zstd threads */
/* The trace file's reader on arbitrary bytes, in three ways by the first byte: as they are; as
 * the contents of packets, wrapped with the right checksums and compression so that the fuzzer
 * gets behind them; and as records, which must come back from the coding word for word. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cursor.h"
#include "shared/record.h"
#include "store/columns.h"
#include "store/crc.h"
#include "store/format.h"
#include "store/index.h"
#include "store/info.h"
#include "store/store.h"
#include "store/streams.h"

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

/* What a command does with the info: names and sites by any id. */
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
	store_close(r);
}

static void put_compressed(struct bytes *out, const void *p, size_t n)
{
	size_t bound = ZSTD_compressBound(n);

	vec_reserve(out, out->n + bound);
	out->n += ZSTD_compress(out->at + out->n, bound, p, n, 1);
}

/* A record packet's payload: each stream a length byte and so many bytes of the input. */
static void put_streams(struct bytes *out, struct cursor *c)
{
	for (int s = 0; s < STREAMS; s++) {
		size_t n = cursor_u8(c), at;
		const void *p;

		n = n < cursor_left(c) ? n : cursor_left(c);
		p = cursor_bytes(c, n);
		bytes_uleb(out, n);
		if (n < STREAM_PLAIN) {
			bytes_put(out, p, n);
			continue;
		}
		bytes_u32(out, 0);
		at = out->n;
		put_compressed(out, p, n);
		memcpy(out->at + at - 4, &(uint32_t){ (uint32_t)(out->n - at) }, 4);
	}
}

static void put_records_header(struct packet_header *h, struct cursor *c)
{
	h->records.thread = cursor_u8(c) % 4;
	h->records.words = cursor_u16(c);
	h->records.table_bits = 6 + cursor_u8(c) % 10;
	h->records.tsc_shift = cursor_u8(c);
	h->records.first_tsc = cursor_u64(c);
	h->records.last_tsc = h->records.first_tsc + cursor_u32(c);
}

/* One packet, its contents from the input. */
static void put_packet(struct bytes *file, struct places *places, struct cursor *c)
{
	struct packet_header h = { .type = 1 + cursor_u8(c) % 4 };
	struct bytes payload = {0};
	size_t n;

	if (h.type == PACKET_RECORDS) {
		put_records_header(&h, c);
		put_streams(&payload, c);
	} else {
		n = cursor_u16(c);
		n = n < cursor_left(c) ? n : cursor_left(c);
		h.raw = (uint32_t)n;
		put_compressed(&payload, cursor_bytes(c, n), n);
	}
	h.payload = (uint32_t)payload.n;
	h.crc = crc32c(payload.at, payload.n);
	*vec_add(places) = (struct packet_place){ file->n, h };
	format_packet_header(file, &h);
	bytes_put(file, payload.at, payload.n);
	vec_free(&payload);
}

/* The information that a writer puts first: a host, settings, two images, a module, four threads.
 */
static void put_usual_info(struct bytes *file, struct places *places)
{
	struct trace_info *info = trace_info_new();
	struct packet_header h = { .type = PACKET_INFO };
	struct bytes items = {0}, payload = {0};
	struct info_writer *w = info_writer_new();

	*vec_add(&info->settings) = (struct trace_setting){ mem_strdup("set_event"), mem_strdup("a\nb"), true };
	*vec_add(&info->images) = (struct trace_image){0};
	*vec_add(&info->images) = (struct trace_image){0};
	*vec_add(&info->modules) = (struct trace_module){0};
	for (uint32_t i = 0; i < 4; i++)
		*vec_add(&info->threads) = (struct trace_thread){ .tid = i };
	info_write(w, info, false, &items);
	put_compressed(&payload, items.at, items.n);
	h.raw = (uint32_t)items.n;
	h.payload = (uint32_t)payload.n;
	h.crc = crc32c(payload.at, payload.n);
	*vec_add(places) = (struct packet_place){ file->n, h };
	format_packet_header(file, &h);
	bytes_put(file, payload.at, payload.n);
	vec_free(&items);
	vec_free(&payload);
	info_writer_free(w);
	trace_info_free(info);
}

static void read_wrapped(const uint8_t *data, size_t size, bool indexed)
{
	struct cursor c = cursor_of(data, size);
	struct places places = {0};
	struct bytes file = {0};
	uint64_t index;

	format_file_header(&file, FORMAT_VERSION, 0);
	put_usual_info(&file, &places);
	while (cursor_left(&c))
		put_packet(&file, &places, &c);
	if (indexed) {
		index = file.n;
		index_encode(places.at, places.n, &file, NULL);
		format_trailer(&file, index);
	}
	read_file(file.at, file.n);
	vec_free(&file);
	vec_free(&places);
}

/* The longest run of whole records at the beginning of n words. */
static size_t whole_records(const uint64_t *words, size_t n)
{
	size_t i = 0;

	while (i < n && (words[i] & 0xffffff) && i + 1 + record_payload(words[i]) <= n)
		i += 1 + record_payload(words[i]);
	return i;
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
	encoder = encoder ? encoder : columns_encoder_new();
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

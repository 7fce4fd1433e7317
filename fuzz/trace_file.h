/* SPDX-License-Identifier: MIT */
/* A trace file whose packets' contents are the input's: checksums and compression are right, so
 * that a fuzzer gets behind them. */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cursor.h"
#include "store/crc.h"
#include "store/format.h"
#include "store/index.h"
#include "store/info.h"
#include "store/streams.h"

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

/* indexed: an index of the packets ends the file. vec_free() the bytes. */
static struct bytes trace_file_make(const uint8_t *data, size_t size, bool indexed)
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
	vec_free(&places);
	return file;
}

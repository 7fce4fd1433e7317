/* SPDX-License-Identifier: MIT */
/* A trace file whose packets' contents are the input's: checksums and compression are right, so
 * that a fuzzer gets behind them. */
#pragma once
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

/* The longest run of whole records at the beginning of n words. */
static size_t whole_records(const uint64_t *words, size_t n)
{
	size_t i = 0;

	while (i < n && (words[i] & 0xffffff) && i + 1 + record_payload(words[i]) <= n)
		i += 1 + record_payload(words[i]);
	return i;
}

/* Records of all kinds, mostly ones that brace writes. */
static uint64_t any_word(struct cursor *c)
{
	uint8_t how = cursor_u8(c);
	uint64_t tsc = cursor_u8(c);
	uint32_t type;

	if (how & 0x80)
		return cursor_u64(c);
	if (!(how & 0x40))
		return record_word(tsc, how >> 2, 1 + how % 3);
	type = how & 32 ? RECORD_STORE_LOST : how & 16 ? RECORD_EVENT_TRACE : cursor_u8(c) % 14;
	return record_word(tsc, record_event_id(how & 3, type), RECORD_EVENT);
}

/* A packet as the writer makes it, of up to 255 words of the input. */
static bool put_coded(struct packet_records *h, struct bytes *out, struct cursor *c)
{
	static struct encoder *encoder;
	struct bytes payload = {0};
	uint64_t words[256];
	size_t n = 0, want;
	struct err err;

	encoder = encoder ? encoder : columns_encoder_new(0);
	h->thread = cursor_u8(c) % 4;
	h->first_tsc = cursor_u16(c);
	want = cursor_u8(c);
	while (n < want && cursor_left(c))
		words[n++] = any_word(c);
	n = whole_records(words, n);
	if (!n || columns_encoder_run(encoder, words, n, h, &payload, &err))
		return false;
	bytes_put(out, payload.at, payload.n);
	vec_free(&payload);
	return true;
}

/* One packet, its contents from the input; if its type's highest bit is set, as a writer makes
 * it. */
static void put_packet(struct bytes *file, struct packet_index *entries, struct cursor *c)
{
	uint8_t type = cursor_u8(c);
	bool coded = type & 0x80;
	struct packet_header h = { .type = coded ? PACKET_RECORDS : 1 + type % 4 };
	struct bytes payload = {0};
	size_t n;

	if (coded) {
		if (!put_coded(&h.records, &payload, c))
			return;
	} else if (h.type == PACKET_RECORDS) {
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
	*vec_add(entries) = (struct packet_entry){ file->n, h };
	format_packet_header(file, &h);
	bytes_put(file, payload.at, payload.n);
	vec_free(&payload);
}

/* The information that a writer puts first: a host, settings, two images, a module, four threads.
 */
static void put_usual_info(struct bytes *file, struct packet_index *entries)
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
	*vec_add(entries) = (struct packet_entry){ file->n, h };
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
	struct packet_index entries = {0};
	struct bytes file = {0};
	uint64_t index;

	format_file_header(&file, FORMAT_VERSION, 0);
	put_usual_info(&file, &entries);
	while (cursor_left(&c))
		put_packet(&file, &entries, &c);
	if (indexed) {
		index = file.n;
		index_encode(entries.at, entries.n, &file, NULL);
		format_trailer(&file, index);
	}
	vec_free(&entries);
	return file;
}

/* Runs most targets on an input: its first byte says whether the others are a file, or the
 * contents of one's packets. */
static inline int trace_file_run(const uint8_t *data, size_t size, void (*use)(const uint8_t *bytes, size_t n))
{
	struct bytes file;

	if (!size)
		return 0;
	if (data[0] % 4 == 0) {
		use(data + 1, size - 1);
		return 0;
	}
	file = trace_file_make(data + 1, size - 1, data[0] % 4 == 1);
	use(file.at, file.n);
	vec_free(&file);
	return 0;
}

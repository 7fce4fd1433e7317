/* SPDX-License-Identifier: MIT */
/* Encodes and decodes the index. pipeline.c writes it at the end of a file, reader.c reads it when
 * it opens one; each on its caller's thread. Offsets and times are differences to the entry before,
 * so that an entry takes some ten bytes. A malformed index is no error for the reader: it scans the
 * file instead. It fails only where it is written. */
#include "store/index.h"

#include <errno.h>
#include <zstd.h>

#include "base/cursor.h"
#include "store/crc.h"

#define PER_PACKET 65536u /* entries of one index packet */
#define LEVEL 3

/* Offsets and times are differences from the preceding entry, which makes them short. */
static void put_entry(struct bytes *b, const struct packet_entry *entry, uint64_t last_offset,
		      uint64_t last_tsc)
{
	const struct packet_records *r = &entry->head.records;

	bytes_uleb(b, entry->head.type);
	bytes_uleb(b, entry->offset - last_offset);
	bytes_uleb(b, entry->head.payload);
	if (entry->head.type != PACKET_RECORDS)
		return;
	bytes_uleb(b, r->thread);
	bytes_uleb(b, r->words);
	bytes_uleb(b, r->records);
	bytes_uleb(b, r->calls);
	bytes_uleb(b, bytes_zigzag((int64_t)(r->first_tsc - last_tsc)));
	bytes_uleb(b, bytes_zigzag((int64_t)(r->last_tsc - r->first_tsc)));
	bytes_uleb(b, r->lost);
}

/* Compresses the index into a packet of its own. 0, or -errno and *err. */
static int put_packet(struct bytes *out, const struct bytes *raw, struct err *err)
{
	struct packet_header head = { .type = PACKET_INDEX, .raw = (uint32_t)raw->n };
	size_t bound = ZSTD_compressBound(raw->n), n;
	uint8_t *payload = mem_realloc(NULL, bound, 1);
	int r = 0;

	n = ZSTD_compress(payload, bound, raw->at, raw->n, LEVEL);
	if (ZSTD_isError(n)) {
		r = err_set(err, EIO, "cannot compress the index: %s", ZSTD_getErrorName(n));
	} else {
		head.payload = (uint32_t)n;
		head.crc = crc32c(payload, n);
		format_packet_header(out, &head);
		bytes_put(out, payload, n);
	}
	free(payload);
	return r;
}

int index_encode(const struct packet_entry *entries, size_t n, struct bytes *out, struct err *err)
{
	struct bytes raw = {0};
	int r = 0;

	/* Each index packet is decoded by itself: differences begin from 0 in each. */
	while (n && !r) {
		size_t count = n < PER_PACKET ? n : PER_PACKET;
		uint64_t offset = 0, tsc = 0;

		raw.n = 0;
		/* Readers bound the count by the bytes that follow it (index_decode). */
		bytes_uleb(&raw, count);
		for (size_t i = 0; i < count; i++) {
			put_entry(&raw, &entries[i], offset, tsc);
			offset = entries[i].offset;
			if (entries[i].head.type == PACKET_RECORDS)
				tsc = entries[i].head.records.first_tsc;
		}
		r = put_packet(out, &raw, err);
		entries += count;
		n -= count;
	}
	vec_free(&raw);
	return r;
}

/* The index has only what packets are chosen by: the rest comes with a packet's own header. */
static void get_records(struct cursor *c, struct packet_records *r, uint64_t last_tsc)
{
	r->thread = cursor_uleb32(c);
	r->words = cursor_uleb32(c);
	r->records = cursor_uleb32(c);
	r->calls = cursor_uleb32(c);
	r->first_tsc = last_tsc + (uint64_t)bytes_unzigzag(cursor_uleb(c));
	r->last_tsc = r->first_tsc + (uint64_t)bytes_unzigzag(cursor_uleb(c));
	r->lost = cursor_uleb(c);
}

bool index_decode(const uint8_t *p, size_t n, struct packet_index *entries)
{
	struct cursor c = cursor_of(p, n);
	uint64_t count = cursor_uleb(&c), offset = 0, tsc = 0;

	/* An entry takes at least 3 bytes: a count beyond that is a lie, and would loop for
	 * long. */
	if (c.bad || count > cursor_left(&c) / 3)
		return false;
	for (; count && !c.bad; count--) {
		struct packet_entry entry = {0};

		entry.head.type = (uint16_t)cursor_uleb(&c);
		offset += cursor_uleb(&c);
		entry.offset = offset;
		entry.head.payload = cursor_uleb32(&c);
		if (entry.head.type == PACKET_RECORDS) {
			get_records(&c, &entry.head.records, tsc);
			tsc = entry.head.records.first_tsc;
		}
		*vec_add(entries) = entry;
	}
	return !c.bad;
}

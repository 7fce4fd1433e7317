/* SPDX-License-Identifier: MIT */
/* Encodes and decodes headers and the trailer. writer, pipeline and reader call it. Every structure
 * ends with a checksum of its own, which is tested before any field is believed. Any thread; no
 * state. A damaged structure is false. */
#include "store/format.h"

#include "base/cursor.h"
#include "store/crc.h"

#define FILE_MAGIC_SIZE 8

static void append_crc(struct bytes *out, size_t from)
{
	bytes_u32(out, crc32c(out->at + from, out->n - from));
}

/* Whether the last 4 of n bytes are the checksum of the bytes before. */
static bool crc_matches(const uint8_t *p, size_t n)
{
	uint32_t crc;

	memcpy(&crc, p + n - sizeof(crc), sizeof(crc));
	return crc32c(p, n - sizeof(crc)) == crc;
}

/* Magic, version, time of creation in ns since 1970, checksum. */
void format_file_header(struct bytes *out, uint32_t version, uint64_t real_ns)
{
	size_t from = out->n;

	bytes_put(out, FILE_MAGIC, FILE_MAGIC_SIZE);
	bytes_u32(out, version);
	bytes_u64(out, real_ns);
	append_crc(out, from);
}

enum file_verdict format_check_file(const uint8_t *p, size_t n, uint32_t *version)
{
	size_t known = n < FILE_MAGIC_SIZE ? n : FILE_MAGIC_SIZE;

	/* A file shorter than the magic is judged by what is there: an empty one is short, not
	 * foreign. */
	*version = 0;
	if (memcmp(p, FILE_MAGIC, known))
		return FILE_FOREIGN;
	if (n < FILE_MAGIC_SIZE + sizeof(*version))
		return FILE_SHORT;
	/* The version comes before the checksum: a newer format may have another header. */
	memcpy(version, p + FILE_MAGIC_SIZE, sizeof(*version));
	if (*version > FORMAT_VERSION)
		return FILE_NEWER;
	if (n < FILE_HEADER_SIZE)
		return FILE_SHORT;
	return *version && crc_matches(p, FILE_HEADER_SIZE) ? FILE_OK : FILE_DAMAGED;
}

/* The order of fields is the file format's: get_records() reads them in the same one. */
static void put_records(struct bytes *out, const struct packet_records *r)
{
	bytes_u32(out, r->thread);
	bytes_u32(out, r->words);
	bytes_u32(out, r->records);
	bytes_u32(out, r->calls);
	bytes_u16(out, r->cpu);
	bytes_u8(out, r->table_bits);
	bytes_u8(out, r->tsc_shift);
	bytes_u64(out, r->first_tsc);
	bytes_u64(out, r->last_tsc);
	bytes_u64(out, r->lost);
}

static void get_records(struct cursor *c, struct packet_records *r)
{
	r->thread = cursor_u32(c);
	r->words = cursor_u32(c);
	r->records = cursor_u32(c);
	r->calls = cursor_u32(c);
	r->cpu = cursor_u16(c);
	r->table_bits = cursor_u8(c);
	r->tsc_shift = cursor_u8(c);
	r->first_tsc = cursor_u64(c);
	r->last_tsc = cursor_u64(c);
	r->lost = cursor_u64(c);
}

/* Magic, type, this header's size, the payload's, its size before compression, its checksum;
 * records have more fields. docs/trace-file.md has the layout. */
void format_packet_header(struct bytes *out, const struct packet_header *h)
{
	size_t from = out->n;
	uint16_t size;

	bytes_u32(out, PACKET_MAGIC);
	bytes_u16(out, h->type);
	/* The size is known at the end. */
	bytes_u16(out, 0);
	bytes_u32(out, h->payload);
	bytes_u32(out, h->raw);
	bytes_u32(out, h->crc);
	if (h->type == PACKET_RECORDS)
		put_records(out, &h->records);
	size = (uint16_t)(out->n - from + 4);
	memcpy(out->at + from + 6, &size, sizeof(size));
	append_crc(out, from);
}

/* Limits the memory that a header can make a reader allocate. */
static bool is_plausible(const struct packet_header *h)
{
	if (h->payload > PACKET_PAYLOAD_MAX || h->raw > PACKET_RAW_MAX)
		return false;
	return h->type != PACKET_RECORDS ||
	       (h->records.words && h->records.words <= PACKET_WORDS_MAX);
}

bool format_read_packet_header(const uint8_t *p, size_t n, struct packet_header *out)
{
	struct cursor c = cursor_of(p, n);
	uint32_t magic = cursor_u32(&c);

	memset(out, 0, sizeof(*out));
	out->type = cursor_u16(&c);
	out->size = cursor_u16(&c);
	out->payload = cursor_u32(&c);
	out->raw = cursor_u32(&c);
	out->crc = cursor_u32(&c);
	if (c.bad || magic != PACKET_MAGIC || out->size < PACKET_HEADER_MIN ||
	    out->size > PACKET_HEADER_MAX || out->size > n || !crc_matches(p, out->size))
		return false;
	/* The fields end before the checksum. Newer writers may have more of them: the rest is
	 * skipped. */
	c.end = p + out->size - 4;
	if (out->type == PACKET_RECORDS)
		get_records(&c, &out->records);
	return !c.bad && is_plausible(out);
}

/* The last bytes of a whole file: they say where the index begins. */
void format_trailer(struct bytes *out, uint64_t index_offset)
{
	size_t from = out->n;

	bytes_put(out, TRAILER_MAGIC, 8);
	bytes_u64(out, index_offset);
	bytes_u32(out, 0);
	append_crc(out, from);
}

bool format_read_trailer(const uint8_t *p, size_t n, uint64_t *index_offset)
{
	if (n != TRAILER_SIZE || memcmp(p, TRAILER_MAGIC, 8) || !crc_matches(p, n))
		return false;
	memcpy(index_offset, p + 8, sizeof(*index_offset));
	return true;
}

/* SPDX-License-Identifier: MIT */
/* The bytes of a trace file outside its packets' payloads: file header, packet header, trailer.
 * docs/trace-file.md describes them for people. All functions are pure; readers survive any
 * bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/bytes.h"

#define FORMAT_VERSION 3
/* for files without return values: readers that know only version 1 understand those */
#define FORMAT_VERSION_PLAIN 1
#define FILE_MAGIC "brace\r\n\x1a"
#define FILE_HEADER_SIZE 24
#define TRAILER_MAGIC "braceEND"
#define TRAILER_SIZE 24

#define PACKET_MAGIC 0x6b6e6863u /* "chnk" */
#define PACKET_HEADER_MIN 24
#define PACKET_HEADER_MAX 128
#define PACKET_WORDS_MAX (128u << 10)     /* words of records in a packet: 1 MiB */
#define PACKET_PAYLOAD_MAX (16u << 20)
#define PACKET_RAW_MAX (16u << 20)        /* bytes of an info or index packet, decompressed */

enum packet_type {
	PACKET_INFO = 1,    /* items of trace_info: info.h */
	PACKET_RECORDS = 2, /* words of one thread: columns.h */
	PACKET_INDEX = 3,   /* where the other packets are; the last of the file */
	PACKET_EFFECTS = 4,  /* what packets of records do to stacks: effects.h */
};

/* Facts about a run of records that a reader needs before it decodes the run. */
struct packet_records {
	uint32_t thread;
	uint32_t words;     /* 1 to PACKET_WORDS_MAX */
	/* records that record_counts, without those that the writer added itself */
	uint32_t records;
	uint32_t calls;
	uint16_t cpu;       /* CPU of the first record */
	uint8_t table_bits; /* log2 of the predictor tables' size */
	uint8_t tsc_shift;  /* low TSC bits that never change in this packet */
	uint64_t first_tsc; /* full, of the first word */
	uint64_t last_tsc;  /* full, of the last record */
	uint64_t lost;      /* sum of the EVENT_LOST in the packet */
};

struct packet_header {
	uint16_t type;
	uint16_t size;      /* of this header, with its checksum */
	uint32_t payload;   /* bytes that follow it */
	uint32_t raw;       /* all others: bytes of the payload when decompressed */
	uint32_t crc;       /* checksum of the payload */
	struct packet_records records; /* PACKET_RECORDS only */
};

/* Appends the file header. real_ns: CLOCK_REALTIME of the beginning of the trace. */
void format_file_header(struct bytes *out, uint32_t version, uint64_t real_ns);
/* Appends the header, its checksum last; header->size is ignored. */
void format_packet_header(struct bytes *out, const struct packet_header *header);
/* Appends the trailer. */
void format_trailer(struct bytes *out, uint64_t index_offset);

enum file_verdict { FILE_OK, FILE_FOREIGN, FILE_SHORT, FILE_NEWER, FILE_DAMAGED };
/* Judges the first n bytes of a file. *version is set as far as it could be read. */
enum file_verdict format_check_file(const uint8_t *p, size_t n, uint32_t *version);
/* False if the n bytes at p do not begin with a whole, undamaged header. */
bool format_read_packet_header(const uint8_t *p, size_t n, struct packet_header *out);
/* False if the n bytes at p are no trailer. */
bool format_read_trailer(const uint8_t *p, size_t n, uint64_t *index_offset);

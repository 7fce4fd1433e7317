/* SPDX-License-Identifier: MIT */
/* The index at the end of a trace file: where the packets are, so that opening a file of any
 * size reads only what it needs. */
#pragma once
#include "store/pipeline.h"

/* Appends PACKET_INDEX packets, headers and all. 0 or -errno. */
int index_encode(const struct packet_entry *entries, size_t n, struct bytes *out, struct err *err);

struct packet_index {
	struct packet_entry *at;
	size_t n, cap;
};
/* Adds the packets that one index packet's payload (decompressed) lists; false if it is malformed.
 * A header gets only its type, the payload's size and the records' thread, words, records, calls,
 * first_tsc, last_tsc and lost. */
bool index_decode(const uint8_t *p, size_t n, struct packet_index *entries);

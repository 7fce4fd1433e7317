/* SPDX-License-Identifier: MIT */
/* The two encodings of numbers that brace's Parquet files have, of the format's public
 * specification. Private to src/export. */
#pragma once
#include "store/bytes.h"

/* Bits that the largest number needs: 0 for 0. */
static inline unsigned parquet_width(uint64_t most)
{
	return most ? 64 - (unsigned)__builtin_clzll(most) : 0;
}
/* Appends n numbers by DELTA_BINARY_PACKED: differences to the number before, in blocks of 128,
 * with as few bits as the largest of 32 needs. Times of calls are near each other. */
void parquet_pack_differences(struct bytes *to, const int64_t *numbers, size_t n);
/* Appends n numbers of `width` bits each as one run of the RLE/bit-packing hybrid. */
void parquet_pack_bits(struct bytes *to, const int64_t *numbers, size_t n, unsigned width);
/* Appends n levels, 0 or 1, as runs of equal ones. */
void parquet_pack_levels(struct bytes *to, const uint8_t *levels, size_t n);

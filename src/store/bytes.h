/* SPDX-License-Identifier: MIT */
/* Writing side of base/cursor.h: appends little-endian fields to a growing byte vector. */
#pragma once
#include <stdint.h>
#include <string.h>

#include "base/vec.h"

struct bytes {
	uint8_t *at;
	size_t n, cap;
};

/* Appends n bytes. Allocation does not fail (base/mem.h). */
static inline void bytes_put(struct bytes *b, const void *p, size_t n)
{
	vec_reserve(b, b->n + n);
	if (n)
		memcpy(b->at + b->n, p, n);
	b->n += n;
}

/* Append a number of so many bits, little-endian. */
static inline void bytes_u8(struct bytes *b, uint8_t v) { bytes_put(b, &v, sizeof(v)); }
static inline void bytes_u16(struct bytes *b, uint16_t v) { bytes_put(b, &v, sizeof(v)); }
static inline void bytes_u32(struct bytes *b, uint32_t v) { bytes_put(b, &v, sizeof(v)); }
static inline void bytes_u64(struct bytes *b, uint64_t v) { bytes_put(b, &v, sizeof(v)); }

#define ULEB_MAX 10 /* bytes of the longest 64-bit LEB128 */

/* Writes v at p, which has room; returns the byte after it. */
static inline uint8_t *bytes_write_uleb(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

/* Appends an unsigned LEB128. */
static inline void bytes_uleb(struct bytes *b, uint64_t v)
{
	vec_reserve(b, b->n + ULEB_MAX);
	b->n = (size_t)(bytes_write_uleb(b->at + b->n, v) - b->at);
}

/* Maps signed numbers to unsigned ones that are small when the number is near 0. */
static inline uint64_t bytes_zigzag(int64_t v) { return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63); }
static inline int64_t bytes_unzigzag(uint64_t v) { return (int64_t)(v >> 1) ^ -(int64_t)(v & 1); }

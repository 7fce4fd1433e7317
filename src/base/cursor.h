/* SPDX-License-Identifier: MIT */
/* Reads bytes that came from outside. After the end every read gives 0 and sets `bad`, so that a
 * parser checks once, after the fields, and never reads out of bounds. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bytes stay the caller's. `bad` stays set once it is. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

/* Returns a cursor at the first of n bytes. */
static inline struct cursor cursor_of(const void *bytes, size_t n)
{
	return (struct cursor){ bytes, (const uint8_t *)bytes + n, false };
}

/* Bytes not read yet. */
static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* Returns the next n bytes and moves past them, or NULL (and bad) when there are fewer. */
static inline const void *cursor_bytes(struct cursor *c, size_t n)
{
	const uint8_t *p = c->at;

	if (c->bad || n > cursor_left(c)) {
		c->bad = true;
		c->at = c->end;
		return NULL;
	}
	c->at += n;
	return p;
}

#define CURSOR_FIXED(name, type)                              \
	static inline type cursor_##name(struct cursor *c)    \
	{                                                     \
		const void *p = cursor_bytes(c, sizeof(type)); \
		type v = 0;                                   \
		if (p)                                        \
			memcpy(&v, p, sizeof(v));             \
		return v;                                     \
	}
CURSOR_FIXED(u8, uint8_t)
CURSOR_FIXED(u16, uint16_t)
CURSOR_FIXED(u32, uint32_t)
CURSOR_FIXED(u64, uint64_t)
#undef CURSOR_FIXED

/* DWARF's unsigned LEB128; more than 64 bits of value set bad. */
static inline uint64_t cursor_uleb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = cursor_u8(c);

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

/* A number beyond 32 bits sets bad. */
static inline uint32_t cursor_uleb32(struct cursor *c)
{
	uint64_t v = cursor_uleb(c);

	if (v > UINT32_MAX)
		c->bad = true;
	return (uint32_t)v;
}

/* Reads a signed LEB128. Sets c->bad and returns 0 where the bytes end first. */
static inline int64_t cursor_sleb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64;) {
		uint8_t b = cursor_u8(c);

		v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (b & 0x80)
			continue;
		if (shift < 64 && (b & 0x40))
			v |= ~UINT64_C(0) << shift;
		return (int64_t)v;
	}
	c->bad = true;
	return 0;
}

/* A NUL-terminated string inside the bytes, or NULL (and bad). */
static inline const char *cursor_str(struct cursor *c)
{
	const uint8_t *nul = c->bad ? NULL : memchr(c->at, 0, cursor_left(c));
	const char *s = (const char *)c->at;

	if (!nul) {
		c->bad = true;
		c->at = c->end;
		return NULL;
	}
	c->at = nul + 1;
	return s;
}

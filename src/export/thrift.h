/* SPDX-License-Identifier: MIT */
/* Thrift's compact protocol, written: structures of numbered fields, as Parquet's headers are. A
 * field has the distance of its number to the one before, and its type, in one byte. Private to
 * src/export. */
#pragma once
#include "store/bytes.h"

enum thrift_type {
	THRIFT_TRUE = 1, THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

#define THRIFT_DEPTH 12   /* structures in each other, as many as a Parquet file has and more */

struct thrift {
	struct bytes bytes;          /* what was written; the caller's to free */
	unsigned last[THRIFT_DEPTH]; /* the number of the latest field, by depth */
	unsigned depth;
};

/* Begins a field. Numbers rise within a structure, by 15 at most. */
static inline void thrift_field(struct thrift *t, unsigned number, enum thrift_type type)
{
	bytes_u8(&t->bytes, (uint8_t)((number - t->last[t->depth]) << 4 | type));
	t->last[t->depth] = number;
}

/* A field that is a number; THRIFT_I32 and THRIFT_I64 look alike but for the type. */
static inline void thrift_i32(struct thrift *t, unsigned number, int32_t v)
{
	thrift_field(t, number, THRIFT_I32);
	bytes_uleb(&t->bytes, bytes_zigzag(v));
}

/* A field of 64 bits that is a number, like thrift_i32()'s of 32. */
static inline void thrift_i64(struct thrift *t, unsigned number, uint64_t v)
{
	thrift_field(t, number, THRIFT_I64);
	bytes_uleb(&t->bytes, bytes_zigzag((int64_t)v));
}

/* Bytes, or text: an element of a list, or a field. */
static inline void thrift_element(struct thrift *t, const void *bytes, size_t n)
{
	bytes_uleb(&t->bytes, n);
	bytes_put(&t->bytes, bytes, n);
}

/* A field that is bytes. */
static inline void thrift_binary(struct thrift *t, unsigned number, const void *bytes, size_t n)
{
	thrift_field(t, number, THRIFT_BINARY);
	thrift_element(t, bytes, n);
}

/* A field that is a text, without its NUL. */
static inline void thrift_text(struct thrift *t, unsigned number, const char *text)
{
	thrift_binary(t, number, text, strlen(text));
}

/* Begins a list of n elements, which the caller writes. */
static inline void thrift_list(struct thrift *t, unsigned number, enum thrift_type of, size_t n)
{
	thrift_field(t, number, THRIFT_LIST);
	bytes_u8(&t->bytes, (uint8_t)((n < 15 ? n : 15) << 4 | of));
	if (n >= 15)
		bytes_uleb(&t->bytes, n);
}

/* Begins a structure that is an element of a list, or a field; thrift_end() ends both. */
static inline void thrift_begin(struct thrift *t)
{
	t->last[++t->depth] = 0;
}

/* Begins a field that is a structure. */
static inline void thrift_struct(struct thrift *t, unsigned number)
{
	thrift_field(t, number, THRIFT_STRUCT);
	thrift_begin(t);
}

/* Ends the innermost structure. */
static inline void thrift_end(struct thrift *t)
{
	bytes_u8(&t->bytes, 0);
	t->depth--;
}

/* Ends the outermost structure, which has no thrift_begin(). */
static inline void thrift_finish(struct thrift *t)
{
	bytes_u8(&t->bytes, 0);
	t->last[0] = 0;
}

/* SPDX-License-Identifier: MIT */
/* Writing of protobuf messages by field numbers: into memory, because a message's length stands
 * before it. Private to src/export. */
#pragma once
#include <stdint.h>
#include <string.h>

#include "base/out.h"
#include "base/vec.h"

typedef VEC(char) protobuf;

/* Appends bytes as they are. */
static inline void protobuf_bytes(protobuf *p, const void *bytes, size_t n)
{
	if (!n) /* then bytes may be NULL */
		return;
	vec_reserve(p, p->n + n);
	memcpy(p->at + p->n, bytes, n);
	p->n += n;
}

/* Appends a number in the form of variable length, without a field's head. */
static inline void protobuf_varint(protobuf *p, uint64_t v)
{
	char bytes[10];
	size_t n = 0;

	for (; v > 127; v >>= 7)
		bytes[n++] = (char)(v | 128);
	bytes[n++] = (char)v;
	protobuf_bytes(p, bytes, n);
}

/* Appends a field that is an integer, an enumeration or a bool. */
static inline void protobuf_number(protobuf *p, unsigned field, uint64_t v)
{
	protobuf_varint(p, field << 3);
	protobuf_varint(p, v);
}

/* Appends a field that is a double. */
static inline void protobuf_double(protobuf *p, unsigned field, double v)
{
	protobuf_varint(p, field << 3 | 1);
	protobuf_bytes(p, &v, sizeof(v));
}

/* Appends a field that is a string, bytes, or a message that has been written. */
static inline void protobuf_field(protobuf *p, unsigned field, const void *bytes, size_t n)
{
	protobuf_varint(p, field << 3 | 2);
	protobuf_varint(p, n);
	protobuf_bytes(p, bytes, n);
}

/* Adds *inner as a field, and empties it. */
static inline void protobuf_inner(protobuf *p, unsigned field, protobuf *inner)
{
	protobuf_field(p, field, inner->at, inner->n);
	inner->n = 0;
}

/* Writes the message as a field of the outermost one, and empties it. */
static inline void protobuf_write(struct out *out, unsigned field, protobuf *message)
{
	protobuf head = { 0 };

	protobuf_varint(&head, (uint64_t)field << 3 | 2);
	protobuf_varint(&head, message->n);
	out_bytes(out, head.at, head.n);
	out_bytes(out, message->at, message->n);
	message->n = 0;
	vec_free(&head);
}

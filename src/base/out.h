/* SPDX-License-Identifier: MIT */
/* Where reports write: a buffer that is handed on when it is full. A trace prints a line
 * for every few nanoseconds of a program's life, so integers and padding are formatted
 * here, inline, without printf. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct out {
	char *at, *end, *buffer;
	/* Takes n bytes; 0 or -errno. After an error nothing more is handed on. */
	int (*flush)(void *arg, const char *bytes, size_t n);
	void *arg;
	int error; /* the first -errno of flush; 0 = all is well */
	bool raw;  /* what is written is handed on as it is; else it is escaped (base/escape.h) */
};

/* Most that out_room may ask for at a time. */
#define OUT_ROOM 4096

/* For people and their terminals: what they must not be given is escaped, whoever wrote it. */
void out_init(struct out *o, int (*flush)(void *arg, const char *bytes, size_t n), void *arg);
/* For files of the tree, as the kernel's, and for what was escaped already. */
void out_init_raw(struct out *o, int (*flush)(void *arg, const char *bytes, size_t n), void *arg);
/* Hands on what is buffered. Returns o->error. */
int out_flush(struct out *o);
/* Frees the buffer; does not flush. */
void out_free(struct out *o);

/* Room for n bytes (at most OUT_ROOM): hands on whole lines, so that what the traced program writes to
 * the same place comes between two of ours. */
void out_make_room(struct out *o, size_t n);

/* Bytes of any number, a NUL-terminated string, and printf for what is printed once. */
void out_bytes_slow(struct out *o, const char *bytes, size_t n);
/* A part of a line that a program chose, NUL-terminated or n bytes long at most: unless o is raw, newlines are escaped, too. */
void out_foreign(struct out *o, const char *s, size_t n);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline void out_room(struct out *o, size_t n)
{
	if ((size_t)(o->end - o->at) < n)
		out_make_room(o, n);
}

static inline void out_bytes(struct out *o, const char *bytes, size_t n)
{
	if ((size_t)(o->end - o->at) < n) {
		out_bytes_slow(o, bytes, n);
		return;
	}
	memcpy(o->at, bytes, n);
	o->at += n;
}

static inline void out_str(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}

static inline void out_char(struct out *o, char c)
{
	out_room(o, 1);
	*o->at++ = c;
}

static inline void out_spaces(struct out *o, size_t n)
{
	while (n > OUT_ROOM) {
		out_room(o, OUT_ROOM);
		memset(o->at, ' ', OUT_ROOM);
		o->at += OUT_ROOM;
		n -= OUT_ROOM;
	}
	out_room(o, n);
	memset(o->at, ' ', n);
	o->at += n;
}

/* The decimal digits of v, ending just before `end`; returns where they begin. */
static inline char *out_digits(char *end, uint64_t v)
{
	do {
		*--end = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return end;
}

/* As printf's %lx. */
static inline void out_hex(struct out *o, uint64_t v)
{
	char digits[16], *at = digits + sizeof(digits);
	size_t n;

	do {
		*--at = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	n = (size_t)(digits + sizeof(digits) - at);
	out_bytes(o, at, n);
}

static inline unsigned out_width(uint64_t v)
{
	unsigned n = 1;

	while (v >= 10) {
		v /= 10;
		n++;
	}
	return n;
}

/* v as printf's %*lu would: right in `width` columns filled with `fill`. */
static inline void out_u64(struct out *o, uint64_t v, unsigned width, char fill)
{
	char digits[20], *at = out_digits(digits + sizeof(digits), v);
	size_t n = (size_t)(digits + sizeof(digits) - at);

	out_room(o, width + sizeof(digits));
	for (; width > n; width--)
		*o->at++ = fill;
	memcpy(o->at, at, n);
	o->at += n;
}

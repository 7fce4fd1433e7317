/* SPDX-License-Identifier: MIT */
/* Buffered output of reports. A trace prints a line for every few nanoseconds of a program's life,
 * so integers and padding are formatted here, inline, without printf. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct out {
	char *at, *end, *buffer;
	/* Takes n bytes; returns 0 or -errno. Not called again after an error. */
	int (*flush)(void *arg, const char *bytes, size_t n);
	void *arg;
	int error; /* the first -errno of flush; 0 = all is well */
	/* Bytes are handed on as they are; false: unprintable ones are escaped (base/escape.h). */
	bool raw;
	unsigned width; /* columns of the terminal that shows it: names are cut; 0: there is none */
};

/* Maximum of out_room(). */
#define OUT_ROOM 4096

/* Initialises o for people and their terminals: unprintable bytes are escaped, whoever wrote them.
 * Free it by out_free(). */
void out_init(struct out *o, int (*flush)(void *arg, const char *bytes, size_t n), void *arg);
/* Initialises o for files of the tree, whose bytes are as the kernel's, and for text that was
 * escaped already. */
void out_init_raw(struct out *o, int (*flush)(void *arg, const char *bytes, size_t n), void *arg);
/* The text of an output that ends in memory: its flush, and the arg of it. at ends with a NUL,
 * is NULL before the first flush, and is for free(). Always 0, so that nothing is lost. */
struct out_text { char *at; size_t n; };
int out_keep_text(void *text, const char *bytes, size_t n);
/* Ends such an output and returns its text, "" if nothing was written; free() it. */
char *out_text_end(struct out *o);
/* Hands on what is buffered. Returns o->error. */
int out_flush(struct out *o);
/* Frees the buffer; does not flush. */
void out_free(struct out *o);

/* Makes room for n bytes (at most OUT_ROOM). Hands on whole lines only, so that output of the
 * traced program to the same place falls between two lines of ours. */
void out_make_room(struct out *o, size_t n);

/* out_bytes() without enough room in the buffer; any n. */
void out_bytes_slow(struct out *o, const char *bytes, size_t n);
/* Writes a string that a program chose, inside of a line: NUL-terminated, or n bytes long at most.
 * Unless o is raw, newlines and tabs are escaped, too. */
void out_foreign(struct out *o, const char *s, size_t n);
/* out_foreign(), for the name of a thread: a newline is escaped even if o is raw, so that no name
 * makes a line that looks like a record. */
void out_name(struct out *o, const char *s, size_t n);
/* printf for lines that are printed once: it allocates. */
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Guarantees n bytes between `at` and `end`; n is at most OUT_ROOM. */
static inline void out_room(struct out *o, size_t n)
{
	if ((size_t)(o->end - o->at) < n)
		out_make_room(o, n);
}

/* Appends n bytes as they are, whatever o->raw says. As all writers below, it may flush; an error
 * stays in o->error, and what comes later is dropped. */
static inline void out_bytes(struct out *o, const char *bytes, size_t n)
{
	if ((size_t)(o->end - o->at) < n) {
		out_bytes_slow(o, bytes, n);
		return;
	}
	memcpy(o->at, bytes, n);
	o->at += n;
}

/* Appends a NUL-terminated string of brace's own; out_foreign() is for others'. */
static inline void out_str(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}

/* Appends one byte. */
static inline void out_char(struct out *o, char c)
{
	out_room(o, 1);
	*o->at++ = c;
}

/* Appends n blanks; any n. */
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

/* Writes the decimal digits of v, at most 20 bytes, ending just before `end`; returns where they
 * begin. No NUL. */
static inline char *out_digits(char *end, uint64_t v)
{
	do {
		*--end = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return end;
}

/* Writes a number as printf's %lx does. */
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

/* Returns the number of decimal digits of v. */
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

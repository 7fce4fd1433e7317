/* SPDX-License-Identifier: MIT */
/* The buffer of struct out and its slow paths. A report owns its struct out; one thread at a time
 * uses it, without a lock. The flush function's first error is kept in o->error, everything later
 * is dropped, and out_flush() tells: reports need not check each line. */
#include "base/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"

#define OUT_BYTES 65536

/* 64 KiB are what a pipe usually holds. */
void out_init(struct out *o, int (*flush)(void *arg, const char *bytes, size_t n), void *arg)
{
	o->buffer = o->at = mem_realloc(NULL, OUT_BYTES, 1);
	o->end = o->buffer + OUT_BYTES;
	o->flush = flush;
	o->arg = arg;
	o->error = 0;
	o->raw = false;
}

void out_init_raw(struct out *o, int (*flush)(void *arg, const char *bytes, size_t n), void *arg)
{
	out_init(o, flush, arg);
	o->raw = true;
}

/* No flush after an error: a reader that went away must not be written to again. */
static void pass_on(struct out *o, const char *bytes, size_t n)
{
	if (n && !o->error)
		o->error = o->flush(o->arg, bytes, n);
}

/* For a byte that a terminal would obey or that is no UTF-8 (base/escape.h). */
static void pass_escaped(struct out *o, char byte)
{
	char escaped[ESCAPED_BYTE];

	escape_byte(escaped, byte);
	pass_on(o, escaped, sizeof(escaped));
}

/* Callers cut between characters, except in lines longer than the buffer; there a cut character is
 * escaped without need. Text that a report forgot to escape is caught here at the latest, but for
 * raw ones, whose format has rules of its own. */
static void hand_on(struct out *o, const char *bytes, size_t n)
{
	while (n) {
		size_t stays = o->raw ? n : escape_text_run(bytes, n);

		pass_on(o, bytes, stays);
		if (stays < n)
			pass_escaped(o, bytes[stays++]);
		bytes += stays;
		n -= stays;
	}
}

int out_keep_text(void *text, const char *bytes, size_t n)
{
	struct out_text *t = text;

	t->at = mem_realloc(t->at, t->n + n + 1, 1);
	memcpy(t->at + t->n, bytes, n);
	t->n += n;
	t->at[t->n] = '\0';
	return 0;
}

char *out_text_end(struct out *o)
{
	struct out_text *t = o->arg;

	out_flush(o);
	out_free(o);
	if (!t->at)
		t->at = mem_strdup("");
	return t->at;
}

int out_flush(struct out *o)
{
	hand_on(o, o->buffer, (size_t)(o->at - o->buffer));
	o->at = o->buffer;
	return o->error;
}

/* Passes on whole lines and keeps the begun one, so that a reader of a pipe sees lines, and
 * characters are not cut. */
void out_make_room(struct out *o, size_t n)
{
	const char *newline = memrchr(o->buffer, '\n', (size_t)(o->at - o->buffer));
	size_t whole = newline ? (size_t)(newline + 1 - o->buffer) : 0;
	size_t rest = (size_t)(o->at - o->buffer) - whole;

	if (rest + n > OUT_BYTES) { /* one line is longer than the buffer */
		out_flush(o);
		return;
	}
	hand_on(o, o->buffer, whole);
	memmove(o->buffer, o->buffer + whole, rest);
	o->at = o->buffer + rest;
}

void out_free(struct out *o)
{
	free(o->buffer);
	o->buffer = o->at = o->end = NULL;
}

/* Bytes that cannot fit even into an empty buffer go past it, behind everything that was written
 * before. */
void out_bytes_slow(struct out *o, const char *bytes, size_t n)
{
	if (n > OUT_BYTES) {
		out_flush(o);
		hand_on(o, bytes, n);
		return;
	}
	out_make_room(o, n);
	memcpy(o->at, bytes, n);
	o->at += n;
}

void out_printf(struct out *o, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = mem_vprintf(fmt, ap);
	va_end(ap);
	out_bytes(o, text, strlen(text));
	free(text);
}

/* Returns how many bytes of s may be written as they are. */
static size_t plain_bytes(const struct out *o, const char *s, size_t n, bool one_line)
{
	const char *newline;

	if (!o->raw)
		return escape_line_run(s, n);
	newline = one_line ? memchr(s, '\n', n) : NULL;
	return newline ? (size_t)(newline - s) : n;
}

static void put_foreign(struct out *o, const char *s, size_t n, bool one_line)
{
	size_t left = strnlen(s, n), stays;

	while (left) {
		stays = plain_bytes(o, s, left, one_line);
		out_bytes(o, s, stays);
		if (stays < left) {
			/* Straight to the buffer, as four bytes that hand_on() will find
			 * printable. */
			out_room(o, ESCAPED_BYTE);
			escape_byte(o->at, s[stays++]);
			o->at += ESCAPED_BYTE;
		}
		s += stays;
		left -= stays;
	}
}

void out_foreign(struct out *o, const char *s, size_t n)
{
	put_foreign(o, s, n, false);
}

void out_name(struct out *o, const char *s, size_t n)
{
	put_foreign(o, s, n, true);
}

/* SPDX-License-Identifier: MIT */
#include "base/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"

#define OUT_BYTES 65536

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

static void pass(struct out *o, const char *bytes, size_t n)
{
	if (n && !o->error)
		o->error = o->flush(o->arg, bytes, n);
}

static void pass_escaped(struct out *o, char byte)
{
	char escaped[ESCAPED_BYTE];

	escape_byte(escaped, byte);
	pass(o, escaped, sizeof(escaped));
}

/* Callers do not cut inside of a character, but in lines longer than the buffer: there one may be escaped without need. */
static void hand_on(struct out *o, const char *bytes, size_t n)
{
	while (n) {
		size_t stays = o->raw ? n : escape_text_run(bytes, n);

		pass(o, bytes, stays);
		if (stays < n)
			pass_escaped(o, bytes[stays++]);
		bytes += stays;
		n -= stays;
	}
}

int out_flush(struct out *o)
{
	hand_on(o, o->buffer, (size_t)(o->at - o->buffer));
	o->at = o->buffer;
	return o->error;
}

void out_make_room(struct out *o, size_t n)
{
	const char *newline = memrchr(o->buffer, '\n', (size_t)(o->at - o->buffer));
	size_t whole = newline ? (size_t)(newline + 1 - o->buffer) : 0;
	size_t rest = (size_t)(o->at - o->buffer) - whole;

	if (rest + n > OUT_BYTES) { /* a line longer than the buffer */
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

void out_foreign(struct out *o, const char *s, size_t n)
{
	size_t left = strnlen(s, n), stays;

	while (left) {
		stays = o->raw ? left : escape_line_run(s, left);
		out_bytes(o, s, stays);
		if (stays < left) {
			out_room(o, ESCAPED_BYTE);
			escape_byte(o->at, s[stays++]);
			o->at += ESCAPED_BYTE;
		}
		s += stays;
		left -= stays;
	}
}

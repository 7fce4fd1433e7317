/* SPDX-License-Identifier: MIT */
/* Filling of struct err, by vsnprintf into fixed arrays: an error can be reported when memory has
 * run out. Everybody calls it, each with an err of its own, on any thread. Texts longer than the
 * arrays are cut, between two characters. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* NULL for e: the caller wants the code alone. What an earlier error quoted is dropped. */
static int fill_err(struct err *e, int code, const char *fmt, va_list ap)
{
	if (e) {
		e->code = code;
		if (vsnprintf(e->text, sizeof(e->text), fmt, ap) >= (int)sizeof(e->text))
			e->text[utf8_whole(e->text, sizeof(e->text) - 1)] = '\0';
		e->input[0] = '\0';
		e->column = 0;
	}
	return -code;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill_err(e, code, fmt, ap);
	va_end(ap);
	return -code;
}

/* A cut input may end before the column; the caret then stands behind its last character. */
static void quote_input(struct err *e, const char *input, size_t column)
{
	const size_t room = sizeof(e->input) - 1;
	size_t n = strnlen(input, room + 1);

	n = n > room ? utf8_whole(input, room) : n;
	memcpy(e->input, input, n);
	e->input[n] = '\0';
	e->column = column < n ? column : n;
}

int err_at(struct err *e, int code, const char *input, size_t column, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill_err(e, code, fmt, ap);
	va_end(ap);
	if (e)
		quote_input(e, input, column);
	return -code;
}

int err_at_part(struct err *e, int code, const char *input, size_t column, const char *fmt, ...)
{
	const size_t room = sizeof(e->input) - 1;
	size_t length = strlen(input), from = 0;
	va_list ap;

	va_start(ap, fmt);
	fill_err(e, code, fmt, ap);
	va_end(ap);
	column = column < length ? column : length;
	if (length > room && column > room / 2)
		from = column - room / 2;
	/* No character is cut. */
	while (from < column && ((unsigned char)input[from] & 0xc0) == 0x80)
		from++;
	if (e)
		quote_input(e, input + from, column - from);
	return -code;
}

int err_code(struct err *e, int code)
{
	if (e)
		e->code = code;
	return -code;
}

/* A sentence too long for its place loses its end. */
int err_prefix(struct err *e, const char *fmt, ...)
{
	char head[256], tail[sizeof(e->text)];
	size_t n;
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	/* The old sentence is copied away because vsnprintf may not read what it writes. */
	memcpy(tail, e->text, sizeof(tail));
	n = (size_t)snprintf(e->text, sizeof(e->text), "%s: ", head);
	for (const char *c = tail; *c && n + 1 < sizeof(e->text); c++)
		e->text[n++] = *c;
	e->text[n] = '\0';
	return -e->code;
}

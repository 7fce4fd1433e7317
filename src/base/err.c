/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int fill(struct err *e, int code, const char *fmt, va_list ap)
{
	if (e) {
		e->code = code;
		vsnprintf(e->text, sizeof(e->text), fmt, ap);
		e->input[0] = '\0';
		e->column = 0;
	}
	return -code;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(e, code, fmt, ap);
	va_end(ap);
	return -code;
}

int err_at(struct err *e, int code, const char *input, size_t column, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(e, code, fmt, ap);
	va_end(ap);
	if (e) {
		snprintf(e->input, sizeof(e->input), "%s", input);
		e->column = column < strlen(e->input) ? column : strlen(e->input);
	}
	return -code;
}

int err_code(struct err *e, int code)
{
	if (e)
		e->code = code;
	return -code;
}

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
	memcpy(tail, e->text, sizeof(tail));
	n = (size_t)snprintf(e->text, sizeof(e->text), "%s: ", head);
	for (const char *c = tail; *c && n + 1 < sizeof(e->text); c++)
		e->text[n++] = *c;
	e->text[n] = '\0';
	return -e->code;
}

/* SPDX-License-Identifier: MIT */
#include "ui/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"

int say_bytes(void *arg, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, stderr) == n ? 0 : -EIO;
}

/* Takes text, and frees it. */
static void put(char *text)
{
	fputs(text, stderr);
	free(text);
}

static char *text_of(const char *fmt, va_list ap, char *(*escape)(const char *))
{
	char *raw, *text;

	if (vasprintf(&raw, fmt, ap) < 0)
		return mem_strdup("");
	text = escape(raw);
	free(raw);
	return text;
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(text_of(fmt, ap, escape_text));
	va_end(ap);
}

/* The width, escaped, of what stands before the column. */
static int caret(const struct err *err)
{
	char *before = mem_strndup(err->input, err->column), *shown = escape_line(before);
	size_t n = strlen(shown);

	free(before);
	free(shown);
	return (int)n;
}

int say_error(const struct err *err)
{
	fputs("brace: ", stderr);
	put(escape_line(err->text));
	if (err->input[0]) {
		fputs("\n  ", stderr);
		put(escape_line(err->input));
		fprintf(stderr, "\n  %*s^", caret(err), "");
	}
	fputc('\n', stderr);
	return EXIT_BRACE;
}

void say_warning(const char *fmt, ...)
{
	va_list ap;

	fputs("brace: warning: ", stderr);
	va_start(ap, fmt);
	put(text_of(fmt, ap, escape_line));
	va_end(ap);
	fputc('\n', stderr);
}

int say_start_error(const struct err *err)
{
	static const struct { int code, status; } table[] = {
		{ ENOENT, EXIT_NOT_FOUND },	 { ENOTDIR, EXIT_NOT_FOUND },
		{ EACCES, EXIT_NOT_EXECUTABLE }, { ENOEXEC, EXIT_NOT_EXECUTABLE },
	};

	say_error(err);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].code == err->code)
			return table[i].status;
	return EXIT_BRACE;
}

/* SPDX-License-Identifier: MIT */
/* From any thread. Failures to write to standard error are ignored: there is nowhere to tell of
 * them. */
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

/* Prints text, and frees it. */
static void put_text(char *text)
{
	fputs(text, stderr);
	free(text);
}

/* Formats and escapes. The caller frees the text. */
static char *text_of(const char *fmt, va_list ap, char *(*escape)(const char *))
{
	char *raw, *text;

	/* Without memory nothing is said. */
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
	put_text(text_of(fmt, ap, escape_text));
	va_end(ap);
}

/* The caret's column: the escaped text before it may be longer, its bytes may be more. */
static int caret_column(const struct err *err)
{
	char *before = mem_strndup(err->input, err->column);
	size_t n = escape_line_width(before);

	free(before);
	return (int)n;
}

/* The sentence, and below it the text at fault with a caret, if the error has one. */
int say_error(const struct err *err)
{
	fputs("brace: ", stderr);
	put_text(escape_line(err->text));
	if (err->input[0]) {
		fputs("\n  ", stderr);
		put_text(escape_line(err->input));
		fprintf(stderr, "\n  %*s^", caret_column(err), "");
	}
	fputc('\n', stderr);
	return EXIT_BRACE;
}

void say_warning(const char *fmt, ...)
{
	va_list ap;

	fputs("brace: warning: ", stderr);
	va_start(ap, fmt);
	put_text(text_of(fmt, ap, escape_line));
	va_end(ap);
	fputc('\n', stderr);
}

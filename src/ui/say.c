/* SPDX-License-Identifier: MIT */
/* Standard error, or the descriptor of --logger-fd. From any thread. Failures to write to
 * standard error are ignored: there is nowhere to tell of them. */
#include "ui/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "ui/meter.h"

/* NULL: standard error. */
static FILE *logger;

static FILE *words(void)
{
	meter_make_room();
	return logger ? logger : stderr;
}

int say_to(int fd, struct err *err)
{
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) || !(logger = fdopen(fd, "w")))
		return err_set(err, errno, "descriptor %d cannot be written to: %s", fd,
			       strerror(errno));
	setvbuf(logger, NULL, _IONBF, 0);
	return 0;
}

/* The number of the descriptor stays taken: what another thread says at this moment goes
 * nowhere, not into a file that got the number. */
void say_end(int null)
{
	if (logger)
		dup3(null, fileno(logger), O_CLOEXEC);
}

int say_bytes(void *arg, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, words()) == n ? 0 : -EIO;
}

/* Prints text, and frees it. */
static void put_text(char *text)
{
	fputs(text, words());
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
	fputs("brace: ", words());
	put_text(escape_line(err->text));
	if (err->input[0]) {
		fputs("\n  ", words());
		put_text(escape_line(err->input));
		fprintf(words(), "\n  %*s^", caret_column(err), "");
	}
	fputc('\n', words());
	return EXIT_BRACE;
}

const char *say_word(const char *word, char cut[SAY_WORD])
{
	static const char more[] = "...";
	const size_t room = SAY_WORD - sizeof(more);

	if (strnlen(word, SAY_WORD) < SAY_WORD)
		return word;
	snprintf(cut, SAY_WORD, "%.*s%s", (int)utf8_whole(word, room), word, more);
	return cut;
}

int say_exec_error(const struct err *err)
{
	say_error(err);
	return err->code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

void say_warning(const char *fmt, ...)
{
	va_list ap;

	fputs("brace: warning: ", words());
	va_start(ap, fmt);
	put_text(text_of(fmt, ap, escape_line));
	va_end(ap);
	fputc('\n', words());
}

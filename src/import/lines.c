/* SPDX-License-Identifier: MIT */
/* Text of foreign files, piece by piece: pure functions, which the readers of the formats call on
 * the command's thread. Bytes are untrusted; text that does not fit is false, and stays. */
#include "import/lines.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

/* A carriage return before the newline is no part of the line. */
bool import_line(struct import_text *text, struct import_text *line)
{
	const char *end;

	if (text->at == text->end)
		return false;
	end = memchr(text->at, '\n', (size_t)(text->end - text->at));
	*line = (struct import_text){ text->at, end ? end : text->end };
	text->at = end ? end + 1 : text->end;
	if (line->end > line->at && line->end[-1] == '\r')
		line->end--;
	return true;
}

static void skip_blanks(struct import_text *t)
{
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t'))
		t->at++;
}

/* The word before the next blank; moves behind the blanks. */
struct import_text import_word(struct import_text *line)
{
	struct import_text word;

	skip_blanks(line);
	word.at = line->at;
	while (line->at < line->end && *line->at != ' ' && *line->at != '\t')
		line->at++;
	word.end = line->at;
	skip_blanks(line);
	return word;
}

/* 16: it is no digit. */
static unsigned digit_of(char c)
{
	return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
	       : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
	       : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
				      : 16;
}

/* Moves behind the digits. False: there are none, or more than 64 bits have room for. */
bool import_number(struct import_text *text, unsigned base, uint64_t *out)
{
	const char *begin = text->at;

	for (*out = 0; text->at < text->end && digit_of(*text->at) < base; text->at++)
		if (__builtin_mul_overflow(*out, base, out) ||
		    __builtin_add_overflow(*out, digit_of(*text->at), out))
			return false;
	return text->at > begin;
}

/* SECONDS.FRACTION in nanoseconds; digits behind the ninth do not count. */
bool import_seconds(struct import_text *text, uint64_t *ns)
{
	uint64_t seconds, scale = 100000000;

	if (!import_number(text, 10, &seconds) || seconds > UINT64_MAX / 2000000000 ||
	    text->at == text->end || *text->at != '.')
		return false;
	*ns = seconds * 1000000000;
	for (text->at++; text->at < text->end && isdigit((unsigned char)*text->at); text->at++) {
		*ns += scale * digit_of(*text->at);
		scale /= 10;
	}
	return true;
}

/* Moves behind `literal`, if the text begins with it. */
bool import_literal(struct import_text *text, const char *literal)
{
	size_t n = strlen(literal);

	if ((size_t)(text->end - text->at) < n || memcmp(text->at, literal, n))
		return false;
	text->at += n;
	return true;
}

/* KEY=VALUE among the words of a line; a value in quotes may have blanks. */
bool import_value(struct import_text line, const char *key, struct import_text *out)
{
	while (line.at < line.end) {
		struct import_text word = line;

		if (import_literal(&word, key) && import_literal(&word, "=")) {
			char stop = import_literal(&word, "\"") ? '"' : ' ';
			const char *end =
				memchr(word.at, stop, (size_t)(word.end - word.at));

			*out = (struct import_text){ word.at, end ? end : word.end };
			return true;
		}
		import_word(&line);
	}
	return false;
}

/* A NUL ends a name. */
char *import_copy(struct import_text text)
{
	return mem_strndup(text.at, strnlen(text.at, (size_t)(text.end - text.at)));
}

/* SPDX-License-Identifier: MIT */
/* The escaping of untrusted text (see the header). base/out.c runs all of the output through it, so
 * plain ASCII must pass at memory speed: is_ascii_block() tests 64 bytes at a time. No state but
 * the locale that knows widths of letters; any thread. Only escape_line(), escape_text() and, once,
 * escape_line_width() allocate. */
#include "base/escape.h"

#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wchar.h>

#include "base/mem.h"
#include "base/utf8.h"

#define BLOCK 64

bool escape_is_printable(uint32_t code)
{
	/* Ranges in ascending order: C0, DEL and C1, soft hyphen, Arabic letter mark, Mongolian
	 * vowel separator, zero widths and marks, line separators and bidi overrides, invisible
	 * operators and isolates, byte order mark, interlinear annotations, shorthand and musical
	 * format controls, tags. */
	static const struct { uint32_t from, to; } not[] = {
		{ 0x00, 0x1f },       { 0x7f, 0x9f },       { 0xad, 0xad },       { 0x61c, 0x61c },
		{ 0x180e, 0x180e },
		{ 0x200b, 0x200f },
		{ 0x2028, 0x202e },
		{ 0x2060, 0x206f },
		{ 0xfeff, 0xfeff },
		{ 0xfff9, 0xfffb },
		{ 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(not) / sizeof(*not) && code >= not[i].from; i++)
		if (code <= not[i].to)
			return false;
	return true;
}

static bool is_ascii(char c)
{
	return c >= ' ' && c < 0x7f;
}

/* Output is mostly such blocks. The loop has no early exit, so the compiler vectorises it. */
static bool is_ascii_block(const char *s)
{
	unsigned char other = 0;

	for (size_t i = 0; i < BLOCK; i++)
		other |= !is_ascii(s[i]) & (s[i] != '\n');
	return !other;
}

static bool is_white(char c)
{
	return c == '\n' || c == '\t';
}

/* Returns the length of the character at s if it may stay unescaped; 0 if its first byte must be
 * escaped. */
static size_t escape_step(const char *s, size_t n, bool white)
{
	uint32_t code;
	size_t length;

	if (is_ascii(*s) || (white && is_white(*s)))
		return 1;
	length = utf8_character(s, n, &code);
	return length && escape_is_printable(code) ? length : 0;
}

/* Most text is ASCII: whole blocks of it are passed at once, which is where printing a large
 * trace spends its time otherwise. */
static size_t plain_run(const char *s, size_t n, bool white)
{
	/* `length` starts as 1 only to enter the loop; 0 ends it. */
	size_t at = 0, length = 1;

	for (; at < n && length; at += length)
		length = white && n - at >= BLOCK && is_ascii_block(s + at)
				 ? BLOCK
				 : escape_step(s + at, n - at, white);
	return at;
}

size_t escape_line_run(const char *s, size_t n)
{
	return plain_run(s, n, false);
}

size_t escape_text_run(const char *s, size_t n)
{
	return plain_run(s, n, true);
}

void escape_byte(char to[ESCAPED_BYTE], char byte)
{
	unsigned char c = (unsigned char)byte;

	to[0] = '\\';
	to[1] = (char)('0' + (c >> 6));
	to[2] = (char)('0' + (c >> 3 & 7));
	to[3] = (char)('0' + (c & 7));
}

static char *escape(const char *s, bool white)
{
	size_t n = strlen(s), to = 0, stays;
	/* Four bytes for each one is the worst case. */
	char *text = mem_realloc(NULL, n + 1, ESCAPED_BYTE);

	for (;; s++, n--) {
		stays = plain_run(s, n, white);
		memcpy(text + to, s, stays);
		to += stays;
		s += stays;
		n -= stays;
		if (!n)
			break;
		escape_byte(text + to, *s);
		to += ESCAPED_BYTE;
	}
	text[to] = '\0';
	return text;
}

char *escape_line(const char *s)
{
	return escape(s, false);
}

char *escape_text(const char *s)
{
	return escape(s, true);
}

/* The text is UTF-8, whatever the user's locale is: without this one, of which every glibc from
 * 2.35 on has the tables in itself, a letter counts as one column. */
static locale_t utf8_locale;

static void open_locale(void)
{
	utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
}

/* Columns of a printable character. */
static size_t columns_of(uint32_t code)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	locale_t before;
	int n;

	if (code < 0x7f)
		return 1;
	pthread_once(&once, open_locale);
	if (!utf8_locale)
		return 1;
	before = uselocale(utf8_locale);
	n = wcwidth((wchar_t)code);
	uselocale(before);
	return n < 0 ? 1 : (size_t)n;
}

size_t escape_line_width(const char *s)
{
	size_t left = strlen(s), width = 0;
	uint32_t code;

	while (left) {
		size_t n = utf8_character(s, left, &code);
		bool plain = n && escape_is_printable(code);

		n = n ? n : 1;
		width += plain ? columns_of(code) : n * ESCAPED_BYTE;
		s += n;
		left -= n;
	}
	return width;
}

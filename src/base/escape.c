/* SPDX-License-Identifier: MIT */
#include "base/escape.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define BLOCK 64

bool escape_is_printable(uint32_t code)
{
	static const struct { uint32_t from, to; } not[] = {
		{ 0x00, 0x1f },       { 0x7f, 0x9f },       { 0xad, 0xad },       { 0x61c, 0x61c },
		{ 0x180e, 0x180e },   { 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f },
		{ 0xfeff, 0xfeff },   { 0xfff9, 0xfffb },   { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
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

/* Most of what is printed. The compiler makes vectors of it. */
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

/* The length of what can stay at s; 0: its first byte cannot. */
static size_t step(const char *s, size_t n, bool white)
{
	uint32_t code;
	size_t length;

	if (is_ascii(*s) || (white && is_white(*s)))
		return 1;
	length = utf8_character(s, n, &code);
	return length && escape_is_printable(code) ? length : 0;
}

static size_t run(const char *s, size_t n, bool white)
{
	size_t at = 0, length = 1;

	for (; at < n && length; at += length)
		length = white && n - at >= BLOCK && is_ascii_block(s + at) ? BLOCK : step(s + at, n - at, white);
	return at;
}

size_t escape_line_run(const char *s, size_t n)
{
	return run(s, n, false);
}

size_t escape_text_run(const char *s, size_t n)
{
	return run(s, n, true);
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
	char *text = mem_realloc(NULL, n + 1, ESCAPED_BYTE);

	for (;; s++, n--) {
		stays = run(s, n, white);
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

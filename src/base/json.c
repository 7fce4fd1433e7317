/* SPDX-License-Identifier: MIT */
/* Strings for the JSON reports. Names come from traced programs: control characters and everything
 * that a terminal could act on is escaped. Reports and lists call it with a struct out of their
 * own, on its thread. It has no state and cannot fail: the struct out keeps the first error of
 * writing. */
#include "base/json.h"

#include "base/escape.h"
#include "base/utf8.h"

/* A UTF-16 unit, JSON's way to write any code: those beyond U+FFFF take two. */
static void put_unit(struct out *o, uint32_t u)
{
	out_printf(o, "\\u%04x", u);
}

/* Characters beyond 16 bits are two surrogates. */
static void put_escaped(struct out *o, uint32_t code)
{
	if (code >= 0x10000) {
		put_unit(o, 0xd800 + ((code - 0x10000) >> 10));
		code = 0xdc00 + (code & 0x3ff);
	}
	put_unit(o, code);
}

/* One character of n bytes. `code` decides whether it is shown as it is. */
static void put_character(struct out *o, const char *s, size_t n, uint32_t code)
{
	if (!escape_is_printable(code)) {
		put_escaped(o, code);
		return;
	}
	if (code == '"' || code == '\\')
		out_char(o, '\\');
	out_bytes(o, s, n);
}

/* JSON's own escapes cover the characters that struct out would escape otherwise. */
void json_string(struct out *o, const char *s)
{
	size_t left = s ? strlen(s) : 0;
	uint32_t code;

	if (!s) {
		out_str(o, "null");
		return;
	}
	out_char(o, '"');
	while (left) {
		size_t n = utf8_character(s, left, &code);

		if (n)
			put_character(o, s, n, code);
		else
			put_escaped(o, 0xfffd);
		s += n ? n : 1;
		left -= n ? n : 1;
	}
	out_char(o, '"');
}

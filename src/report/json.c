/* SPDX-License-Identifier: MIT */
#include "report/json.h"

#include "base/escape.h"
#include "base/utf8.h"

static void unit(struct out *o, uint32_t u)
{
	out_printf(o, "\\u%04x", u);
}

static void escaped(struct out *o, uint32_t code)
{
	if (code >= 0x10000) {
		unit(o, 0xd800 + ((code - 0x10000) >> 10));
		code = 0xdc00 + (code & 0x3ff);
	}
	unit(o, code);
}

static void character(struct out *o, const char *s, size_t n, uint32_t code)
{
	if (!escape_is_printable(code)) {
		escaped(o, code);
		return;
	}
	if (code == '"' || code == '\\')
		out_char(o, '\\');
	out_bytes(o, s, n);
}

/* JSON has its own escapes for the characters that struct out would escape. */
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
			character(o, s, n, code);
		else
			escaped(o, 0xfffd);
		s += n ? n : 1;
		left -= n ? n : 1;
	}
	out_char(o, '"');
}

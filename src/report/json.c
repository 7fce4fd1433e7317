#include "report/json.h"

/* Bytes of the UTF-8 sequence at s, or 0 if it is none. */
static size_t utf8_length(const unsigned char *s)
{
	static const struct { unsigned char mask, lead, low, high; size_t n; } forms[] = {
		{ 0x80, 0x00, 0x00, 0x00, 1 }, { 0xff, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xff, 0xed, 0x80, 0x9f, 3 }, { 0xff, 0xf0, 0x90, 0xbf, 4 },
		{ 0xff, 0xf4, 0x80, 0x8f, 4 }, { 0xe0, 0xc0, 0x80, 0xbf, 2 },
		{ 0xf0, 0xe0, 0x80, 0xbf, 3 }, { 0xfc, 0xf0, 0x80, 0xbf, 4 },
	};

	if (*s == 0xc0 || *s == 0xc1)
		return 0;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		size_t n = 1;

		if ((*s & forms[i].mask) != forms[i].lead)
			continue;
		if (forms[i].n > 1 && (s[1] < forms[i].low || s[1] > forms[i].high))
			return 0;
		while (n < forms[i].n && (s[n] & 0xc0) == 0x80)
			n++;
		return n == forms[i].n ? n : 0;
	}
	return 0;
}

static void json_ascii(struct out *o, unsigned char c)
{
	if (c == '"' || c == '\\')
		out_char(o, '\\');
	if (c < 0x20 || c == 0x7f)
		out_printf(o, "\\u%04x", c);
	else
		out_char(o, (char)c);
}

void json_string(struct out *o, const char *s)
{
	if (!s) {
		out_str(o, "null");
		return;
	}
	out_char(o, '"');
	while (*s) {
		size_t n = utf8_length((const unsigned char *)s);

		if (n == 1)
			json_ascii(o, (unsigned char)*s);
		else if (n)
			out_bytes(o, s, n);
		else
			out_str(o, "\\ufffd");
		s += n ? n : 1;
	}
	out_char(o, '"');
}

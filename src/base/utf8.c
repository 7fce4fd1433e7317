/* SPDX-License-Identifier: MIT */
/* Decoding of one character of untrusted bytes, which base/escape.c calls for all that is not
 * ASCII, encoding for screens, and cutting of texts; no state, any thread, no failure but "no
 * character". */
#include "base/utf8.h"

/* One row a length: the lead byte's fixed bits, and the least code that may be written so (less is
 * an overlong form). */
static const struct form { unsigned char mask, lead; size_t n; uint32_t least; } forms[] = {
	{ 0x80, 0x00, 1, 0 },
	{ 0xe0, 0xc0, 2, 0x80 },
	{ 0xf0, 0xe0, 3, 0x800 },
	{ 0xf8, 0xf0, 4, 0x10000 },
};

static const struct form *form_of(unsigned char lead)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if ((lead & forms[i].mask) == forms[i].lead)
			return &forms[i];
	return NULL;
}

size_t utf8_character(const char *s, size_t n, uint32_t *code)
{
	const struct form *f = form_of((unsigned char)*s);
	uint32_t c;

	if (!f || f->n > n)
		return 0;
	c = (unsigned char)*s & (unsigned char)~f->mask;
	for (size_t i = 1; i < f->n; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	}
	/* RFC 3629 excludes overlong forms, codes above U+10FFFF, and surrogates. */
	if (c < f->least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*code = c;
	return f->n;
}

/* The last lead byte decides: bytes that are no UTF-8 stay. */
size_t utf8_whole(const char *s, size_t n)
{
	for (size_t back = 1; back < UTF8_LONGEST && back <= n; back++) {
		const struct form *f = form_of((unsigned char)s[n - back]);

		if (f)
			return f->n > back ? n - back : n;
	}
	return n;
}

size_t utf8_write(uint32_t code, char *to)
{
	const struct form *f = forms;

	while (f + 1 < forms + sizeof(forms) / sizeof(*forms) && code >= f[1].least)
		f++;
	to[0] = (char)(f->lead | code >> 6 * (f->n - 1));
	for (size_t i = 1; i < f->n; i++)
		to[i] = (char)(0x80 | (code >> 6 * (f->n - 1 - i) & 0x3f));
	return f->n;
}

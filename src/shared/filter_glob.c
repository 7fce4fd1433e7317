/* SPDX-License-Identifier: MIT */
/* Glob patterns over counted strings: a field of a record need not end in a NUL, and a program in
 * shared memory is not trusted to. filter_run.c calls it, in the traced thread or in the tracer; no
 * state. As in base/glob.c there is no recursion: when a character does not fit, the last `*` takes
 * one more, so time is at most the product of both lengths. Nothing fails. */
#include "shared/filter.h"

struct pattern {
	const uint8_t *at;
	uint32_t n;
};

/* Returns the index after the `]` of the class that begins at i ("["), or 0 if it is never closed.
 * A `]` directly after the `[` or `[!` is a member. */
static uint32_t class_end(struct pattern p, uint32_t i)
{
	i += i + 1 < p.n && p.at[i + 1] == '!' ? 2 : 1;
	for (i++; i < p.n; i++)
		if (p.at[i] == ']')
			return i + 1;
	return 0;
}

static bool class_has(struct pattern p, uint32_t i, uint32_t end, uint8_t c)
{
	bool inverted = p.at[i + 1] == '!', found = false;

	for (i += inverted ? 2 : 1; i < end - 1; i++) {
		uint8_t low = p.at[i], high = low;

		if (i + 2 < end - 1 && p.at[i + 1] == '-') {
			high = p.at[i + 2];
			i += 2;
		}
		found |= low <= c && c <= high;
	}
	return found != inverted;
}

/* True if the one element at *i fits c; *i is then the index after it. */
static bool element_fits(struct pattern p, uint32_t *i, uint8_t c)
{
	uint32_t at = *i, end = p.at[at] == '[' ? class_end(p, at) : 0;

	if (end) {
		*i = end;
		return class_has(p, at, end, c);
	}
	if (p.at[at] == '?') {
		*i = at + 1;
		return true;
	}
	if (p.at[at] == '\\' && at + 1 < p.n)
		at++;
	*i = at + 1;
	return p.at[at] == c;
}

bool filter_glob(const uint8_t *pattern, uint32_t length, const uint8_t *s, uint32_t n)
{
	struct pattern p = { pattern, length };
	uint32_t i = 0, at = 0, star = 0, retry = 0;
	bool starred = false;

	while (at < n) {
		if (i < length && pattern[i] == '*') {
			starred = true;
			star = ++i;
			retry = at;
		} else if (i < length && element_fits(p, &i, s[at])) {
			at++;
		} else if (starred) {
			i = star;
			at = ++retry;
		} else {
			return false;
		}
	}
	while (i < length && pattern[i] == '*')
		i++;
	return i == length;
}

/* SPDX-License-Identifier: MIT */
/* Parses CPU lists as the kernel's bitmap_parselist() does: ranges, groups, N and all.
 * filter_predicate.c, excerpt/open.c and model/osnoise.c call it; no state. A malformed list is
 * just false, since the caller has the sentence. Any thread. */
#include "event/cpu_list.h"

#include <string.h>

/* The text as it is being read; cpus: how many there are, which is N plus one. */
struct cpu_text {
	const char *at, *end;
	uint32_t cpus;
};

/* Whether the text goes on with c; false at its end. */
static bool is_here(const struct cpu_text *t, char c)
{
	return t->at < t->end && *t->at == c;
}

/* True: the character was there, and is behind us. */
static bool skip_char(struct cpu_text *t, char c)
{
	bool is = is_here(t, c);

	t->at += is;
	return is;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Blanks and commas in any number, as the kernel's bitmap_parselist() takes them. */
static bool is_separator(char c)
{
	return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' ||
	       c == '\v';
}

/* Reads a number, or N for the last CPU. */
static bool parse_number(struct cpu_text *t, uint32_t *v)
{
	const char *begin = t->at;
	uint64_t sum = 0;

	if (skip_char(t, 'N')) {
		*v = t->cpus - 1;
		return true;
	}
	/* Stops before an overflow. */
	while (t->at < t->end && is_digit(*t->at) && sum <= UINT32_MAX)
		sum = sum * 10 + (uint64_t)(*t->at++ - '0');
	*v = (uint32_t)sum;
	return t->at > begin && sum < UINT32_MAX;
}

/* Reads "A", "A-B" or "all"; *more: a ":" may follow. */
static bool parse_bounds(struct cpu_text *t, uint32_t *first, uint32_t *last, bool *more)
{
	if (t->end - t->at >= 3 && !memcmp(t->at, "all", 3)) {
		t->at += 3;
		*first = 0;
		*last = t->cpus - 1;
		*more = true;
		return true;
	}
	if (!parse_number(t, first))
		return false;
	*last = *first;
	*more = skip_char(t, '-');
	return !*more || parse_number(t, last);
}

/* Sets the bits of A-B:USED/GROUP: in each group of GROUP CPUs the first USED. */
static bool parse_range(struct cpu_text *t, uint8_t *mask)
{
	uint32_t first, last, used = 1, group = 1;
	bool more;

	if (!parse_bounds(t, &first, &last, &more))
		return false;
	if (more && skip_char(t, ':') &&
	    (!parse_number(t, &used) || !skip_char(t, '/') || !parse_number(t, &group)))
		return false;
	if (first > last || last >= t->cpus || !group || used > group ||
	    (t->at < t->end && !is_separator(*t->at)))
		return false;
	for (uint32_t i = first; i <= last; i++)
		if ((i - first) % group < used)
			mask[i / 8] |= (uint8_t)(1u << i % 8);
	return true;
}

/* mask has a bit for each of cpus. False: it is no list, or names a processor that there is not. */
bool cpu_list_parse(const char *text, size_t n, uint32_t cpus, uint8_t *mask)
{
	struct cpu_text t = { text, text + n, cpus };

	memset(mask, 0, (cpus + 7) / 8);
	for (;;) {
		while (t.at < t.end && is_separator(*t.at))
			t.at++;
		if (t.at == t.end)
			return true;
		if (!parse_range(&t, mask))
			return false;
	}
}

/* SPDX-License-Identifier: MIT */
/* CPU lists, as the kernel's bitmap lists are written. */
#include "event/cpu_list.h"

#include <string.h>

struct text {
	const char *at, *end;
	uint32_t cpus;
};

static bool here(const struct text *t, char c)
{
	return t->at < t->end && *t->at == c;
}

static bool skip(struct text *t, char c)
{
	bool is = here(t, c);

	t->at += is;
	return is;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
	return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static bool number(struct text *t, uint32_t *v)
{
	const char *begin = t->at;
	uint64_t sum = 0;

	if (skip(t, 'N')) {
		*v = t->cpus - 1;
		return true;
	}
	while (t->at < t->end && is_digit(*t->at) && sum <= UINT32_MAX)
		sum = sum * 10 + (uint64_t)(*t->at++ - '0');
	*v = (uint32_t)sum;
	return t->at > begin && sum < UINT32_MAX;
}

/* "A", "A-B" or "all"; *more: what a ":" may follow. */
static bool bounds(struct text *t, uint32_t *first, uint32_t *last, bool *more)
{
	if (t->end - t->at >= 3 && !memcmp(t->at, "all", 3)) {
		t->at += 3;
		*first = 0;
		*last = t->cpus - 1;
		*more = true;
		return true;
	}
	if (!number(t, first))
		return false;
	*last = *first;
	*more = skip(t, '-');
	return !*more || number(t, last);
}

static bool range(struct text *t, uint8_t *mask)
{
	uint32_t first, last, used = 1, group = 1;
	bool more;

	if (!bounds(t, &first, &last, &more))
		return false;
	if (more && skip(t, ':') && (!number(t, &used) || !skip(t, '/') || !number(t, &group)))
		return false;
	if (first > last || last >= t->cpus || !group || used > group || (t->at < t->end && !is_separator(*t->at)))
		return false;
	for (uint32_t i = first; i <= last; i++)
		if ((i - first) % group < used)
			mask[i / 8] |= (uint8_t)(1u << i % 8);
	return true;
}

bool cpu_list_parse(const char *text, size_t n, uint32_t cpus, uint8_t *mask)
{
	struct text t = { text, text + n, cpus };

	memset(mask, 0, (cpus + 7) / 8);
	for (;;) {
		while (t.at < t.end && is_separator(*t.at))
			t.at++;
		if (t.at == t.end)
			return true;
		if (!range(&t, mask))
			return false;
	}
}

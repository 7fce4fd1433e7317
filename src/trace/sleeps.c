/* SPDX-License-Identifier: MIT */
/* Sleep times of a thread, for durations without them (calls.h). A thread that sleeps millions of
 * times must not take memory without bound: at MANY stretches old neighbours are joined, and if
 * that does not help all are joined in pairs. */
#include "trace/sleeps.h"

#include <stdbool.h>
#include <string.h>

#define MANY 131072u /* stretches: 3 MiB for a thread */
#define PART 2048u

/* Whether two stretches are so old that their joint length is below 1/PART of their age. */
static bool belong_together(const struct sleep *a, const struct sleep *b, uint64_t now)
{
	return b->to - a->from <= (now - a->from) / PART;
}

/* Joins neighbours that belong together. all: in pairs, whatever their age. */
static void thin_out(struct sleeps *s, bool all)
{
	uint64_t now = s->at.at[s->at.n - 1].to;
	size_t n = 1, last = 0;

	for (size_t i = 1; i < s->at.n; i++) {
		struct sleep *group = &s->at.at[n - 1];

		if (all ? last + 1 == i : belong_together(group, &s->at.at[i], now)) {
			group->to = s->at.at[i].to;
			continue;
		}
		last = i;
		s->at.at[n++] = s->at.at[i];
	}
	s->at.n = n;
}

/* At least 1/8 must become free, or the next additions would come here again. */
static void drop_old_sleeps(struct sleeps *s)
{
	thin_out(s, false);
	if (s->at.n > MANY / 8 * 7)
		thin_out(s, true);
}

void sleeps_add(struct sleeps *s, uint64_t from, uint64_t to)
{
	if (s->at.n && from < s->at.at[s->at.n - 1].to)
		from = s->at.at[s->at.n - 1].to;
	if (to <= from)
		return;
	if (s->at.n == MANY)
		drop_old_sleeps(s);
	*vec_add(&s->at) = (struct sleep){ from, to, s->total };
	s->total += to - from;
}

/* Ticks slept in stretch i, which a joined one does not fill. */
uint64_t sleeps_ticks(const struct sleeps *s, size_t i)
{
	return (i + 1 < s->at.n ? s->at.at[i + 1].before : s->total) - s->at.at[i].before;
}

/* Drops the first n; `before` of the others keeps counting from the thread's first sleep. */
void sleeps_drop(struct sleeps *s, size_t n)
{
	if (n)
		memmove(s->at.at, s->at.at + n, (s->at.n - n) * sizeof(s->at.at[0]));
	s->at.n -= n;
}

/* Makes the first n stretches one. Their ticks stay right, since they are the difference of two
 * `before`. */
void sleeps_fuse(struct sleeps *s, size_t n)
{
	if (n < 2)
		return;
	s->at.at[n - 1].from = s->at.at[0].from;
	s->at.at[n - 1].before = s->at.at[0].before;
	sleeps_drop(s, n - 1);
}

/* Ticks slept before tsc, in all. A time within a joined stretch counts in proportion. */
static uint64_t slept_until(const struct sleeps *s, uint64_t tsc)
{
	size_t n = vec_bisect(&s->at, sleep, sleep->from < tsc);
	const struct sleep *in;
	uint64_t ticks;

	if (!n)
		return s->at.at[0].before;
	in = &s->at.at[n - 1];
	ticks = sleeps_ticks(s, n - 1);
	if (tsc < in->to)
		ticks = (uint64_t)((unsigned __int128)ticks * (tsc - in->from) /
				   (in->to - in->from));
	return in->before + ticks;
}

/* Most calls began after the thread slept last, and need no search. */
uint64_t sleeps_between(const struct sleeps *s, uint64_t begin, uint64_t end)
{
	if (!s->at.n || begin >= s->at.at[s->at.n - 1].to || end <= begin)
		return 0;
	return slept_until(s, end) - slept_until(s, begin);
}

void sleeps_free(struct sleeps *s)
{
	vec_free(&s->at);
}

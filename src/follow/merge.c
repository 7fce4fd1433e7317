/* SPDX-License-Identifier: MIT */
/* A sorted array, because events come nearly in order, and leave it soon. Called on brace's thread
 * by ui/follow_border.c. */
#include "follow/merge.h"

#include <string.h>

/* Searched from the end: an event is seldom older than the last one. */
void follow_merge_add(struct follow_merge *m, const struct follow_event *e)
{
	size_t i = m->at.n;

	while (i > m->given && m->at.at[i - 1].ns > e->ns)
		i--;
	vec_add(&m->at);
	memmove(m->at.at + i + 1, m->at.at + i, (m->at.n - 1 - i) * sizeof(*e));
	m->at.at[i] = *e;
}

/* The room of what has been given is used again when that is half of all. */
void follow_merge_give(struct follow_merge *m, uint64_t until_ns, follow_sink *sink, void *context)
{
	while (m->given < m->at.n && m->at.at[m->given].ns <= until_ns)
		sink(context, &m->at.at[m->given++]);
	if (m->given * 2 < m->at.n)
		return;
	m->at.n -= m->given;
	memmove(m->at.at, m->at.at + m->given, m->at.n * sizeof(*m->at.at));
	m->given = 0;
}

void follow_merge_free(struct follow_merge *m)
{
	vec_free(&m->at);
}

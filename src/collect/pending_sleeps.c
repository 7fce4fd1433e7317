/* SPDX-License-Identifier: MIT */
/* A thread's sleeps wait here between the kernel's notices of them and the thread's next record.
 * switches.c owns each struct, and calls with its lock held. Nothing fails. */
#include "collect/pending_sleeps.h"

#include <string.h>

#include "shared/record.h"

void pending_stop(struct pending_sleeps *p, uint64_t tsc)
{
	p->stopped = tsc;
}

void pending_go_on(struct pending_sleeps *p, uint64_t tsc)
{
	if (p->stopped)
		sleeps_add(&p->sleeps, p->stopped, tsc);
	p->stopped = 0;
}

static void put_words(record_words *words, const uint64_t *from, size_t n)
{
	if (!n)
		return;
	vec_reserve(words, words->n + n);
	memcpy(words->at + words->n, from, n * sizeof(*from));
	words->n += n;
}

/* Writes sleep i as a record with the time of the record that follows it: 40 bits of the sleep's
 * own time could be ambiguous after a long one. Several fused sleeps become one, as long as all
 * together, at their end. */
static void put_sleep(record_words *words, const struct sleeps *s, size_t i, uint64_t tsc)
{
	uint64_t ticks = sleeps_ticks(s, i);
	const uint64_t record[3] = { record_word(tsc, record_event_id(2, RECORD_EVENT_SLEPT),
						 RECORD_EVENT),
				     s->at.at[i].to - ticks, ticks };

	put_words(words, record, 3);
}

bool pending_merge(struct pending_sleeps *p, const struct drain_run *run, record_words *words)
{
	const struct sleep *sleeps = p->sleeps.at.at;
	size_t merged = 0, from = 0, n;
	uint64_t tsc = run->near_tsc;

	words->n = 0;
	for (size_t i = 0; i < run->n && merged < p->sleeps.at.n; i += n) {
		n = 1 + record_payload(run->words[i]);
		tsc = record_tsc(run->words[i], tsc);
		/* A sleep belongs before the first record that is younger than its beginning. */
		if (sleeps[merged].from >= tsc)
			continue;
		put_words(words, run->words + from, i - from);
		from = i;
		while (merged < p->sleeps.at.n && sleeps[merged].from < tsc)
			put_sleep(words, &p->sleeps, merged++, tsc);
	}
	if (!merged)
		return false;
	put_words(words, run->words + from, run->n - from);
	sleeps_drop(&p->sleeps, merged);
	return true;
}

void pending_forget_before(struct pending_sleeps *p, uint64_t tsc)
{
	sleeps_fuse(&p->sleeps, vec_bisect(&p->sleeps.at, s, s->to < tsc));
}

void pending_free(struct pending_sleeps *p)
{
	sleeps_free(&p->sleeps);
}

/* SPDX-License-Identifier: MIT */
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

static void put(record_words *words, const uint64_t *from, size_t n)
{
	if (!n)
		return;
	vec_reserve(words, words->n + n);
	memcpy(words->at + words->n, from, n * sizeof(*from));
	words->n += n;
}

/* With the time of the record that follows: it may have been long. Of several it says one as long as all, at their end. */
static void put_sleep(record_words *words, const struct sleeps *s, size_t i, uint64_t tsc)
{
	uint64_t ticks = sleeps_ticks(s, i);
	const uint64_t record[3] = { record_word(tsc, record_event_id(2, RECORD_EVENT_SLEPT), RECORD_EVENT), s->at.at[i].to - ticks, ticks };

	put(words, record, 3);
}

bool pending_weave(struct pending_sleeps *p, const struct drain_run *run, record_words *words)
{
	const struct sleep *sleeps = p->sleeps.at.at;
	size_t woven = 0, from = 0, n;
	uint64_t tsc = run->near_tsc;

	words->n = 0;
	for (size_t i = 0; i < run->n && woven < p->sleeps.at.n; i += n) {
		n = 1 + record_payload(run->words[i]);
		tsc = record_tsc(run->words[i], tsc);
		if (sleeps[woven].from >= tsc)
			continue;
		put(words, run->words + from, i - from);
		from = i;
		while (woven < p->sleeps.at.n && sleeps[woven].from < tsc)
			put_sleep(words, &p->sleeps, woven++, tsc);
	}
	if (!woven)
		return false;
	put(words, run->words + from, run->n - from);
	sleeps_drop(&p->sleeps, woven);
	return true;
}

void pending_settle(struct pending_sleeps *p, uint64_t tsc)
{
	sleeps_fuse(&p->sleeps, vec_bisect(&p->sleeps.at, s, s->to < tsc));
}

void pending_free(struct pending_sleeps *p)
{
	sleeps_free(&p->sleeps);
}

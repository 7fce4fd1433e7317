/* SPDX-License-Identifier: MIT */
/* Called by buffer.c, and by sub_buffer.c for records that make room. Losses are exact: each window
 * is counted when it is left, whether by its end, by a sub-buffer that has come, or by the thread's
 * move to another memory. A thread that dies in it is counted by the tracer (collect/drain.c).
 * Nothing fails. */
#include "agent/discard.h"

#include "agent/thread.h"
#include "arch/inside.h"
#include "shared/points.h"

/* The window of threads that have no slot; counted a window at a time, and never read. */
static uint64_t threadless[MEMORY_DISCARD_WORDS];

uint64_t discard_count_records(const uint64_t *words, uint64_t n, uint64_t *holes)
{
	const struct memory_settings *s = &agent.settings;
	uint64_t count = 0, empty = 0, i = 0;

	while (i < n) {
		const uint64_t word = words[i];

		if (record_is_short(word)) {
			count++;
			i++;
			continue;
		}
		if (!word) {
			empty++;
			i += memory_unwritten_words(s->tracer, s->values, words + i, n - i);
			continue;
		}
		count += (uint64_t)record_counts(word);
		i += 1 + record_payload(word);
	}
	*holes = empty;
	return count + empty;
}

void discard_end(struct agent_tls *t)
{
	struct memory_thread *slot = thread_slot(t);
	uint64_t holes;

	if (slot && slot->discarding) {
		uint64_t n = (t->pos - (uint64_t)slot->discard) / 8;

		n = n < MEMORY_DISCARD_WORDS ? n : MEMORY_DISCARD_WORDS;
		n = discard_count_records(slot->discard, n, &holes);
		/* The tracer looks at both meanwhile (has_untold() of collect/drain.c). */
		__atomic_store_n(&slot->lost, slot->lost + n, __ATOMIC_RELAXED);
		POINT(discard_counted);
		__atomic_store_n(&slot->discarding, 0, __ATOMIC_RELAXED);
	} else if (!slot && t->end) {
		__atomic_fetch_add(&agent.memory->lost_threadless, MEMORY_DISCARD_MOST,
				   __ATOMIC_RELAXED);
	}
}

_Static_assert(MEMORY_DISCARD_FIRST > RECORD_PAYLOAD_MAX,
	       "there is room for any record in a window of any size");

/* Doubled each time up to the whole room: threads that stay without room go the slow path less
 * often. */
static uint32_t next_window(uint32_t window)
{
	if (window < MEMORY_DISCARD_FIRST)
		return MEMORY_DISCARD_FIRST;
	return window < MEMORY_DISCARD_MOST / 2 ? 2 * window : MEMORY_DISCARD_MOST;
}

void discard_begin(struct agent_tls *t)
{
	struct memory_thread *slot = thread_slot(t);
	uint64_t *at = slot ? slot->discard : threadless;
	uint32_t window = MEMORY_DISCARD_MOST;

	if (slot) {
		inside_fill(slot->discard, 0, sizeof(slot->discard));
		POINT(void_zeroed);
		window = next_window(__atomic_load_n(&slot->window, __ATOMIC_RELAXED));
		slot->window = window;
		__atomic_store_n(&slot->discard_from, slot->lost, __ATOMIC_RELAXED);
		__atomic_store_n(&slot->discarding, !memory_is_stopped(agent.memory),
				 __ATOMIC_RELAXED);
	}
	POINT(void_entered);
	t->end = (uint64_t)(at + window);
	t->pos = (uint64_t)at;
}

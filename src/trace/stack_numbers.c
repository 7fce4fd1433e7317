/* SPDX-License-Identifier: MIT */
/* Readers of steps that keep something for each open call ask it (report/callers.c, src/excerpt),
 * each on its own thread. Nothing fails: a step's thread is in the trace's table. */
#include "trace/stack_numbers.h"

static uint32_t of_thread(struct stack_numbers *n, uint32_t thread)
{
	while (n->threads.n <= thread)
		*vec_add(&n->threads) = 0;
	if (!n->threads.at[thread])
		n->threads.at[thread] = ++n->n;
	return n->threads.at[thread] - 1;
}

uint32_t stack_number(struct stack_numbers *n, const struct trace_info *info,
		      const struct call_step *s)
{
	const uint64_t pid = info->threads.at[s->thread].pid, key = pid << 32 | s->track;
	uint64_t at;

	if (!s->track)
		return of_thread(n, s->thread);
	at = number_map_get(&n->coroutines, key);
	if (at == NUMBER_NONE) {
		at = n->n++;
		number_map_set(&n->coroutines, key, at);
	}
	return (uint32_t)at;
}

void stack_numbers_free(struct stack_numbers *n)
{
	vec_free(&n->threads);
	number_map_free(&n->coroutines);
}

/* SPDX-License-Identifier: MIT */
/* An array of words for each thread, doubled at need. extract.c fills it and asks it, on the thread
 * that reads. Nothing fails: a call behind the array's end has no bit. */
#include "excerpt/call_bits.h"

#include <string.h>

#include "base/mem.h"

/* Makes room for `words` of one thread. False: beyond the limit. */
static bool grow_bits(struct call_bits *b, struct call_bits_of *t, uint64_t words)
{
	uint64_t n = words > 2 * t->n ? words : 2 * t->n;

	/* Doubling may pass the limit where the words that are needed do not. */
	if (b->words + n - t->n > CALL_BITS_MOST / 64)
		n = words;
	if (b->words + n - t->n > CALL_BITS_MOST / 64)
		return false;
	t->words = mem_realloc(t->words, n, sizeof(*t->words));
	memset(t->words + t->n, 0, (n - t->n) * sizeof(*t->words));
	b->words += n - t->n;
	t->n = n;
	return true;
}

/* Threads are numbered without gaps, so that an array by thread wastes nothing. */
bool call_bits_set(struct call_bits *b, uint32_t thread, uint64_t call)
{
	struct call_bits_of *t;

	while (b->threads.n <= thread)
		*vec_add(&b->threads) = (struct call_bits_of){ 0 };
	t = &b->threads.at[thread];
	if (call / 64 >= t->n && !grow_bits(b, t, call / 64 + 1))
		return false;
	t->words[call / 64] |= UINT64_C(1) << call % 64;
	return true;
}

/* A call that was never set is not. */
bool call_bits_get(const struct call_bits *b, uint32_t thread, uint64_t call)
{
	if (thread >= b->threads.n || call / 64 >= b->threads.at[thread].n)
		return false;
	return b->threads.at[thread].words[call / 64] >> call % 64 & 1;
}

/* A reading whose bits another one took over has none, and is freed like others. */
void call_bits_free(struct call_bits *b)
{
	for (size_t i = 0; i < b->threads.n; i++)
		free(b->threads.at[i].words);
	vec_free(&b->threads);
}

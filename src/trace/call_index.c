/* SPDX-License-Identifier: MIT */
/* calls.c keeps one for each stack, on its callers' threads, and asks it where a stack is deep.
 * Each call is noted once and forgotten once, so that all updates together cost as much as the
 * records. Nothing fails. */
#include "trace/call_index.h"

#include "trace/calls.h"

/* Key 0 is not kept in a map. */
static uint64_t key_of(uint32_t fn)
{
	return (uint64_t)fn + 1;
}

static bool has(const struct number_map *m, uint32_t fn)
{
	return number_map_get(m, key_of(fn)) != NUMBER_NONE;
}

static void count_up(struct number_map *m, uint32_t fn)
{
	uint64_t n = number_map_get(m, key_of(fn));

	number_map_set(m, key_of(fn), n == NUMBER_NONE ? 1 : n + 1);
}

static void count_down(struct number_map *m, uint32_t fn)
{
	uint64_t n = number_map_get(m, key_of(fn));

	if (n == 1)
		number_map_remove(m, key_of(fn));
	else if (n != NUMBER_NONE)
		number_map_set(m, key_of(fn), n - 1);
}

static void note(struct call_index *x, struct call_frame *at, size_t i)
{
	const bool made = i && !(at[i].flags & CALL_TAIL);
	const struct noted_call n = { at[i].fn, made ? at[i - 1].fn : FN_NONE };

	*vec_add(&x->noted) = n;
	count_up(&x->open, n.fn);
	if (n.maker != FN_NONE)
		count_up(&x->makers, n.maker);
	at[i].flags |= CALL_NOTED;
}

static void forget_last(struct call_index *x)
{
	const struct noted_call n = x->noted.at[--x->noted.n];

	count_down(&x->open, n.fn);
	if (n.maker != FN_NONE)
		count_down(&x->makers, n.maker);
}

void call_index_update(struct call_index *x, struct call_frame *at, size_t n)
{
	size_t still = n;

	while (still && !(at[still - 1].flags & CALL_NOTED))
		still--;
	while (x->noted.n > still)
		forget_last(x);
	while (x->noted.n < n)
		note(x, at, x->noted.n);
}

bool call_index_is_open(const struct call_index *x, uint32_t fn)
{
	return has(&x->open, fn);
}

bool call_index_is_maker(const struct call_index *x, uint32_t fn)
{
	return has(&x->makers, fn);
}

void call_index_free(struct call_index *x)
{
	vec_free(&x->noted);
	number_map_free(&x->open);
	number_map_free(&x->makers);
}

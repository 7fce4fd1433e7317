/* SPDX-License-Identifier: MIT */
/* A hash set with linear probing, at most half full. Many folders use it for names that they have
 * seen (image/modules.c, kernel/functions.c, ui/list_session.c); a set belongs to one thread.
 * Strings are not copied and must outlive the set. Entries are never removed, so a free slot ends
 * every search. It cannot fail. */
#include "base/string_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/table_hash.h"

/* Returns the slot of a string, or the free one it would take. Needs n < size, else there is no
 * free one to end at. */
static const char **string_slot(const struct string_set *s, const char *string)
{
	size_t i = table_hash_text(0, string) & (s->size - 1);

	while (s->slots[i] && strcmp(s->slots[i], string) != 0)
		i = (i + 1) & (s->size - 1);
	return &s->slots[i];
}

/* Sizes are powers of two, so that a mask does instead of a division. All strings get new
 * places. */
static void grow_table(struct string_set *s)
{
	struct string_set bigger = { .size = s->size ? s->size * 2 : 64 };

	bigger.slots = mem_zalloc(bigger.size * sizeof(*bigger.slots));
	for (size_t i = 0; i < s->size; i++)
		if (s->slots[i])
			*string_slot(&bigger, s->slots[i]) = s->slots[i];
	bigger.n = s->n;
	free(s->slots);
	*s = bigger;
}

/* The string is not copied: it must live as long as the set. */
void string_set_add(struct string_set *s, const char *string)
{
	const char **slot;

	if (s->n * 2 >= s->size)
		grow_table(s);
	slot = string_slot(s, string);
	s->n += !*slot;
	*slot = string;
}

bool string_set_has(const struct string_set *s, const char *string)
{
	return s->n && *string_slot(s, string);
}

void string_set_free(struct string_set *s)
{
	free(s->slots);
	*s = (struct string_set){ 0 };
}

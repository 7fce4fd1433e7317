/* SPDX-License-Identifier: MIT */
/* The entries of a histogram: a hash table with open addressing over entries that are allocated one
 * by one. A hit whose key is new when the table is full is counted as dropped. The only failure is
 * lack of memory, which ends brace. trigger.c, act.c and the printers call it, on the thread that
 * has the lock of whoever looks at records. */
#include "hist/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BUCKETS_FIRST 64u

void hist_table_init(struct hist_table *t, uint32_t size)
{
	*t = (struct hist_table){ .size = size };
}

/* --- slots ------------------------------------------------------------------------------ */

void hist_slot_set(struct hist_slot *s, const void *bytes, size_t n)
{
	/* An empty slot has its NUL, too: `bytes` is not NULL once it is set. */
	s->bytes = mem_realloc(s->bytes, n + 1, 1);
	if (n)
		memcpy(s->bytes, bytes, n);
	s->bytes[n] = 0;
	s->n = (uint32_t)n;
	s->set = true;
}

void hist_slot_free(struct hist_slot *s)
{
	free(s->bytes);
	*s = (struct hist_slot){ 0 };
}

static void free_slots(struct hist_slots *s)
{
	for (size_t i = 0; i < s->at.n; i++)
		hist_slot_free(&s->at.at[i]);
	vec_free(&s->at);
}

/* The slots move with their bytes: those of the oldest record alone are freed. */
void hist_entry_push(struct hist_entry *e)
{
	struct hist_slots s = { 0 };

	if (e->below.n == HIST_NESTED_MAX) {
		free_slots(&e->below.at[0]);
		memmove(e->below.at, e->below.at + 1, --e->below.n * sizeof(*e->below.at));
	}
	for (size_t i = 0; i < e->slots.n; i++)
		*vec_add(&s.at) = e->slots.at[i];
	*vec_add(&e->below) = s;
	e->slots.n = 0;
}

/* A matched record's slots are done with: those of the record around it come back. */
void hist_entry_pop(struct hist_entry *e)
{
	struct hist_slots s = { 0 };

	if (e->below.n)
		s = e->below.at[--e->below.n];
	for (size_t i = 0; i < e->slots.n; i++)
		hist_slot_free(&e->slots.at[i]);
	e->slots.n = 0;
	for (size_t i = 0; i < s.at.n; i++)
		*vec_add(&e->slots) = s.at.at[i];
	vec_free(&s.at);
}

static void free_entry(struct hist_entry *e)
{
	for (size_t i = 0; i < e->slots.n; i++)
		hist_slot_free(&e->slots.at[i]);
	for (size_t i = 0; i < e->extras.n; i++)
		hist_slot_free(&e->extras.at[i]);
	for (size_t i = 0; i < e->n_sketches; i++)
		hist_sketch_free(&e->sketches[i]);
	free(e->sketches);
	for (size_t i = 0; i < e->below.n; i++)
		free_slots(&e->below.at[i]);
	vec_free(&e->below);
	vec_free(&e->slots);
	vec_free(&e->extras);
	free(e);
}

/* --- entries ---------------------------------------------------------------------------- */

/* The pointers become NULL, because hist_table_clear() uses the table again. */
void hist_table_free(struct hist_table *t)
{
	for (size_t i = 0; i < t->entries.n; i++)
		free_entry(t->entries.at[i]);
	vec_free(&t->entries);
	histogram_pool_free(&t->pool);
	free(t->buckets);
	free(t->snapshot_key);
	t->buckets = NULL;
	t->snapshot_key = NULL;
}

/* Counts of dropped, unmatched and unsent records begin anew with the entries; the size stays. */
void hist_table_clear(struct hist_table *t)
{
	uint32_t size = t->size;

	hist_table_free(t);
	hist_table_init(t, size);
}

/* Programs choose keys, but not which programs share a table: a plain mixing hash is enough. */
static uint64_t hash_words(const uint64_t *words, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++) {
		h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	return h;
}

/* Returns the bucket of the key, or the free one where it belongs. */
static uint32_t *find_bucket(const struct hist_table *t, const uint64_t *words, size_t n)
{
	uint32_t mask = t->n_buckets - 1, i = (uint32_t)hash_words(words, n) & mask;

	/* Ends, because grow_buckets() keeps half of the buckets free. */
	for (;; i = (i + 1) & mask) {
		const struct hist_entry *e;

		if (!t->buckets[i])
			return &t->buckets[i];
		e = t->entries.at[t->buckets[i] - 1];
		if (e->n == n && !memcmp(e->key, words, n * sizeof(*words)))
			return &t->buckets[i];
	}
}

/* Keeps half of the buckets free. */
static void grow_buckets(struct hist_table *t)
{
	if (t->n_buckets > 2 * t->entries.n)
		return;
	free(t->buckets);
	t->n_buckets = t->n_buckets ? 2 * t->n_buckets : BUCKETS_FIRST;
	t->buckets = mem_zalloc(t->n_buckets * sizeof(*t->buckets));
	for (size_t i = 0; i < t->entries.n; i++)
		*find_bucket(t, t->entries.at[i]->key, t->entries.at[i]->n) = (uint32_t)i + 1;
}

/* Makes an entry without a hit. The memory is zeroed, so that a long name ends with a NUL. */
static struct hist_entry *new_entry(const struct hist_key *k, const char *comm)
{
	struct hist_entry *e = mem_zalloc(sizeof(*e) + k->n * sizeof(k->words[0]));

	e->n = k->n;
	memcpy(e->key, k->words, k->n * sizeof(k->words[0]));
	strncpy(e->comm, comm, sizeof(e->comm) - 1);
	return e;
}

/* NULL: there is no room. */
static struct hist_entry *entry_of(struct hist_table *t, const struct hist_key *k,
				   const char *comm)
{
	uint32_t *bucket;

	/* Growing moves the buckets: the search comes after it. */
	grow_buckets(t);
	bucket = find_bucket(t, k->words, k->n);
	if (!*bucket && t->entries.n == t->size)
		return NULL;
	if (!*bucket) {
		*vec_add(&t->entries) = new_entry(k, comm);
		*bucket = (uint32_t)t->entries.n;
	}
	return t->entries.at[*bucket - 1];
}

struct hist_entry *hist_table_hit(struct hist_table *t, const struct hist_key *k,
				  const char *comm)
{
	struct hist_entry *e = entry_of(t, k, comm);

	if (!e) {
		t->dropped++;
		t->crowded++;
		return NULL;
	}
	t->hits++;
	e->hits++;
	return e;
}

struct hist_entry *hist_table_find(const struct hist_table *t, const uint64_t *key, size_t n)
{
	/* Before the first hit there are no buckets. */
	uint32_t *bucket = t->n_buckets ? find_bucket(t, key, n) : NULL;

	return bucket && *bucket ? t->entries.at[*bucket - 1] : NULL;
}

/* --- sketches --------------------------------------------------------------------------- */

/* An entry is made by its key alone: its sketches come with the first value. */
void hist_table_sketch(struct hist_table *t, struct hist_entry *e, const struct hist_command *c,
		       const struct hist_field *f, uint64_t value)
{
	if (!e->sketches) {
		e->n_sketches = c->n_sketches;
		e->sketches = mem_zalloc(e->n_sketches * sizeof(*e->sketches));
	}
	hist_sketch_add(&e->sketches[f->sketch], &t->pool, value, f->is_signed);
}

/* Sketched values take the places of sums, where the order and the printers find them. */
static void put_sketched(const struct hist_table *t, const struct hist_command *c)
{
	for (size_t i = 0; i < c->n_values; i++) {
		const struct hist_field *f = &c->values[i];

		for (size_t k = 0; k < t->entries.n && hist_field_is_sketched(f); k++) {
			struct hist_entry *e = t->entries.at[k];

			if (e->sketches)
				e->sums[i] = hist_sketch_value(&e->sketches[f->sketch],
							       f->modifier, f->is_signed);
		}
	}
}

/* --- order ------------------------------------------------------------------------------ */

bool hist_field_is_word(const struct hist_field *f)
{
	return hist_field_is_number(f);
}

/* Words that the field's key takes, its length included. */
static size_t key_words(const struct hist_field *f, const uint64_t *at)
{
	if (hist_field_is_word(f))
		return 1;
	return 1 + (f->shape == HIST_IS_STRING ? hist_string_words(*at) : (size_t)*at);
}

/* Strings and stacks have lengths of their own: a key is found only by way of those before it. */
const uint64_t *hist_entry_key(const struct hist_entry *e, const struct hist_command *c, size_t i)
{
	const uint64_t *at = e->key;

	for (size_t k = 0; k < i; k++)
		at += key_words(&c->keys[k], at);
	return at;
}

static int compare_words(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_signed(uint64_t a, uint64_t b)
{
	return ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
}

/* Compares bytes, and puts the shorter of two that begin alike first. Stacks are ordered by the
 * bytes of their addresses, which is an order like any other. */
static int compare_content(const struct hist_field *f, const uint64_t *a, const uint64_t *b)
{
	size_t n = *a < *b ? (size_t)*a : (size_t)*b;
	int r;

	if (f->shape == HIST_IS_STACK)
		n *= sizeof(*a);
	r = memcmp(a + 1, b + 1, n);
	return r ? r : compare_words(*a, *b);
}

static int compare_keys(const struct hist_command *c, size_t i, const struct hist_entry *a,
			const struct hist_entry *b)
{
	const struct hist_field *f = &c->keys[i];
	const uint64_t *x = hist_entry_key(a, c, i), *y = hist_entry_key(b, c, i);

	if (!hist_field_is_word(f))
		return compare_content(f, x, y);
	return f->is_signed ? compare_signed(*x, *y) : compare_words(*x, *y);
}

/* By field number `field` of struct hist_sort. */
static int compare_by(const struct hist_command *c, size_t field, const struct hist_entry *a,
		      const struct hist_entry *b)
{
	if (field > c->n_values)
		return compare_keys(c, field - 1 - c->n_values, a, b);
	/* A value that is the hit count has no sum of its own. */
	if (!field || c->values[field - 1].source == HIST_HITCOUNT)
		return compare_words(a->hits, b->hits);
	if (hist_field_is_sketched(&c->values[field - 1]) && c->values[field - 1].is_signed)
		return compare_signed(a->sums[field - 1], b->sums[field - 1]);
	return compare_words(a->sums[field - 1], b->sums[field - 1]);
}

static int compare_entries(const void *a, const void *b, void *command)
{
	const struct hist_entry *x = *(struct hist_entry *const *)a,
				*y = *(struct hist_entry *const *)b;
	const struct hist_command *c = command;
	int r = 0;

	for (size_t i = 0; i < c->n_sort && !r; i++) {
		r = compare_by(c, c->sort[i].field, x, y);
		r = c->sort[i].descending ? -r : r;
	}
	/* The kernel's order of equal rows is accidental. */
	for (size_t i = 0; i < c->n_keys && !r; i++)
		r = compare_keys(c, i, x, y);
	return r;
}

/* An empty table has an array, too: the caller frees it in any case. */
struct hist_entry **hist_table_sorted(const struct hist_table *t, const struct hist_command *c)
{
	size_t n = t->entries.n;
	struct hist_entry **sorted = mem_zalloc((n + 1) * sizeof(*sorted));

	put_sketched(t, c);
	if (n)
		memcpy(sorted, t->entries.at, n * sizeof(*sorted));
	qsort_r(sorted, n, sizeof(*sorted), compare_entries, (void *)c);
	return sorted;
}

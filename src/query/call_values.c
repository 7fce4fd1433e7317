/* SPDX-License-Identifier: MIT */
/* Takes the records of arguments and returned values apart by their functions' types, when a
 * statement first asks for the table `args`, on the query's thread. Records and types may be
 * anybody's: report/arguments.h checks both. Fails only where the temporary files find no room. */
#include "query/call_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/call_records.h"

/* The name of a returned value, as of the column of `slice`. */
#define RETURNED "retval"
/* Structures have members that are lists of values, and so on: four levels are made. */
#define LEVELS_MOST 8u
/* Names are the program's: a longer path of them is cut. */
#define PATH_MOST 512u

struct taking_apart {
	struct values_of_calls *to;
	struct err *err;
	uint32_t slice;
	unsigned n;             /* of the next parameter, for one without a name */
	unsigned depth;
	int failed;             /* -errno */
	/* Open structures and lists: the path's length without them, the next element's number. */
	struct path_level { uint32_t bytes; uint32_t element; bool list; } levels[LEVELS_MOST];
	uint32_t bytes;
	char path[PATH_MOST];
};

/* --- keys -------------------------------------------------------------------------------- */

/* The key without what stands in brackets. */
static char *flat_of(const char *key)
{
	char *flat = mem_strdup(key), *to = flat;
	bool index = false;

	for (const char *c = key; *c; c++) {
		index |= *c == '[';
		if (!index)
			*to++ = *c;
		index &= *c != ']';
	}
	*to = '\0';
	return flat;
}

/* A key whose hash another one has got a row for each of its values. Names are the program's, so
 * the hash is one that it cannot foresee. */
static uint32_t key_row(struct values_of_calls *v, const char *path, size_t n)
{
	/* Never 0, which number_map does not keep. */
	const uint64_t hash = keyed_hash_bytes(&v->key, 0, path, n) | 1;
	const uint64_t row = number_map_get(&v->key_rows, hash);
	char *key;

	if (row != NUMBER_NONE && strlen(v->keys.at[row].key) == n &&
	    !memcmp(v->keys.at[row].key, path, n))
		return (uint32_t)row;
	key = mem_strndup(path, n);
	*vec_add(&v->keys) = (struct call_value_key){ key, flat_of(key) };
	if (row == NUMBER_NONE)
		number_map_set(&v->key_rows, hash, v->keys.n - 1);
	return (uint32_t)v->keys.n - 1;
}

static void add_to_path(struct taking_apart *t, const char *s, size_t n)
{
	if (n > PATH_MOST - t->bytes)
		n = PATH_MOST - t->bytes;
	memcpy(t->path + t->bytes, s, n);
	t->bytes += (uint32_t)n;
}

/* An element has its list's name and its number; all else its own name behind its structure's. */
static void enter_path(struct taking_apart *t, const struct argument_told *a)
{
	struct path_level *in = t->depth ? &t->levels[t->depth - 1] : NULL;
	char number[24];

	if (in && in->list)
		add_to_path(t, number,
			    (size_t)snprintf(number, sizeof(number), "[%u]", in->element++));
	else if (in && t->bytes)
		add_to_path(t, ".", 1);
	if (in && in->list)
		return;
	if (a->name_bytes)
		add_to_path(t, a->name, strnlen(a->name, a->name_bytes));
	else
		add_to_path(t, number,
			    (size_t)snprintf(number, sizeof(number), "arg%u", t->n));
}

/* --- values ------------------------------------------------------------------------------ */

/* Adds a value whose key is the path. */
static void add_value(struct taking_apart *t, const struct argument_told *a)
{
	struct values_of_calls *v = t->to;
	struct call_value_row row = {
		.number = a->number, .text = v->texts.bytes, .bytes = a->text ? a->bytes : 0,
		.slice = t->slice, .key = key_row(v, t->path, t->bytes), .kind = a->kind,
		.more = a->more,
	};

	if (a->kind == ARGUMENT_FLOAT)
		memcpy(&row.number, &a->real, sizeof(row.number));
	t->failed = array_file_reserve(&v->texts, row.bytes, t->err);
	if (!t->failed)
		t->failed = array_file_reserve(&v->rows, sizeof(row), t->err);
	if (t->failed)
		return;
	if (row.bytes)
		memcpy(array_file_add(&v->texts, row.bytes), a->text, row.bytes);
	memcpy(array_file_add(&v->rows, sizeof(row)), &row, sizeof(row));
}

/* The end of a structure or list: one that goes on has a last row that says so, "list[8]" or
 * its own name. */
static void leave_level(struct taking_apart *t, const struct argument_told *a)
{
	const struct argument_told rest = { .kind = ARGUMENT_UNKNOWN, .more = true };
	struct path_level *l = &t->levels[t->depth - 1];

	if (a->more && l->list)
		enter_path(t, &rest);
	if (a->more)
		add_value(t, &rest);
	t->bytes = l->bytes;
	t->depth--;
}

/* argument_visit. Levels that are deeper than any that are made have their members as their
 * parent's. */
static void take_value(void *context, const struct argument_told *a)
{
	struct taking_apart *t = context;
	const uint32_t bytes = t->bytes;
	const bool opens = a->kind == ARGUMENT_OPEN || a->kind == ARGUMENT_LIST;

	if (t->failed)
		return;
	if (a->kind == ARGUMENT_CLOSE || a->kind == ARGUMENT_LIST_END) {
		if (t->depth)
			leave_level(t, a);
		return;
	}
	t->n += !t->depth;
	enter_path(t, a);
	if (opens && t->depth < LEVELS_MOST) {
		t->levels[t->depth++] =
			(struct path_level){ .bytes = bytes, .list = a->kind == ARGUMENT_LIST };
		return;
	}
	if (!opens)
		add_value(t, a);
	t->bytes = bytes;
}

/* --- calls ------------------------------------------------------------------------------- */

/* A function whose types are not known has its register as a number, one that returns nothing has
 * no value. */
static void take_returned(struct taking_apart *t, const struct trace_info *info, uint32_t image,
			  uint32_t fn, struct call_value value, uint64_t tsc)
{
	const struct argument_told plain = {
		.kind = ARGUMENT_UNSIGNED, .name = RETURNED, .name_bytes = sizeof(RETURNED) - 1,
		.number = value.number,
	};
	char *text = NULL;

	if (arguments_returned(info, image, fn, value, RETURNED, take_value, t))
		return;
	if (arguments_value(info, image, fn, value, tsc, &text) == ARGUMENTS_VALUE_PLAIN)
		take_value(t, &plain);
	free(text);
}

/* image: of the call's function. A broken file may have records of a thread that is not in its
 * table. */
static void take_record(struct taking_apart *t, const struct load *l, const struct kept_record *c,
			uint32_t image)
{
	static const uint64_t none;
	/* Where no call has words there is no array of them. */
	const uint64_t *payload =
		c->bytes ? (const uint64_t *)l->call_words.at + c->payload : &none;
	const struct event e = { .kind = EVENT_ENTRY, .flags = EVENT_ARGUMENTS,
				 .payload = payload, .count = c->bytes, .thread = c->thread,
				 .fn = c->fn };
	const struct call_value value = { c->value, (const char *)payload, c->bytes, c->flags };

	if (c->flags)
		take_returned(t, l->info, image, c->fn, value, c->tsc);
	else
		arguments_each(l->info, &e, take_value, t);
}

/* Arguments before the returned value; calls by their number. */
static int by_slice(const void *a, const void *b)
{
	const struct kept_record *x = a, *y = b;

	if (x->slice != y->slice)
		return x->slice < y->slice ? -1 : 1;
	return !!x->flags - !!y->flags;
}

/* Calls of which nothing is kept but a number in their row have that as the value. */
static int take_call(struct taking_apart *t, const struct load *l, uint32_t slice, size_t *next)
{
	const struct slice *s = &load_slices(l)[slice];
	const struct query_function *f = &l->functions.at[s->function];
	const struct call_value value = { .number = s->value, .flags = CALL_VALUE };
	bool returned = false;

	t->slice = slice;
	for (; *next < call_records_n(l) && call_records(l)[*next].slice == slice; ++*next) {
		t->n = t->depth = t->bytes = 0;
		take_record(t, l, &call_records(l)[*next], f->image);
		returned |= call_records(l)[*next].flags != 0;
	}
	t->n = t->depth = t->bytes = 0;
	if (s->valued && !returned)
		take_returned(t, l->info, f->image, f->id, value, 0);
	return t->failed;
}

int call_values_make(struct values_of_calls *v, struct load *l, struct err *err)
{
	struct taking_apart t = { .to = v, .err = err };
	const size_t n = load_slices_n(l);
	size_t next = 0;
	int r = 0;

	if (v->made)
		return 0;
	v->rows.fd = v->texts.fd = -1;
	v->key = keyed_hash_key();
	v->made = true;
	if (call_records_n(l))
		qsort(call_records(l), call_records_n(l), sizeof(struct kept_record), by_slice);
	for (size_t i = 0; i < n && !r; i++)
		if (load_slices(l)[i].has_args || load_slices(l)[i].valued)
			r = take_call(&t, l, (uint32_t)i, &next);
	if (r)
		call_values_free(v);
	return r;
}

void call_values_free(struct values_of_calls *v)
{
	if (!v->made)
		return;
	for (size_t i = 0; i < v->keys.n; i++) {
		free(v->keys.at[i].key);
		free(v->keys.at[i].flat);
	}
	vec_free(&v->keys);
	number_map_free(&v->key_rows);
	array_file_free(&v->rows);
	array_file_free(&v->texts);
	*v = (struct values_of_calls){ 0 };
}

size_t call_values_first(const struct values_of_calls *v, size_t slice)
{
	size_t low = 0, high = call_values_n(v);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (call_values_rows(v)[middle].slice < slice)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* SPDX-License-Identifier: MIT */
/* Compares the names of all functions of a trace with the lists of a spec, once, and keeps the
 * answers as flags by id. excerpt_open() calls it. Fails on a list that no function is in. One
 * thread: the excerpt's readers begin later. */
#include <errno.h>
#include <string.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "excerpt/internal.h"
#include "excerpt/locations.h"
#include "shared/record.h"

#define NAME_MOST 4096
#define FUNCTION_LEFT 128 /* beside the flags: a location of -n means it */
#define NEAREST_MOST 200000 /* names that a slip is compared with: a second's work */

/* A list that has to have a function, its option, the flag of its functions, and locations that do
 * as well. -n may name functions that the trace does not have, but a location must have some. */
struct list_row {
	const struct function_list *list;
	const char *option;
	uint8_t flag;
	const excerpt_words *locations;
};
#define LISTS 4

/* The symbol, or for a function without one the text that reports show. */
static const char *symbol_of(const struct trace_module *m, const struct trace_function *f,
			     char *room)
{
	if (f->name && f->name < m->strings.n)
		return m->strings.at + f->name;
	trace_function_name(m, f, room, NAME_MOST);
	return room;
}

/* An entry of the PLT is the program's code and leads to a library's function: a list may mean
 * either file. */
static bool is_in(const struct function_list *l, const struct trace_module *m,
		  const struct trace_function *f, const char *symbol)
{
	bool known;
	const char *file = trace_function_file(m, f, &known);

	return function_list_has_at(l, symbol, f->vaddr, m->path) ||
	       (strcmp(file, m->name) && function_list_has_at(l, symbol, f->vaddr, file));
}

bool excerpt_list_has(const struct function_list *l, const struct trace_module *m,
		      const struct trace_function *f)
{
	char room[NAME_MOST];

	return is_in(l, m, f, symbol_of(m, f, room));
}

/* Without -L everything is meant, with it the program and these libraries, as at recording. */
static bool is_of_modules(const struct excerpt *x, const struct trace_module *m)
{
	const struct function_list *l = &x->spec->modules;

	return !l->patterns.n || trace_info_is_program(x->info, m) ||
	       function_list_has_module(l, m->path);
}

static bool asks_for(const struct excerpt_spec *w, enum excerpt_locations_of of,
		     const struct function_list *names)
{
	return names->patterns.n || w->locations[of].n;
}

/* locations: bits of the locations that mean the function. */
static uint8_t flags_of(const struct excerpt *x, const struct trace_module *m,
			const struct trace_function *f, uint8_t locations)
{
	const struct excerpt_spec *w = x->spec;
	char room[NAME_MOST];
	const char *symbol = symbol_of(m, f, room);
	uint8_t flags = 0;

	if (is_in(&w->without, m, f, symbol) || locations & 1u << EXCERPT_WITHOUT ||
	    !is_of_modules(x, m))
		return 0;
	if ((!asks_for(w, EXCERPT_IN, &w->functions) || locations & 1u << EXCERPT_IN ||
	     is_in(&w->functions, m, f, symbol)) &&
	    f->size >= w->min_size)
		flags |= FUNCTION_SHOWN;
	if (locations & 1u << EXCERPT_GRAPH || is_in(&w->graph, m, f, symbol))
		flags |= FUNCTION_ROOT;
	flags |= is_in(&w->callers_of, m, f, symbol) ? FUNCTION_CALLED : 0;
	return flags;
}

/* Ids that no record can have are left out: a damaged file may claim any. */
static uint8_t find_of_module(struct excerpt *x, struct excerpt_locations *locations,
			      const struct trace_module *m)
{
	struct excerpt_image *image;
	uint8_t all = 0, *bits;
	size_t end;

	if (m->image >= x->images.n || !m->functions.n || m->first_id > RECORD_ID_MAX)
		return 0;
	image = &x->images.at[m->image];
	end = m->functions.n <= RECORD_ID_MAX - m->first_id ? m->first_id + m->functions.n
							    : RECORD_ID_MAX + 1u;
	if (end > image->n) {
		image->flags = mem_realloc(image->flags, end, sizeof(*image->flags));
		memset(image->flags + image->n, x->unknown, end - image->n);
		image->n = end;
	}
	bits = locations ? excerpt_locations_of_module(locations, m) : NULL;
	for (size_t id = m->first_id; id < end; id++) {
		size_t i = id - m->first_id;

		image->flags[id] = flags_of(x, m, &m->functions.at[i], bits ? bits[i] : 0);
		all |= image->flags[id];
		all |= bits && bits[i] & 1u << EXCERPT_WITHOUT ? FUNCTION_LEFT : 0;
	}
	free(bits);
	return all;
}

/* The name nearest to a plain one that the list has; "" and false: there is none. */
static bool nearest_name(const struct excerpt *x, const struct function_list *l, char *out,
			 size_t n)
{
	struct nearest near = { 0 };
	size_t left = NEAREST_MOST;
	const struct trace_module *of = NULL;

	for (size_t i = 0; i < l->patterns.n && !near.word; i++)
		near.word = function_pattern_name(&l->patterns.at[i]);
	for (size_t i = 0; near.word && i < x->info->modules.n; i++) {
		const struct trace_module *m = &x->info->modules.at[i];
		const char *before = near.best;

		for (size_t k = 0; k < m->functions.n && left; k++, left--)
			if (m->functions.at[k].name && m->functions.at[k].name < m->strings.n)
				nearest_offer(&near, m->strings.at + m->functions.at[k].name);
		of = near.best != before ? m : of;
	}
	if (!near.best || !of)
		return false;
	demangle(near.best, out, n);
	return true;
}

/* A list fails only if none of its words fits: the first one stands for all of them. */
static int no_function(const struct excerpt *x, const struct list_row *row, struct err *err)
{
	const char *first = row->list->patterns.at[0].text;
	char near[128];

	if (nearest_name(x, row->list, near, sizeof(near)))
		return err_at(err, ENOENT, first, 0,
			      "no function of the trace matches %s; %s is near", row->option, near);
	return err_at(err, ENOENT, first, 0,
		      "no function of the trace matches %s: brace report lists those that were called",
		      row->option);
}

/* Each list that was given must have a function. -L may name a library that nothing was recorded
 * of: the program is shown then. */
static int check_lists(const struct excerpt *x, const struct excerpt_locations *locations,
		       uint8_t found, struct err *err)
{
	const struct excerpt_spec *w = x->spec;
	const struct list_row lists[LISTS] = {
		{ &w->functions, w->functions_option ? w->functions_option : "-l", FUNCTION_SHOWN,
		  &w->locations[EXCERPT_IN] },
		{ &w->graph, "-g", FUNCTION_ROOT, &w->locations[EXCERPT_GRAPH] },
		{ &w->callers_of, "--callers-of", FUNCTION_CALLED, NULL },
		{ NULL, "-n", FUNCTION_LEFT, &w->locations[EXCERPT_WITHOUT] },
	};

	for (size_t i = 0; i < LISTS; i++) {
		if (found & lists[i].flag)
			continue;
		if (lists[i].locations && lists[i].locations->n)
			return excerpt_locations_why(locations, lists[i].locations->at[0], err);
		if (lists[i].list && lists[i].list->patterns.n)
			return no_function(x, &lists[i], err);
	}
	return 0;
}

/* NULL: nothing is asked for by files of the source, and none is opened. */
static struct excerpt_locations *locations_of(const struct excerpt_spec *w)
{
	for (size_t i = 0; i < EXCERPT_LOCATIONS_N; i++)
		if (w->locations[i].n)
			return excerpt_locations_new(w);
	return NULL;
}

/* A function that no module defines has no name, no file and no size. It is shown unless a list or
 * an option asks for one of these. */
int excerpt_find_functions(struct excerpt *x, struct err *err)
{
	const struct excerpt_spec *w = x->spec;
	struct excerpt_locations *locations = locations_of(w);
	uint8_t found = 0;
	int r;

	x->unknown = FUNCTION_SHOWN;
	if (asks_for(w, EXCERPT_IN, &w->functions) || w->min_size || w->modules.patterns.n)
		x->unknown = 0;
	while (x->images.n < x->info->images.n)
		*vec_add(&x->images) = (struct excerpt_image){ 0 };
	for (size_t i = 0; i < x->info->modules.n; i++)
		found |= find_of_module(x, locations, &x->info->modules.at[i]);
	r = check_lists(x, locations, found, err);
	excerpt_locations_free(locations);
	return r;
}

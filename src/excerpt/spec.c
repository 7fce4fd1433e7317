/* SPDX-License-Identifier: MIT */
/* The options of an excerpt, a row each. The command line calls it (ui/invocation.c), on brace's
 * only thread, before a file is opened. Fails on text that no trace could make sense of. */
#include "excerpt/spec.h"

#include <errno.h>
#include <string.h>

#include "base/keyed_hash.h"
#include "base/mem.h"
#include "excerpt/locations.h"
#include "model/units.h"

/* An option, and what it adds to: `field` is an offset in the spec. */
struct spec_row {
	const char *name;
	int (*add)(struct excerpt_spec *w, size_t field, const char *text, struct err *err);
	size_t field;
};

/* The member at this offset; its type is the row's to know. */
static void *field_at(struct excerpt_spec *w, size_t field)
{
	return (char *)w + field;
}

/* Arguments are not known to the excerpt, so that no list takes conditions. */
static int add_functions(struct excerpt_spec *w, size_t field, const char *text, struct err *err)
{
	static const struct { size_t field; enum excerpt_locations_of of; } locations[] = {
		{ offsetof(struct excerpt_spec, functions), EXCERPT_IN },
		{ offsetof(struct excerpt_spec, without), EXCERPT_WITHOUT },
		{ offsetof(struct excerpt_spec, graph), EXCERPT_GRAPH },
	};

	for (size_t i = 0; i < EXCERPT_LOCATIONS_N && excerpt_is_location(text); i++)
		if (locations[i].field == field) {
			*vec_add(&w->locations[locations[i].of]) = mem_strdup(text);
			return 0;
		}
	if (function_list_refuse_conditions(text, err))
		return -err->code;
	return function_list_write(field_at(w, field), text, true, err);
}

/* -L. */
static int add_modules(struct excerpt_spec *w, size_t field, const char *text, struct err *err)
{
	return function_list_write_modules(field_at(w, field), text, true, err);
}

/* The last one given counts. */
static int set_text(struct excerpt_spec *w, size_t field, const char *text, struct err *err)
{
	char **at = field_at(w, field);

	if (!*text)
		return err_at(err, EINVAL, text, 0, "a value is expected here");
	free(*at);
	*at = mem_strdup(text);
	return 0;
}

/* Options that may be given several times: any of the words fits. */
static int add_text(struct excerpt_spec *w, size_t field, const char *text, struct err *err)
{
	excerpt_words *words = field_at(w, field);

	if (!*text)
		return err_at(err, EINVAL, text, 0, "a value is expected here");
	*vec_add(words) = mem_strdup(text);
	return 0;
}

/* A bare number is microseconds, as with --threshold. */
static int set_duration(struct excerpt_spec *w, size_t field, const char *text, struct err *err)
{
	return units_parse_time_ns(text, 1000, field_at(w, field), err);
}

/* --min-size. */
static int set_bytes(struct excerpt_spec *w, size_t field, const char *text, struct err *err)
{
	return units_parse_number(text, "a size of functions, in bytes,", 0, UINT32_MAX,
				  field_at(w, field), err);
}

/* --max-graph-depth. 0: no limit, as in ftrace. */
static int set_depth(struct excerpt_spec *w, size_t field, const char *text, struct err *err)
{
	return units_parse_number(text, "a depth", 0, UINT32_MAX, field_at(w, field), err);
}

#define FIELD(name) offsetof(struct excerpt_spec, name)
static const struct spec_row rows[] = {
	{ "filter", add_functions, FIELD(functions) },
	{ "notrace", add_functions, FIELD(without) },
	{ "graph-function", add_functions, FIELD(graph) },
	{ "library", add_modules, FIELD(modules) },
	{ "callers-of", add_functions, FIELD(callers_of) },
	{ "from", set_text, FIELD(from) },
	{ "to", set_text, FIELD(to) },
	{ "thread", add_text, FIELD(threads) },
	{ "process", add_text, FIELD(processes) },
	{ "cpu", set_text, FIELD(cpus) },
	{ "min-duration", set_duration, FIELD(min_ns) },
	{ "max-graph-depth", set_depth, FIELD(depth) },
	{ "min-size", set_bytes, FIELD(min_size) },
};

const char *const excerpt_spec_names[] = {
	"filter", "notrace", "graph-function", "library", "callers-of", "from", "to", "thread",
	"process", "cpu", "min-duration", "max-graph-depth", "min-size", NULL,
};

/* name: the option's long name. 0, or -errno and *err. */
int excerpt_spec_add(struct excerpt_spec *w, const char *name, const char *text, struct err *err)
{
	static const struct hash_key public_key = { { 0, 0 } };
	const uint64_t of_name = keyed_hash_bytes(&public_key, 0, name, strlen(name));

	w->number += keyed_hash_bytes(&public_key, of_name, text, strlen(text));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].name, name))
			return rows[i].add(w, rows[i].field, text, err);
	return err_set(err, EINVAL, "no option %s chooses a part of a trace", name);
}

/* Whether nothing is left out: then the file itself is read. */
bool excerpt_spec_is_all(const struct excerpt_spec *w)
{
	for (size_t i = 0; i < EXCERPT_LOCATIONS_N; i++)
		if (w->locations[i].n)
			return false;
	return !w->functions.patterns.n && !w->without.patterns.n && !w->graph.patterns.n &&
	       !w->modules.patterns.n && !w->callers_of.patterns.n && !w->from && !w->to &&
	       !w->cpus && !w->threads.n && !w->processes.n && !w->min_ns && !w->min_size &&
	       !w->depth;
}

static void free_words(excerpt_words *words)
{
	for (size_t i = 0; i < words->n; i++)
		free(words->at[i]);
	vec_free(words);
}

/* Leaves a spec for the whole trace, which may be freed again. */
void excerpt_spec_free(struct excerpt_spec *w)
{
	function_list_free(&w->functions);
	function_list_free(&w->without);
	function_list_free(&w->graph);
	function_list_free(&w->modules);
	function_list_free(&w->callers_of);
	free(w->from);
	free(w->to);
	free(w->cpus);
	for (size_t i = 0; i < EXCERPT_LOCATIONS_N; i++)
		free_words(&w->locations[i]);
	free_words(&w->threads);
	free_words(&w->processes);
	*w = (struct excerpt_spec){ 0 };
}

/* SPDX-License-Identifier: MIT */
#include "instance/settings_union.h"

#include <stdlib.h>
#include <string.h>

#include "instance/rules.h"

/* One reason to trace functions. */
struct want {
	const struct settings *of;
	bool graph;                 /* their ends, too */
	bool call;                  /* by the function tracer's record */
	bool sleeps;                /* and what threads sleep */
	bool values;                /* with what they return */
	struct function_list named; /* instead of the instance's filters: those that commands are about */
};

typedef VEC(struct want) want_list;

static bool is_sleepless(const struct settings *s)
{
	return !option_is_set(s->options, OPTION_SLEEP_TIME);
}

static void add_tracer(want_list *l, const struct settings *s)
{
	if (!s->nop)
		*vec_add(l) = (struct want){ .of = s, .graph = s->graph, .call = !s->graph, .sleeps = s->graph && is_sleepless(s),
					     .values = settings_values(s) };
}

static void add_profile(want_list *l, const struct settings *s)
{
	if (s->function_profile)
		*vec_add(l) = (struct want){ .of = s, .graph = true, .sleeps = is_sleepless(s) };
}

/* Of all functions: which of them stand on a stack matters. */
static void add_stacks(want_list *l, const struct settings *s)
{
	static const struct settings all;

	if (s->stack_trace)
		*vec_add(l) = (struct want){ .of = &all, .graph = true };
}

/* Stacks are known by entries and ends, whatever the tracer. */
static void add_open_calls(want_list *l, const struct settings *s)
{
	if (rules_want_calls(s))
		*vec_add(l) = (struct want){ .of = s, .graph = true };
}

/* Whether they are called is said by either tracer's records. */
static void add_commands(want_list *l, const struct settings *s)
{
	struct want w = { .of = s };
	struct err ignored;

	for (size_t i = 0; i < s->commands.at.n; i++)
		function_list_write(&w.named, s->commands.at.at[i]->function, true, &ignored);
	if (w.named.patterns.n)
		*vec_add(l) = w;
}

static void collect(want_list *l, const struct settings *const *settings, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add_tracer(l, settings[i]);
		add_profile(l, settings[i]);
		add_stacks(l, settings[i]);
		add_open_calls(l, settings[i]);
		add_commands(l, settings[i]);
	}
}

static void drop(want_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		function_list_free(&l->at[i].named);
	vec_free(l);
}

bool settings_differ(const struct settings *const *settings, size_t n)
{
	want_list l = { 0 };
	bool several;

	collect(&l, settings, n);
	several = l.n > 1;
	drop(&l);
	return several;
}

/* --- all together ------------------------------------------------------------------- */

static const struct function_list *filter_of(const struct want *w)
{
	return w->named.patterns.n ? &w->named : &w->of->filter;
}

/* What one takes out again another may have put in: nothing is taken out. */
static void append(struct function_list *to, const struct function_list *from)
{
	struct err ignored;

	for (size_t i = 0; i < from->patterns.n; i++)
		if (!from->patterns.at[i].remove)
			function_list_write(to, from->patterns.at[i].text, true, &ignored);
}

static void unite_filters(const want_list *l, struct settings *out)
{
	for (size_t i = 0; i < l->n; i++)
		if (!filter_of(&l->at[i])->patterns.n)
			return; /* all functions */
	for (size_t i = 0; i < l->n; i++)
		append(&out->filter, filter_of(&l->at[i]));
}

/* Only what all leave out. */
static void unite_notrace(const want_list *l, struct settings *out)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].named.patterns.n || !function_list_is_same(&l->at[i].of->notrace, &l->at[0].of->notrace))
			return;
	function_list_copy(&out->notrace, &l->at[0].of->notrace);
}

static void as_one(const struct want *w, struct settings *out)
{
	function_list_copy(&out->filter, filter_of(w));
	if (!w->named.patterns.n)
		function_list_copy(&out->notrace, &w->of->notrace);
}

void settings_union(const struct settings *const *settings, size_t n, struct settings *out)
{
	bool call = false, sleeps = false, values = false;
	want_list l = { 0 };

	collect(&l, settings, n);
	out->nop = !l.n;
	out->graph = false;
	for (size_t i = 0; i < l.n; i++) {
		out->graph = out->graph || l.at[i].graph;
		call = call || l.at[i].call;
		sleeps = sleeps || l.at[i].sleeps;
		values = values || l.at[i].values;
	}
	out->options |= OPTION_BIT(OPTION_SLEEP_TIME);
	if (sleeps)
		out->options &= ~OPTION_BIT(OPTION_SLEEP_TIME);
	out->options &= ~OPTION_BIT(OPTION_GRAPH_RETVAL);
	out->options |= (uint64_t)values << OPTION_GRAPH_RETVAL;
	out->calls_too = out->graph && call;
	function_list_free(&out->filter);
	function_list_free(&out->notrace);
	if (l.n == 1) {
		as_one(&l.at[0], out);
	} else if (l.n) {
		unite_filters(&l, out);
		unite_notrace(&l, out);
	}
	drop(&l);
}

/* SPDX-License-Identifier: MIT */
/* Collects the reasons that all instances have to trace functions (tracer, profile, stack tracer,
 * stacks of events, function commands) and unites them. settings.c calls it on one of the tree's
 * threads, with instances->changing held, before the session changes. One reason is taken over
 * exactly; several make a superset, since filters cannot express more than that. Nothing fails. */
#include "instance/settings_union.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "instance/rules.h"

/* One reason to trace functions. */
struct want {
	const struct settings *of;
	const struct tracer *tracer; /* its records are needed */
	bool call;                  /* the function tracer's record at entries */
	bool sleeps;                /* sleep times are needed, too */
	bool values;                /* returned values are needed, too */
	bool args;                  /* arguments are needed, too */
	/* the functions that commands name; used instead of the instance's filters */
	struct function_list named;
};

typedef VEC(struct want) want_list;

static void add_tracer(want_list *l, const struct settings *s)
{
	/* A latency tracer is no matter of the programs: they record calls for it. */
	if (settings_functions(s))
		*vec_add(l) = (struct want){ .of = s,
					     .tracer = settings_display_graph(s)
							       ? &tracer_function_graph
						       : s->tracer->wakes ? &tracer_function
									  : s->tracer,
					     .call = !settings_exits(s),
					     .sleeps = s->tracer->exits &&
						       settings_exclude_sleep(s),
					     .values = settings_values(s),
					     .args = settings_args(s) };
}

/* The profile obeys the top's function filters; it needs exits. */
static void add_profile(want_list *l, const struct settings *s)
{
	if (s->function_profile)
		*vec_add(l) = (struct want){ .of = s,
					     .tracer = &tracer_function_graph,
					     .sleeps = settings_exclude_sleep(s) };
}

/* The stack tracer needs all functions, whatever the filters: every call contributes to the depth.
 * Empty settings have no filters. */
static void add_stacks(want_list *l, const struct settings *s)
{
	static const struct settings all;

	if (s->stack_trace)
		*vec_add(l) = (struct want){ .of = &all, .tracer = &tracer_function_graph };
}

/* Stacks at events are told by entries and exits, whatever the tracer. */
static void add_open_calls(want_list *l, const struct settings *s)
{
	if (rules_want_calls(s))
		*vec_add(l) = (struct want){ .of = s, .tracer = &tracer_function_graph };
}

/* Function commands need to see their functions called; the records of either tracer show that. */
static void add_commands(want_list *l, const struct settings *s)
{
	struct want w = { .of = s, .tracer = &tracer_function };
	struct err ignored;

	for (size_t i = 0; i < s->commands.at.n; i++)
		function_list_write(&w.named, s->commands.at.at[i]->function, true, &ignored);
	if (w.named.patterns.n)
		*vec_add(l) = w;
}

static void collect_wants(want_list *l, const struct settings *const *settings, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add_tracer(l, settings[i]);
		add_profile(l, settings[i]);
		add_stacks(l, settings[i]);
		add_open_calls(l, settings[i]);
		add_commands(l, settings[i]);
	}
}

static void drop_wants(want_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		function_list_free(&l->at[i].named);
	vec_free(l);
}

bool settings_differ(const struct settings *const *settings, size_t n)
{
	want_list l = { 0 };
	bool several;

	collect_wants(&l, settings, n);
	several = l.n > 1;
	drop_wants(&l);
	return several;
}

/* --- all together ------------------------------------------------------------------- */

static const struct function_list *filter_of(const struct want *w)
{
	return w->named.patterns.n ? &w->named : &w->of->filter;
}

/* A pattern's text without its condition, which the programs would apply for all reasons. */
static char *without_condition(const struct function_pattern *p)
{
	size_t n = strlen(p->text);

	if (!p->condition)
		return mem_strdup(p->text);
	n -= strlen(p->condition);
	while (n && strchr(" \t", p->text[n - 1]))
		n--;
	n -= n > 2 ? strlen("if") : 0;
	while (n && strchr(" \t", p->text[n - 1]))
		n--;
	return mem_strndup(p->text, n);
}

static void append_text(struct function_list *to, const char *text)
{
	struct err ignored;

	function_list_write(to, text, true, &ignored);
}

/* Appends the patterns that add functions, or, of them, those that have a condition. A pattern that
 * removes some would remove what another reason added, so it is left out. */
static void append_list(struct function_list *to, const struct function_list *from,
			bool conditional)
{
	for (size_t i = 0; i < from->patterns.n; i++) {
		const struct function_pattern *p = &from->patterns.at[i];
		char *text;

		if (p->remove || (conditional && !p->condition))
			continue;
		text = without_condition(p);
		append_text(to, text);
		free(text);
	}
}

/* Appends the patterns with a condition, as they are. */
static void append_conditions(struct function_list *to, const struct function_list *from)
{
	for (size_t i = 0; i < from->patterns.n; i++)
		if (from->patterns.at[i].condition && !from->patterns.at[i].remove)
			append_text(to, from->patterns.at[i].text);
}

/* A reason without a filter means all functions, which needs no list. */
static void unite_filters(const want_list *l, struct settings *out)
{
	for (size_t i = 0; i < l->n; i++)
		if (!filter_of(&l->at[i])->patterns.n)
			return; /* all functions */
	for (size_t i = 0; i < l->n; i++)
		append_list(&out->filter, filter_of(&l->at[i]), false);
}

/* The arguments by which record filters judge conditions, beside those that are asked for. */
static void unite_arguments(const want_list *l, struct settings *out, bool *args)
{
	bool all = *args && !out->args.patterns.n;

	if (!*args)
		function_list_free(&out->args);
	for (size_t i = 0; i < l->n; i++) {
		append_conditions(&out->judged, filter_of(&l->at[i]));
		if (!all)
			append_list(&out->args, filter_of(&l->at[i]), true);
	}
	*args = *args || out->args.patterns.n;
}

/* Keeps notrace only if every reason has the same: a function that one of them wants must not be
 * left out. */
static void unite_notrace(const want_list *l, struct settings *out)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].named.patterns.n ||
		    !function_list_is_same(&l->at[i].of->notrace, &l->at[0].of->notrace))
			return;
	function_list_copy(&out->notrace, &l->at[0].of->notrace);
}

static void as_one(const struct want *w, struct settings *out)
{
	function_list_copy(&out->filter, filter_of(w));
	if (!w->named.patterns.n)
		function_list_copy(&out->notrace, &w->of->notrace);
}

/* The tracer that records all that both do; the first one, where either would. */
static const struct tracer *wider(const struct tracer *a, const struct tracer *b)
{
	return (b->functions && !a->functions) || (b->exits && !a->exits) ? b : a;
}

void settings_union(const struct settings *const *settings, size_t n, struct settings *out)
{
	bool call = false, sleeps = false, values = false, args = false;
	want_list l = { 0 };

	out->tracer = &tracer_nop;
	collect_wants(&l, settings, n);
	for (size_t i = 0; i < l.n; i++) {
		out->tracer = wider(out->tracer, l.at[i].tracer);
		call = call || l.at[i].call;
		sleeps = sleeps || l.at[i].sleeps;
		values = values || l.at[i].values;
		args = args || l.at[i].args;
	}
	/* Bits of five options are rewritten; the rest of out->options is the top's. */
	for (size_t i = 0; i < n; i++)
		out->options |= settings[i]->options & OPTION_BIT(OPTION_CAUSAL_ORDER);
	out->options |= OPTION_BIT(OPTION_SLEEP_TIME);
	if (sleeps)
		out->options &= ~OPTION_BIT(OPTION_SLEEP_TIME);
	out->options &= ~OPTION_BIT(OPTION_GRAPH_RETVAL);
	out->options |= (uint64_t)values << OPTION_GRAPH_RETVAL;
	if (l.n > 1)
		unite_arguments(&l, out, &args);
	out->options &= ~(OPTION_BIT(OPTION_GRAPH_ARGS) | OPTION_BIT(OPTION_FUNC_ARGS));
	if (args)
		out->options |= OPTION_BIT(OPTION_GRAPH_ARGS) | OPTION_BIT(OPTION_FUNC_ARGS);
	/* Calls as the function tracer records them, beside entries and exits, if instances need
	 * both. */
	out->record_both = out->tracer->exits && call;
	function_list_free(&out->filter);
	function_list_free(&out->notrace);
	if (l.n == 1) {
		as_one(&l.at[0], out);
	} else if (l.n) {
		unite_filters(&l, out);
		unite_notrace(&l, out);
	}
	drop_wants(&l);
}

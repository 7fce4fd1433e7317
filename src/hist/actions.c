/* SPDX-License-Identifier: MIT */
/* The grammar of a histogram's actions: HANDLER(...).ACTION(...). On the thread that writes to a
 * trigger file. First the parts are split, before variables are known; when they are, the synthetic
 * events, variables and fields that actions are about are found. Names of actions are compared
 * whole, where the kernel takes `savee` for `save`. command.c calls it. A fault is a place in the
 * line and the kernel's sentence. */
#include <errno.h>

#include "event/catalogue.h"
#include "event/synthetic.h"
#include "hist/parse.h"

static const struct words nowhere;

/* The text by which a part of the line is known as an action, and the handler's name as it is
 * shown. */
static const struct {
	const char *begin, *name;
} handlers[HIST_ONCHANGE + 1] = {
	[HIST_ONMATCH] = { "onmatch(", "onmatch" },
	[HIST_ONMAX] = { "onmax(", "onmax" },
	[HIST_ONCHANGE] = { "onchange(", "onchange" },
};
#define HANDLERS (sizeof(handlers) / sizeof(handlers[0]))

/* NULL gives absent words. */
static struct words words_of(const char *text)
{
	return (struct words){ text, text ? strlen(text) : 0 };
}

/* --- parts ---------------------------------------------------------------------------------- */

/* Takes one param. Behind the keyword `trace` the first one is the synthetic event's name. */
static int add_param(struct hist_parse *p, struct hist_action *a, struct words param)
{
	bool first = !a->name;

	param = words_strip(param);
	if (!param.n)
		return parse_refuse(p, "Invalid action param", nowhere);
	if (a->keyword && first) {
		a->name = words_copy(param);
		return 0;
	}
	if (a->params.n == HIST_PARAMS_MAX)
		return parse_refuse(p, "Too many action params", nowhere);
	*vec_add(&a->params) = words_copy(param);
	return 0;
}

static int read_params(struct hist_parse *p, struct hist_action *a, struct words params)
{
	int r = 0;

	while (r == 0 && params.at)
		r = add_param(p, a, words_split(&params, ','));
	return r;
}

/* Reads NAME(PARAMS). */
static int read_act(struct hist_parse *p, struct hist_action *a, struct words text)
{
	struct words rest = text, name = words_split(&rest, '('), params;

	if (!name.n || !rest.at)
		return parse_refuse(p, "No action found", nowhere);
	params = words_split(&rest, ')');
	a->act = words_are(name, "save")       ? HIST_SAVE
		 : words_are(name, "snapshot") ? HIST_SNAPSHOT
					       : HIST_TRACE;
	if (a->act != HIST_TRACE && a->handler == HIST_ONMATCH)
		return parse_refuse(p, "Handler doesn't support action", name);
	if (a->act == HIST_SNAPSHOT && !rest.at)
		return parse_refuse(p, "No closing paren found", params);
	if (a->act == HIST_SNAPSHOT)
		return 0;
	a->keyword = words_are(name, "trace");
	if (!a->keyword)
		a->name = words_copy(name);
	return read_params(p, a, params);
}

/* Reads SYSTEM.EVENT; also with the slash of the talk. */
static int read_match(struct hist_parse *p, struct hist_action *a, struct words text)
{
	const struct trigger_context *context = p->line->context;
	struct words event = text,
		     system = words_split(&event, words_have(text, '.') ? '.' : '/');

	if (!event.at)
		return parse_refuse(p, "Missing subsystem", system);
	a->system = words_copy(system);
	a->event = words_copy(event);
	if (!context->find_event || !context->find_event(context->filter.arg, a->system, a->event))
		return parse_refuse(p, "Invalid subsystem or event name", event);
	return 0;
}

/* Finds the handler by its beginning. command.c has let only parts pass that begin with one, so the
 * search ends at a row. Memory of the action is the command's from here on, also on failure. */
static int read_action(struct hist_parse *p, struct words text)
{
	struct hist_action *a = &p->c->actions[p->c->n_actions++];
	struct words rest = text, about;
	int r = 0;

	while (a->handler < HANDLERS && !words_begin(text, handlers[a->handler].begin))
		a->handler++;
	words_split(&rest, '(');
	about = words_split(&rest, ')');
	if (!rest.at)
		return parse_refuse(p, a->handler == HIST_ONMATCH ? "No closing paren found"
								  : "No action found",
				    a->handler == HIST_ONMATCH ? about : nowhere);
	if (a->handler == HIST_ONMATCH)
		r = read_match(p, a, about);
	else
		a->tracked = words_copy(about);
	words_split(&rest, '.');
	if (r == 0 && !rest.at)
		return parse_refuse(p, "No action found", nowhere);
	return r == 0 ? read_act(p, a, rest) : r;
}

/* The order of the line is also that in which they are done (hist/act.c). */
int parse_actions(struct hist_parse *p)
{
	int r = 0;

	for (size_t i = 0; i < p->n_actions && r == 0; i++)
		r = read_action(p, p->actions[i]);
	return r;
}

/* --- what they are about -------------------------------------------------------------------- */

/* Returns the number of the line's own variable; -1: it has none of that name. */
static long own_variable(const struct hist_parse *p, struct words name)
{
	for (size_t i = 0; i < p->c->n_variables; i++)
		if (words_are(name, p->c->variables[i].name))
			return (long)i;
	return -1;
}

/* *f reads the line's own variable. */
static void read_own(const struct hist_parse *p, size_t variable, struct hist_field *f)
{
	*f = p->c->variables[variable].field;
	f->source = HIST_VARIABLE;
	f->modifier = HIST_PLAIN;
	f->field = NULL;
	f->reference = variable;
}

/* Whether no event is named, or that of this line. */
static bool is_this_event(const struct hist_parse *p, struct words system, struct words event)
{
	return !system.at ||
	       (words_are(system, p->event->system) && words_are(event, p->event->name));
}

/* Finds `$NAME`: the line's own variable first, then one of the event that is named, or that
 * onmatch names. */
static int find_param_variable(struct hist_parse *p, const struct hist_action *a,
			       struct words system, struct words event, struct words name,
			       struct hist_field *f)
{
	long own = is_this_event(p, system, event) ? own_variable(p, name) : -1;
	size_t known = p->c->references.n;
	bool qualified = system.at;
	int r;

	if (own >= 0) {
		read_own(p, (size_t)own, f);
		return 0;
	}
	if (!system.at && a->handler == HIST_ONMATCH) {
		system = words_of(a->system);
		event = words_of(a->event);
	}
	r = parse_find_variable(p, system, event, name, f);
	/* The handler named the event, not the param. */
	if (p->c->references.n > known)
		p->c->references.at[known].qualified = qualified;
	return r ? (r < 0 ? r : 0) : parse_refuse(p, "Couldn't find param", name);
}

/* Finds a plain field: in this event's record; else in the other event's, whose histogram then
 * keeps it with each entry (struct hist_extra). */
static int find_param_field(struct hist_parse *p, const struct hist_action *a,
			    struct words system, struct words event, struct words name,
			    struct hist_field *f)
{
	bool timestamps = p->c->timestamps;
	int r = is_this_event(p, system, event) ? parse_value(p, f, name, PARSE_VARIABLE) : -EINVAL;

	p->c->timestamps = timestamps;
	if (r == 0)
		return 0;
	if (!system.at && a->handler == HIST_ONMATCH) {
		system = words_of(a->system);
		event = words_of(a->event);
	}
	if (!system.at || is_this_event(p, system, event))
		return r;
	/* The fault of the first attempt is not that of the line. */
	*p->fault = (struct filter_fault){ 0 };
	return parse_find_field(p, system, event, name, f);
}

/* Splits a param into its event, if it names one, and its name. */
static int find_param(struct hist_parse *p, const struct hist_action *a, struct words param,
		      struct hist_field *f)
{
	struct words rest = param, system = words_split(&rest, '.'), event, name = param;

	if (!rest.at)
		system = event = nowhere;
	else
		event = words_split(&rest, '.');
	if (system.at && !rest.at)
		return parse_refuse(p, "A param is a field, $VARIABLE or SYSTEM.EVENT.NAME", param);
	if (system.at)
		name = rest;
	if (!words_begin(name, "$"))
		return find_param_field(p, a, system, event, name, f);
	return find_param_variable(p, a, system, event, (struct words){ name.at + 1, name.n - 1 },
				   f);
}

/* The kernel's rules of what a synthetic event's field takes. hidden: `from` reads a field of
 * another event. */
static bool fits(const struct event_field *to, const struct hist_field *from, bool hidden)
{
	bool string = synthetic_is_string(to), dynamic = synthetic_is_dynamic(to);

	if (string || from->shape == HIST_IS_STRING)
		return string && from->shape == HIST_IS_STRING &&
		       (dynamic || from->size == to->size);
	if (synthetic_is_stack(to) || from->shape == HIST_IS_STACK)
		return synthetic_is_stack(to) && from->shape == HIST_IS_STACK;
	if (!strcmp(to->type, from->type))
		return true;
	/* The kernel compares the sign of variables only. */
	return to->size == from->size &&
	       (to->is_signed == from->is_signed || from->source == HIST_NUMBER ||
		(from->source == HIST_REFERENCE && hidden));
}

/* Refuses a param that the field at its place cannot take, and one for which there is no field. The
 * caret is at the param's last part. */
static int check_param(struct hist_parse *p, const struct hist_action *a, size_t i,
		       struct words param)
{
	const struct event_format *to = a->synthetic->format;

	const struct hist_field *from = &a->fields.at[i];
	bool hidden = from->source == HIST_REFERENCE &&
		      p->c->references.at[from->reference].hidden;

	if (i < to->n && fits(&to->fields[i], from, hidden))
		return 0;
	return parse_refuse(p, "Param type doesn't match synthetic event field type",
			    words_behind(param, '.'));
}

/* Finds the synthetic event and the values of its fields. Too few params are noticed only after the
 * types of those that are there, too many before. */
static int finish_trace(struct hist_parse *p, struct hist_action *a)
{
	const struct trigger_context *context = p->line->context;
	int r = 0;

	if (context->find_event)
		a->synthetic = context->find_event(context->filter.arg, SYNTHETIC_SYSTEM, a->name);
	if (!a->synthetic || a->synthetic->provider != &synthetic_provider)
		return parse_refuse(p, "Couldn't find synthetic event", words_of(a->name));
	for (size_t i = 0; i < a->params.n && r == 0; i++) {
		struct words param = words_of(a->params.at[i]);
		struct hist_field f = { 0 };

		r = find_param(p, a, param, &f);
		*vec_add(&a->fields) = f;
		if (r == 0)
			r = check_param(p, a, i, param);
	}
	if (r == 0 && a->params.n != a->synthetic->format->n)
		r = parse_refuse(p, "Param count doesn't match synthetic event field count",
				 words_of(a->name));
	return r;
}

/* Gives each param of save() a slot behind those of the variables. A line has at most one save(),
 * as in the kernel. */
static int finish_save(struct hist_parse *p, struct hist_action *a)
{
	int r = 0;

	for (const struct hist_action *other = p->c->actions; other < a; other++)
		if (other->act == HIST_SAVE)
			return hist_refuse(p->line, p->fault, EEXIST,
					   "Can't have more than one save() action per hist", NULL,
					   0);
	a->saved = p->c->n_slots;
	p->c->n_slots += a->params.n;
	for (size_t i = 0; i < a->params.n && r == 0; i++) {
		struct hist_field f = { 0 };
		bool timestamps = p->c->timestamps;

		r = parse_value(p, &f, words_of(a->params.at[i]), PARSE_VARIABLE);
		p->c->timestamps = timestamps;
		*vec_add(&a->fields) = f;
	}
	return r;
}

/* onmax and onchange track a variable of this line. The latest value has a slot of its own, because
 * the variable's slot changes with each record. */
static int find_tracked(struct hist_parse *p, struct hist_action *a)
{
	struct words name = words_of(a->tracked);
	long own;

	if (!words_begin(name, "$"))
		return parse_refuse(p, "For onmax(x) or onchange(x), x must be a variable", name);
	name = (struct words){ name.at + 1, name.n - 1 };
	own = own_variable(p, name);
	if (own < 0)
		return parse_refuse(p, "Couldn't find onmax or onchange variable", name);
	a->variable = (size_t)own;
	a->track = p->c->n_slots++;
	return 0;
}

/* When all keys, values and variables are known, which may stand behind the action in the line. */
int parse_finish_actions(struct hist_parse *p)
{
	int r = 0;

	for (size_t i = 0; i < p->c->n_actions && r == 0; i++) {
		struct hist_action *a = &p->c->actions[i];

		if (a->handler != HIST_ONMATCH)
			r = find_tracked(p, a);
		if (r == 0 && a->act == HIST_TRACE)
			r = finish_trace(p, a);
		else if (r == 0 && a->act == HIST_SAVE)
			r = finish_save(p, a);
	}
	return r;
}

void parse_free_action(struct hist_action *a)
{
	free(a->system);
	free(a->event);
	free(a->tracked);
	free(a->name);
	for (size_t i = 0; i < a->params.n; i++)
		free(a->params.at[i]);
	vec_free(&a->params);
	vec_free(&a->fields);
}

/* --- showing and comparing ------------------------------------------------------------------ */

/* trace(NAME,...) and NAME(...) are one action: it is shown in the spelling that was written. */
void hist_action_show(const struct hist_action *a, FILE *to)
{
	static const char *const acts[HIST_SNAPSHOT + 1] = {
		[HIST_TRACE] = "trace", [HIST_SAVE] = "save", [HIST_SNAPSHOT] = "snapshot",
	};
	bool comma = a->keyword;

	fprintf(to, ":%s(", handlers[a->handler].name);
	if (a->handler == HIST_ONMATCH)
		fprintf(to, "%s.%s).", a->system, a->event);
	else
		fprintf(to, "%s).", a->tracked);
	fprintf(to, "%s(", a->act != HIST_TRACE || a->keyword ? acts[a->act] : a->name);
	if (a->keyword)
		fputs(a->name, to);
	for (size_t i = 0; i < a->params.n; i++) {
		fprintf(to, "%s%s", comma ? "," : "", a->params.at[i]);
		comma = true;
	}
	fputc(')', to);
}

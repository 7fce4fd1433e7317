/* SPDX-License-Identifier: MIT */
/* Finds variables of other histograms, and makes references to them. On the thread that writes to a
 * trigger file, which has the settings that it changes: triggers in them stay as long as it looks.
 * A reference keeps the other histogram's table. actions.c, command.c and expression.c ask. A name
 * that nobody has, or several have, is a place in the line and a sentence. */
#include <errno.h>

#include "hist/parse.h"

static bool is_name(struct words w, const char *name)
{
	return words_are(w, name);
}

/* A search for a variable among all triggers, with its result. */
struct variable_search {
	struct words system, event, name;  /* absent system: of any event */
	const struct event_format *of;     /* or this event; NULL: by name */
	const struct hist *found;
	size_t variable;
	unsigned n;                        /* events that have it */
};

static bool is_searched(const struct variable_search *s, const struct event_format *e)
{
	if (s->of)
		return s->of == e;
	return !s->system.at || (is_name(s->system, e->system) && is_name(s->event, e->name));
}

/* trigger_context.find's callback: goes on to the end. */
static bool look_at_variables(const struct event_trigger *t, const void *what)
{
	struct variable_search *s = (struct variable_search *)what;
	const struct hist *h = hist_is(t) ? t->own : NULL;

	if (!h || !is_searched(s, h->event))
		return false;
	for (size_t i = 0; i < h->command->n_variables; i++) {
		if (!is_name(s->name, h->command->variables[i].name))
			continue;
		/* Only a name on two events is ambiguous: two histograms of one event share it. */
		s->n += !s->found || s->found->event != h->event;
		s->found = h;
		s->variable = i;
	}
	return false;
}

/* Looks at every trigger of the settings that are being changed. A context without find() has
 * none. */
static void search(const struct hist_parse *p, struct variable_search *s)
{
	const struct trigger_context *context = p->line->context;

	if (context->find)
		context->find(context->filter.arg, look_at_variables, s);
}

/* Returns the number of the reference, which may be there already. Takes over `r`'s field. */
static size_t add_reference(struct hist_parse *p, const struct hist_reference *r)
{
	struct hist_reference *to;

	for (size_t i = 0; i < p->c->references.n; i++) {
		const struct hist_reference *have = &p->c->references.at[i];

		if (have->shared == r->shared && have->hidden == r->hidden &&
		    (r->hidden ? have->field.field == r->field.field &&
					 have->field.source == r->field.source
			       : have->variable == r->variable))
			return i;
	}
	to = vec_add(&p->c->references);
	*to = *r;
	hist_shared_get(to->shared);
	return p->c->references.n - 1;
}

/* *f reads what `like` is the value of. */
static void refer_to(struct hist_parse *p, const struct hist_reference *r,
		     const struct hist_field *like, struct hist_field *f)
{
	*f = (struct hist_field){ .source = HIST_REFERENCE,
				  .shape = like->shape,
				  .usecs = like->usecs,
				  .type = like->type,
				  .size = like->size,
				  .is_signed = like->is_signed };
	f->reference = add_reference(p, r);
	f->name = "";
}

/* The kernel's sentence of HIST_ERR_VAR_NOT_UNIQUE. */
static int several(struct hist_parse *p, struct words name)
{
	return parse_refuse(p,
			    "Variable name not unique, need to use fully qualified name "
			    "(subsys.event.var) for variable",
			    name);
}

/* The variable among those of the events that onmatch names. Two handlers are two events. */
static int search_matched(struct hist_parse *p, struct words name, struct variable_search *out)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->c->n_actions; i++) {
		const struct hist_action *a = &p->c->actions[i];
		struct variable_search s = { .name = name };

		if (a->handler != HIST_ONMATCH)
			continue;
		s.system = (struct words){ a->system, strlen(a->system) };
		s.event = (struct words){ a->event, strlen(a->event) };
		search(p, &s);
		if (s.found && n++)
			return several(p, name);
		if (s.found)
			*out = s;
	}
	return 0;
}

int parse_find_variable(struct hist_parse *p, struct words system, struct words event,
			struct words name, struct hist_field *f)
{
	struct variable_search s = { .name = name };
	struct hist_reference r = { 0 };
	int e = system.at ? 0 : search_matched(p, name, &s);

	if (e < 0)
		return e;
	if (!s.found) {
		/* No handler names an event that has it: any event may. */
		s = (struct variable_search){ .system = system, .event = event, .name = name };
		search(p, &s);
	}
	if (s.n > 1)
		return several(p, name);
	if (!s.found)
		return 0;
	r.shared = s.found->shared;
	r.n_keys = s.found->command->n_keys;
	r.variable = s.variable;
	r.nested = s.found->command->nested;
	r.qualified = system.at;
	refer_to(p, &r, &s.found->command->variables[s.variable].field, f);
	return 1;
}

/* A reference names an event and a variable: it could not tell a second variable of that name from
 * the first one. */
bool parse_is_taken(struct hist_parse *p, struct words name)
{
	struct variable_search s = { .name = name, .of = p->event };

	search(p, &s);
	return s.found;
}

/* --- fields of matched events ------------------------------------------------------------- */

struct compatible_search {
	const struct hist_parse *p;
	struct words system, event;
	const struct hist *found;
};

/* True if two histograms have keys that can be matched: the kernel's compatible_keys(); but strings
 * have no sign, whatever their `char` is. */
static bool has_like_keys(const struct hist_command *a, const struct hist_command *b)
{
	if (a->n_keys != b->n_keys)
		return false;
	for (size_t i = 0; i < a->n_keys; i++)
		if (a->keys[i].shape != b->keys[i].shape || a->keys[i].size != b->keys[i].size ||
		    (hist_field_is_number(&a->keys[i]) &&
		     a->keys[i].is_signed != b->keys[i].is_signed))
			return false;
	return true;
}

/* trigger_context.find's callback: ends at the first histogram of the event with keys like the
 * line's. */
static bool look_at_keys(const struct event_trigger *t, const void *what)
{
	struct compatible_search *s = (struct compatible_search *)what;
	const struct hist *h = hist_is(t) ? t->own : NULL;

	if (h && !s->found && is_name(s->system, h->event->system) &&
	    is_name(s->event, h->event->name) && has_like_keys(h->command, s->p->c))
		s->found = h;
	return s->found;
}

/* Reads the field as the other event has it. */
static int read_theirs(struct hist_parse *p, const struct event_format *theirs, struct words name,
		       struct hist_field *f)
{
	const struct event_format *own = p->event;
	bool timestamps = p->c->timestamps;
	int r;

	/* parse_value() looks into p->event: the line's own event is put back in any case. */
	p->event = theirs;
	r = parse_value(p, f, name, PARSE_VARIABLE);
	p->event = own;
	p->c->timestamps = timestamps;
	return r;
}

int parse_find_field(struct hist_parse *p, struct words system, struct words event,
		     struct words name, struct hist_field *f)
{
	const struct trigger_context *context = p->line->context;
	struct compatible_search s = { .p = p, .system = system, .event = event };
	struct hist_reference r = { .hidden = true };
	int e;

	if (context->find)
		context->find(context->filter.arg, look_at_keys, &s);
	if (!s.found)
		return parse_refuse(p, "Matching event histogram not found", name);
	e = read_theirs(p, s.found->event, name, &r.field);
	if (e < 0)
		return e;
	/* No operands: the other histogram's table, which has the variable, outlives this
	 * line. */
	if (r.field.source >= HIST_CONSTANT || r.field.modifier != HIST_PLAIN)
		return parse_refuse(p, "Of another event a param is a plain field", name);
	r.shared = s.found->shared;
	r.n_keys = s.found->command->n_keys;
	r.event = s.found->event;
	refer_to(p, &r, &r.field, f);
	return 0;
}

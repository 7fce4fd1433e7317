/* SPDX-License-Identifier: MIT */
/* The text of a `hist_debug` file: how a histogram's line was understood, as kernels that are built
 * with CONFIG_HIST_TRIGGERS_DEBUG print it; Documentation/trace/histogram-design.rst explains it.
 * On the thread of a reader, which holds the lock of whoever looks at records, as print.c.
 *
 * The kernel's text is of its own structures, which brace has not all: fields that an action passes
 * on have no variables here, and an address of a histogram is its number. Numbers of variables are
 * those that the kernel would give them. Nothing fails. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/event_set.h"
#include "hist/internal.h"

#define STRING_BYTES 256u   /* what the kernel keeps of a string of any length */
#define KEY_ALIGNMENT 8u

/* A variable that the histogram reads: the kernel's var_refs[]. */
struct debug_reference {
	const struct hist_field *field; /* what it is the value of */
	const char *name, *prefix;
	size_t variable;                /* its number in its histogram */
	uint64_t histogram;
	const struct event_format *event; /* named in the line; NULL: not */
	bool passed;                    /* a field that an action passes on */
};

/* A field that an action passes on or saves, and the number of its variable. */
struct debug_passed {
	const struct hist_field *field;
	const char *name;
	size_t variable;
};

/* One printing of one histogram. */
struct debug_printing {
	const struct hist_command *c;
	const struct event_set *set;    /* where variables of others are looked up; NULL: nowhere */
	uint64_t number;                /* of the histogram */
	struct out *out;
	VEC(struct debug_reference) references;
	VEC(struct debug_passed) passed, saved;
	size_t tracks[HIST_ACTIONS_MAX]; /* number of the variable that an action tracks with */
	size_t tracked[HIST_ACTIONS_MAX]; /* the reference to the variable that it tracks */
};

/* --- names and numbers ------------------------------------------------------------------ */

/* The kernel makes a hidden histogram for a field that another event's histogram reads. brace has
 * none; its number here is that of `s`, with the field's place above it. */
static uint64_t number_of_asked(const struct hist_shared *s, const struct event_format *event,
				const struct hist_field *field)
{
	size_t i = 0;

	while (i < s->extras.n && (s->extras.at[i].event != event ||
				   s->extras.at[i].field.field != field->field))
		i++;
	return s->number | (uint64_t)(i + 1) << 32;
}

/* The histogram whose variables are read; NULL: it is not in these settings. */
static const struct hist *find_shared(const struct debug_printing *p, const struct hist_shared *s)
{
	for (size_t e = 0; p->set && e < p->set->at.n; e++) {
		const struct trigger_list *l = &p->set->at.at[e].triggers;

		for (size_t k = 0; k < l->at.n; k++)
			if (hist_is(l->at.at[k]) &&
			    ((const struct hist *)l->at.at[k]->own)->shared == s)
				return l->at.at[k]->own;
	}
	return NULL;
}

/* Returns the place of the reference, which may be there already. */
static size_t add_reference(struct debug_printing *p, const struct debug_reference *r)
{
	for (size_t i = 0; i < p->references.n; i++)
		if (p->references.at[i].histogram == r->histogram &&
		    p->references.at[i].variable == r->variable)
			return i;
	*vec_add(&p->references) = *r;
	return p->references.n - 1;
}

static size_t refer_to_own(struct debug_printing *p, size_t variable)
{
	const struct hist_variable *v = &p->c->variables[variable];

	return add_reference(p, &(struct debug_reference){ &v->field, v->name, "", variable,
							   p->number, NULL, false });
}

static size_t refer_to_other(struct debug_printing *p, const struct hist_reference *r,
			     const struct hist_field *f)
{
	const struct hist *of = find_shared(p, r->shared);
	struct debug_reference to = { .field = f, .name = "?", .prefix = "" };

	if (r->hidden) {
		to.field = &r->field;
		to.name = r->field.name;
		to.prefix = "synthetic_";
		to.histogram = number_of_asked(r->shared, r->event, &r->field);
		return add_reference(p, &to);
	}
	to.variable = r->variable;
	to.histogram = r->shared->number;
	if (of && r->variable < of->command->n_variables) {
		to.field = &of->command->variables[r->variable].field;
		to.name = of->command->variables[r->variable].name;
		to.event = r->qualified ? of->event : NULL;
	}
	return add_reference(p, &to);
}

/* Takes up what the value reads, operands from left to right. */
static void refer_operands(struct debug_printing *p, const struct hist_field *f)
{
	if (f->source == HIST_REFERENCE)
		refer_to_other(p, &p->c->references.at[f->reference], f);
	else if (f->source == HIST_VARIABLE)
		refer_to_own(p, f->reference);
	for (size_t i = 0; f->source == HIST_EXPRESSION && i < 2; i++)
		if (f->operands[i])
			refer_operands(p, f->operands[i]);
}

/* A field that synthetic events get has a variable of its own, and is read by that. */
static void pass_variable(struct debug_printing *p, const struct hist_field *f, const char *name,
			  size_t *next)
{
	struct debug_reference to = { f, name, "", *next, p->number, NULL, true };

	if (f->source == HIST_REFERENCE || f->source == HIST_VARIABLE) {
		refer_operands(p, f);
		return;
	}
	*vec_add(&p->passed) = (struct debug_passed){ f, name, (*next)++ };
	add_reference(p, &to);
}

/* Takes up an action as the kernel does: what it tracks, then what it passes on. */
static void number_action(struct debug_printing *p, size_t i, size_t *next)
{
	const struct hist_action *a = &p->c->actions[i];

	if (a->handler != HIST_ONMATCH) {
		p->tracked[i] = refer_to_own(p, a->variable);
		p->tracks[i] = (*next)++;
	}
	for (size_t k = 0; k < a->fields.n; k++) {
		if (a->act == HIST_TRACE)
			pass_variable(p, &a->fields.at[k], a->params.at[k], next);
		else
			*vec_add(&p->saved) = (struct debug_passed){ &a->fields.at[k],
								     a->params.at[k], (*next)++ };
	}
}

/* The kernel numbers references in the order in which it meets them; the file shows those
 * numbers, so the order matters. */
static void number_all(struct debug_printing *p)
{
	const struct hist_command *c = p->c;
	size_t next = c->n_variables;

	for (size_t i = 0; i < c->n_values; i++)
		refer_operands(p, &c->values[i]);
	for (size_t i = 0; i < c->n_variables; i++)
		refer_operands(p, &c->variables[i].field);
	for (size_t i = 0; i < c->n_keys; i++)
		refer_operands(p, &c->keys[i]);
	for (size_t i = 0; i < c->n_actions; i++)
		number_action(p, i, &next);
}

/* --- fields ------------------------------------------------------------------------------ */

/* Strings of no fixed length take the room of the longest. */
static uint32_t size_of(const struct hist_field *f)
{
	if (f->shape == HIST_IS_STACK)
		return HIST_FRAMES * sizeof(uint64_t);
	return f->shape == HIST_IS_STRING && !strpbrk(f->type, "123456789") ? STRING_BYTES : f->size;
}

static void show_type(const struct debug_printing *p, const struct hist_field *f, uint32_t size,
		      bool is_signed)
{
	out_printf(p->out, "      type: %s\n      size: %u\n      is_signed: %u\n", f->type, size,
		   is_signed);
}

/* A line only for fields of the record: CPU, time and stack are none. */
static void show_field_name(const struct debug_printing *p, const struct hist_field *f)
{
	if ((f->source == HIST_NUMBER || f->source == HIST_STRING) && f->field)
		out_printf(p->out, "      ftrace_event_field name: %s\n", f->field->name);
}

static void show_flags(const struct debug_printing *p, const char *flag)
{
	out_printf(p->out, "      flags:\n        %s\n", flag);
}

static void show_variable(const struct debug_printing *p, const char *name, size_t number)
{
	out_printf(p->out,
		   "      var.name: %s\n      var.idx (into tracing_map_elt.vars[]): %zu\n", name,
		   number);
}

static void show_reference_number(const struct debug_printing *p, size_t i)
{
	out_printf(p->out, "      var_ref_idx (into hist_data->var_refs[]): %zu\n", i);
}

static void show_value(const struct debug_printing *p, const struct hist_field *f)
{
	show_flags(p, f->source == HIST_HITCOUNT ? "VAL: HIST_FIELD_FL_HITCOUNT"
						 : "VAL: normal u64 value");
	show_field_name(p, f);
	show_type(p, f, size_of(f), f->is_signed);
}

static bool is_alias(const struct hist_field *f)
{
	return f->source == HIST_REFERENCE || f->source == HIST_VARIABLE;
}

/* The number of the reference that an alias is. */
static size_t reference_of(struct debug_printing *p, const struct hist_field *f)
{
	return f->source == HIST_VARIABLE
		       ? refer_to_own(p, f->reference)
		       : refer_to_other(p, &p->c->references.at[f->reference], f);
}

static void show_own_variable(struct debug_printing *p, size_t i)
{
	const struct hist_field *f = &p->c->variables[i].field;

	show_flags(p, is_alias(f) ? "HIST_FIELD_FL_VAR\n        HIST_FIELD_FL_ALIAS"
				  : "HIST_FIELD_FL_VAR");
	show_field_name(p, f);
	show_variable(p, p->c->variables[i].name, i);
	if (is_alias(f))
		show_reference_number(p, reference_of(p, f));
	show_type(p, f, size_of(f), f->is_signed);
}

/* In the kernel's table keys are padded to 8 bytes, and the size shown is the padded one. */
static void show_key(const struct debug_printing *p, const struct hist_field *f)
{
	show_flags(p, "HIST_FIELD_FL_KEY");
	show_field_name(p, f);
	show_type(p, f, (size_of(f) + KEY_ALIGNMENT - 1) / KEY_ALIGNMENT * KEY_ALIGNMENT,
		  f->is_signed);
}

/* The kernel keeps no sign with the variable of a field that is passed on. */
static void show_reference(const struct debug_printing *p, size_t i)
{
	const struct debug_reference *r = &p->references.at[i];

	show_flags(p, "HIST_FIELD_FL_VAR_REF");
	out_printf(p->out, "      name: %s%s\n", r->prefix, r->name);
	out_printf(p->out, "      var.idx (into tracing_map_elt.vars[]): %zu\n", r->variable);
	out_printf(p->out, "      var.hist_data: %016" PRIx64 "\n", r->histogram);
	show_reference_number(p, i);
	if (r->event)
		out_printf(p->out, "      system: %s\n      event_name: %s\n", r->event->system,
			   r->event->name);
	show_type(p, r->field, size_of(r->field), r->field->is_signed && !r->passed);
}

static void show_passed(const struct debug_printing *p, const struct debug_passed *v,
			const char *array, size_t i)
{
	out_printf(p->out, "\n    hist_data->%s[%zu]:\n\n      %s[%zu].var:\n", array, i, array, i);
	show_flags(p, "HIST_FIELD_FL_VAR");
	show_variable(p, v->name, v->variable);
	out_printf(p->out, "\n      %s[%zu].val:\n", array, i);
	show_field_name(p, v->field);
	show_type(p, v->field, size_of(v->field), v->field->is_signed);
}

/* --- the file ---------------------------------------------------------------------------- */

/* n_vals has the hit count and the variables in it, because the kernel keeps all of them in one
 * array. */
static void show_head(const struct debug_printing *p, const struct event_trigger *trigger)
{
	char *line = trigger_line(trigger);
	size_t values = 1 + p->c->n_values + p->c->n_variables;

	out_printf(p->out, "# event histogram\n#\n# trigger info: %s#\n\n", line);
	out_printf(p->out, "hist_data: %016" PRIx64 "\n\n", p->number);
	out_printf(p->out, "  n_vals: %zu\n  n_keys: %zu\n  n_fields: %zu\n", values, p->c->n_keys,
		   values + p->c->n_keys);
	free(line);
}

/* The hit count is always field 0, then the values, the variables, and last the keys. */
static void show_fields(struct debug_printing *p)
{
	static const struct hist_field hits = { .source = HIST_HITCOUNT, .type = "u64", .size = 8 };
	size_t n = 1;

	out_str(p->out, "\n  val fields:\n\n    hist_data->fields[0]:\n");
	show_value(p, &hits);
	for (size_t i = 0; i < p->c->n_values; i++) {
		out_printf(p->out, "\n    hist_data->fields[%zu]:\n", n++);
		show_value(p, &p->c->values[i]);
	}
	for (size_t i = 0; i < p->c->n_variables; i++) {
		out_printf(p->out, "\n    hist_data->fields[%zu]:\n", n++);
		show_own_variable(p, i);
	}
	out_str(p->out, "\n  key fields:\n");
	for (size_t i = 0; i < p->c->n_keys; i++) {
		out_printf(p->out, "\n    hist_data->fields[%zu]:\n", n++);
		show_key(p, &p->c->keys[i]);
	}
}

/* __max and __change are the kernel's names for the variable that keeps the latest value. */
static void show_action(const struct debug_printing *p, size_t i)
{
	static const struct hist_field latest = { .type = "u64", .size = 8 };
	const struct hist_action *a = &p->c->actions[i];

	if (a->handler == HIST_ONMATCH) {
		out_printf(p->out,
			   "\n    hist_data->actions[%zu].match_data.event_system: %s\n"
			   "    hist_data->actions[%zu].match_data.event: %s\n",
			   i, a->system, i, a->event);
		return;
	}
	out_printf(p->out, "\n    hist_data->actions[%zu].track_data.var_ref:\n", i);
	show_reference(p, p->tracked[i]);
	out_printf(p->out, "\n    hist_data->actions[%zu].track_data.track_var:\n", i);
	show_flags(p, "HIST_FIELD_FL_VAR");
	show_variable(p, a->handler == HIST_ONMAX ? "__max" : "__change", p->tracks[i]);
	show_type(p, &latest, latest.size, false);
}

/* Sections that most histograms do not have. */
static void show_rest(const struct debug_printing *p)
{
	if (p->references.n)
		out_str(p->out, "\n  variable reference fields:\n");
	for (size_t i = 0; i < p->references.n; i++) {
		out_printf(p->out, "\n    hist_data->var_refs[%zu]:\n", i);
		show_reference(p, i);
	}
	if (p->passed.n)
		out_str(p->out, "\n  field variables:\n");
	for (size_t i = 0; i < p->passed.n; i++)
		show_passed(p, &p->passed.at[i], "field_vars", i);
	if (p->c->n_actions)
		out_str(p->out,
			"\n  action tracking variables (for onmax()/onchange()/onmatch()):\n");
	for (size_t i = 0; i < p->c->n_actions; i++)
		show_action(p, i);
	if (p->saved.n)
		out_str(p->out, "\n  save action variables (save() params):\n");
	for (size_t i = 0; i < p->saved.n; i++)
		show_passed(p, &p->saved.at[i], "save_vars", i);
}

/* hist_list's callback; asked: it stands for the kernel's histogram of this field. */
static void print_histogram(const struct hist_listing *l, const struct event_trigger *trigger,
			    const struct hist_field *asked)
{
	const struct hist *h = trigger->own;
	struct debug_printing p = { .c = h->command, .set = l->set, .out = l->out };

	p.number = asked ? number_of_asked(h->shared, h->event, asked) : h->shared->number;
	number_all(&p);
	show_head(&p, trigger);
	show_fields(&p);
	show_rest(&p);
	vec_free(&p.references);
	vec_free(&p.passed);
	vec_free(&p.saved);
}

/* hist_printer.print */
static void print_debug(void *arg, const struct trigger_list *l, const struct hist_symbols *symbols,
			struct out *out)
{
	struct hist_listing p = { symbols, out, arg, print_histogram, false };

	hist_list(l, &p);
}

const struct hist_printer hist_debug_printer = { print_debug, NULL };

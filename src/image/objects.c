/* SPDX-License-Identifier: MIT */
/* Plans what is recorded of functions that take a followed object, as a part of one plan, on its
 * thread (arguments.c). Nothing fails: a function whose object cannot be found is not traced, and
 * counted. */
#include "image/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/modules.h"
#include "image/object_conditions.h"
#include "sym/arguments.h"

#define OBJECTS_MOST 4u /* arguments of one function that point to the type */
#define WORD 8u

void objects_count_add(struct object_count *total, const struct object_count *more)
{
	total->takes += more->takes;
	total->watched += more->watched;
	total->unhooked += more->unhooked;
	total->unchosen += more->unchosen;
	total->unlocated += more->unlocated;
	total->inlined += more->inlined;
	total->modules += more->modules;
}

/* 0: a library may still bring functions. -EINVAL and the reason that holds for most of them. */
int objects_none_watched(const struct object_count *c, const struct follow_recording *spec,
			 struct err *err)
{
	if (spec->later && !c->takes)
		return 0;
	if (!spec->type)
		return err_set(err, EINVAL, "no function can be watched: brace list --why tells of each");
	if (!c->takes)
		return err_set(err, EINVAL, "no function takes a pointer to a struct %s",
			       spec->type);
	return err_set(err, EINVAL,
		       "of the %u functions that take a struct %s none can be watched: %u are not chosen by -l, -n or -L, %u cannot be hooked, %u lack the object",
		       c->takes, spec->type, c->unchosen, c->unhooked, c->unlocated);
}

/* --- one function ----------------------------------------------------------------------------- */

/* Conditions first, then what is shown: the order of fields in a record. tell_object() and
 * fetch_object() go by it: the parameters of the prototype and the instructions are in step. */
static const struct follow_field *field_of(const struct follow_plan *plan, uint32_t i)
{
	return i < plan->n_tests ? &plan->tests[i].field : &plan->shown[i - plan->n_tests];
}

/* A plan under way: its prototype's parameters, and the instructions. */
struct object_program {
	const struct follow_plan *plan;
	char *takes;
	struct fetch_insn code[FETCH_INSNS_MAX];
	uint32_t n;
	bool full;
};

/* full is looked at once, when the program is done. */
static void add_insn(struct object_program *o, struct fetch_insn insn)
{
	if (o->n < FETCH_INSNS_MAX)
		o->code[o->n++] = insn;
	else
		o->full = true;
}

/* Begins a field with the object's address. */
static void add_value(struct object_program *o, const struct fetch_insn *value, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		add_insn(o, value[i]);
}

/* A whole word: what the field's own width is, the reader knows. */
static void add_store(struct object_program *o, uint16_t at)
{
	add_insn(o, (struct fetch_insn){ .op = FETCH_STORE, .size = WORD, .at = at });
}

/* The field's value, or its text, behind the pointers that lead to it. */
static void add_field(struct object_program *o, const struct follow_field *f,
		      const struct prototype_value *v)
{
	for (uint32_t i = 0; i < f->steps; i++)
		add_insn(o, (struct fetch_insn){ .op = FETCH_LOAD, .size = WORD,
						 .value = f->offset[i] });
	if (!f->bytes) {
		add_insn(o, (struct fetch_insn){ .op = FETCH_STRING, .at = v->at,
						 .count = FOLLOW_TEXT, .value = f->last });
		return;
	}
	add_store(o, v->at);
	add_insn(o, (struct fetch_insn){ .op = FETCH_BLOCK, .at = v->block, .count = v->bytes,
					 .value = f->last });
}

/* Takes more over; *text is a list with commas. */
static void grow(char **text, char *more)
{
	char *all = mem_printf("%s%s%s", *text, **text ? "," : "", more);

	free(*text);
	free(more);
	*text = all;
}

/* One argument, with its fields: what its prototype is, so that the locations of the values are
 * known. */
static void tell_object(struct object_program *o, bool gives, bool base)
{
	uint32_t fields = o->plan->n_tests + o->plan->n_shown;
	const char *name = base ? FOLLOW_BASE : gives ? FOLLOW_GIVER : FOLLOW_OBJECT;

	grow(&o->takes, mem_printf("%s=p", name));
	for (uint32_t i = 0; i < fields; i++) {
		unsigned bytes = field_of(o->plan, i)->bytes;

		grow(&o->takes, bytes ? mem_printf(FOLLOW_FIELD "=O%u{v@0=u%u}", bytes, bytes)
				      : mem_strdup(FOLLOW_FIELD "=s"));
	}
}

/* Adds the instructions for the argument whose values begin at `at` of the prototype. Returns the
 * index behind them. */
static uint32_t fetch_object(struct object_program *o, const struct prototype *p, uint32_t at,
			     const struct fetch_insn *value, uint32_t n)
{
	uint32_t fields = o->plan->n_tests + o->plan->n_shown;

	add_value(o, value, n);
	add_store(o, p->parameters[at++].at);
	for (uint32_t i = 0; i < fields; i++) {
		add_value(o, value, n);
		add_field(o, field_of(o->plan, i), &p->parameters[at]);
		at += 1 + p->parameters[at].members;
	}
	return at;
}

/* The function's parameters that point to the type and can be found. */
struct object_values { struct object_argument at[OBJECTS_MOST]; uint32_t n; };

/* Moves the argument from a derived class to the base in it, or from a base to the class that has
 * it. False: the pointer is not in a register, and the object is not what it points to. */
static bool lead_to_base(struct object_argument *to, int32_t at)
{
	if (at && (to->n != 1 || to->insns[0].op != FETCH_REG))
		return false;
	if (at)
		to->insns[0].value += at;
	return true;
}

/* The function's arguments that are objects, and the way to each; at most OBJECTS_MOST. */
static void find_objects(const struct sym_arguments *known, struct object_values *out)
{
	out->n = 0;
	for (uint32_t i = 0; i < known->locations.n && out->n < OBJECTS_MOST; i++) {
		struct object_argument *to = &out->at[out->n];

		to->n = 0;
		to->base = known->locations.at[i].base;
		if (known->locations.at[i].object &&
		    known->locations.at[i].kind != SYM_LOCATION_NONE)
			to->n = arguments_fetch_value(known, i, to->insns);
		out->n += to->n && lead_to_base(to, known->locations.at[i].object_at);
	}
}

/* Makes the plan for the first `objects` of the arguments. False: it would be too long. */
static bool make_plan(const struct sym_arguments *known, const struct object_values *values,
		      uint32_t objects, const struct follow_plan *plan, struct argument_plan *out)
{
	struct object_program *o = mem_zalloc(sizeof(*o));
	struct prototype p;
	uint32_t at = 0;
	bool fits;

	o->plan = plan;
	o->takes = mem_strdup("");
	for (uint32_t i = 0; i < objects; i++)
		tell_object(o, known->gives, values->at[i].base);
	out->prototype = mem_printf("%s(%s)", known->returns, o->takes);
	fits = prototype_parse(out->prototype, &p) && p.fixed + objects * plan->n_shown *
						       FOLLOW_TEXT < FETCH_RECORD_MAX;
	for (uint32_t i = 0; fits && i < objects; i++)
		at = fetch_object(o, &p, at, values->at[i].insns, values->at[i].n);
	fits = fits && !o->full;
	if (fits) {
		out->bytes = (uint32_t)(sizeof(*out->program) + o->n * sizeof(o->code[0]));
		out->program = mem_zalloc(out->bytes);
		out->program->n = (uint16_t)o->n;
		out->program->fixed = (uint16_t)p.fixed;
		memcpy(out->program->code, o->code, o->n * sizeof(o->code[0]));
	} else {
		free(out->prototype);
	}
	free(o->takes);
	free(o);
	return fits;
}

/* Where control leaves a stack the agent has to be told of every call, and Go's arguments lie
 * elsewhere. */
static bool may_leave_out(const struct module *mod, uint32_t i)
{
	return !mod->hooks->entries[i].leaves && mod->hooks->language != SYM_LANG_GO;
}

/* False: no argument that points to the type can be found. Objects are left out from the last one
 * on until the rest fits in a record: some are better than none. */
static bool plan_function(const struct module *mod, const struct sym_arguments *known,
			  const struct follow_recording *spec, struct argument_plan *out)
{
	struct object_values *values = mem_zalloc(sizeof(*values));
	uint32_t objects;

	find_objects(known, values);
	objects = values->n;
	while (objects && !make_plan(known, values, objects, spec->plan, out))
		objects--;
	if (objects && spec->by_field && may_leave_out(mod, out->function))
		object_conditions_make(values->at, objects, spec->plan, &out->condition);
	free(values);
	return objects;
}

/* --- a module --------------------------------------------------------------------------------- */

/* Functions that take the type, without those that were planned. Both lists are sorted by address,
 * so that one walk through them suffices. */
static void count_others(const struct module *mod, const struct sym_arguments_list *list,
			 struct object_count *count)
{
	const struct hook_module *h = mod->hooks;
	uint32_t k = 0;

	for (size_t i = 0; i < list->at.n; i++) {
		while (k < h->n && h->functions[k].vaddr < list->at.at[i].vaddr)
			k++;
		if (k == h->n || h->functions[k].vaddr != list->at.at[i].vaddr ||
		    h->entries[k].kind == HOOK_NONE)
			count->unhooked++;
		else if (!arguments_is_traced(mod, k))
			count->unchosen++;
	}
}

/* Reads which functions of the file take the type. */
static void read_takers(const struct modules *m, const struct module *mod,
			const struct follow_recording *spec, struct sym_arguments_list *out)
{
	struct sym_module *file;
	struct err ignored;

	*out = (struct sym_arguments_list){ 0 };
	if (mod->fd < 0 ||
	    sym_open_fd(mod->fd, mod->path, m->root ? m->root : "", &file, &ignored))
		return;
	if (sym_arguments_taking(file, spec->type, spec->bases, spec->n_bases, out, &ignored))
		*out = (struct sym_arguments_list){ 0 };
	sym_close(file);
}

/* By debug information: only functions that take the type stay traced. A function of which the
 * debug information says nothing is left out, too: it could not tell which object it is about. */
static void plan_takers(struct modules *m, struct module *mod, const struct follow_recording *spec)
{
	struct object_count count = { 0 };
	struct sym_arguments_list list;

	read_takers(m, mod, spec, &list);
	count.takes = (uint32_t)list.at.n;
	count.inlined = list.inlined;
	count.modules = !list.has_dwarf;
	count_others(mod, &list, &count);
	for (uint32_t i = 0; i < mod->hooks->n; i++) {
		struct argument_plan plan = { .function = i };
		const struct sym_arguments *known;

		if (!arguments_is_traced(mod, i))
			continue;
		known = sym_arguments_at(&list, mod->hooks->functions[i].vaddr);
		if (known && plan_function(mod, known, spec, &plan)) {
			*vec_add(&mod->arguments.at) = plan;
			count.watched++;
		} else {
			count.unlocated += known != NULL;
			arguments_untrace(mod, i);
		}
	}
	objects_count_add(&m->asked_for.objects, &count);
	sym_arguments_free(&list);
}

/* All functions, by their registers. */
static void plan_any(struct modules *m, struct module *mod, const struct follow_recording *spec)
{
	for (uint32_t i = 0; i < mod->hooks->n; i++) {
		struct argument_plan plan = { .function = i };

		if (!arguments_is_traced(mod, i))
			continue;
		arguments_plan_registers(&plan, "?");
		if (may_leave_out(mod, i))
			object_conditions_by_value(spec->nth, spec->value, &plan.condition);
		*vec_add(&mod->arguments.at) = plan;
		m->asked_for.objects.takes++;
		m->asked_for.objects.watched++;
	}
}

/* Modules that are not opened by -L have no functions to watch. */
void objects_plan(struct modules *m, struct module *mod, const struct follow_recording *spec)
{
	if (mod->choice != MODULE_OPEN)
		return;
	if (spec->type)
		plan_takers(m, mod, spec);
	else
		plan_any(m, mod, spec);
}

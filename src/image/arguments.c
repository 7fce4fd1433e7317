/* SPDX-License-Identifier: MIT */
/* Plans the recording of arguments, as a part of one plan, on its thread (modules.c). Nothing
 * fails: a function about which the debug information tells nothing is recorded without
 * arguments. */
#include "image/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/probe_regs.h"
#include "image/known_functions.h"
#include "image/modules.h"
#include "image/objects.h"
#include "shared/arguments.h"
#include "sym/arguments.h"

_Static_assert(ARGUMENTS_FIRST == PROTOTYPE_FIRST, "both tell where the first value lies");

#define WORD 8u /* bytes of an argument on the stack */

/* --- the program ------------------------------------------------------------------------------ */

/* The place that the calling convention has reached: arguments in registers of each sort, and on
 * the stack. (System V ABI for x86-64, 3.2.3, where that is the machine: arch/probe_regs.h has the
 * registers.) */
struct convention { uint32_t numbers, floats, words; };

/* The instructions of one program. A value's register or address comes first, then what is done
 * with it. All instructions work on one number, the last fetched one; FETCH_KEEP sets one more
 * aside, a string's length. */
struct fetch_making {
	struct fetch_insn code[FETCH_INSNS_MAX];
	uint32_t n;
};

/* Beyond the most it only counts: the caller refuses the program as a whole. */
static void add_insn(struct fetch_making *m, struct fetch_insn i)
{
	if (m->n < FETCH_INSNS_MAX)
		m->code[m->n] = i;
	m->n++;
}

static void fetch_register_value(struct fetch_making *m, uint32_t reg)
{
	add_insn(m, (struct fetch_insn){ .op = FETCH_REG, .reg = (uint8_t)reg });
}

/* Puts the word that lies `offset` bytes behind the address in the address's place. */
static void fetch_loaded(struct fetch_making *m, int64_t offset)
{
	add_insn(m, (struct fetch_insn){ .op = FETCH_LOAD, .size = WORD, .value = offset });
}

/* Where one word of an argument is. STACK: at: bytes above the stack pointer at the first
 * instruction. */
enum source_kind { SOURCE_NONE, SOURCE_NUMBER, SOURCE_FLOAT, SOURCE_FLOAT_UPPER, SOURCE_STACK };
struct word_source { enum source_kind kind; int32_t at; };

/* No argument is at a location that the agent does not know: 0. */
static void fetch_source(struct fetch_making *m, struct word_source s)
{
	switch (s.kind) {
	case SOURCE_NUMBER: fetch_register_value(m, (uint32_t)s.at); return;
	case SOURCE_FLOAT: case SOURCE_FLOAT_UPPER:
		add_insn(m, (struct fetch_insn){
			.op = FETCH_FLOAT, .reg = (uint8_t)s.at,
			.flags = s.kind == SOURCE_FLOAT_UPPER ? FETCH_UPPER : 0 });
		return;
	case SOURCE_STACK:
		fetch_register_value(m, PROBE_SP);
		fetch_loaded(m, s.at);
		return;
	default: add_insn(m, (struct fetch_insn){ .op = FETCH_IMM });
	}
}

/* Where the convention puts the next word of this sort; it goes on to the one after. A sort whose
 * registers are used up goes on to the stack; the other sort still has its own. */
static struct word_source next_by_convention(struct convention *c, bool is_float)
{
	static const uint8_t numbers[] = PROBE_CALLED_WITH;

	if (is_float && c->floats < FETCH_FLOATS)
		return (struct word_source){ SOURCE_FLOAT, (int32_t)c->floats++ };
	if (!is_float && c->numbers < sizeof(numbers))
		return (struct word_source){ SOURCE_NUMBER, numbers[c->numbers++] };
	return (struct word_source){ SOURCE_STACK, PROBE_ON_STACK + (int32_t)(WORD * c->words++) };
}

/* DWARF's numbers of registers are not the order in which the agent saves them. */
static struct word_source source_of_dwarf(int32_t reg)
{
	static const uint8_t numbers[] = PROBE_OF_DWARF;
	uint32_t r = (uint32_t)reg;

	if (r < sizeof(numbers))
		return (struct word_source){ SOURCE_NUMBER, numbers[r] };
	if (r >= PROBE_DWARF_FLOATS && r < PROBE_DWARF_FLOATS + FETCH_FLOATS)
		return (struct word_source){ SOURCE_FLOAT, (int32_t)r - PROBE_DWARF_FLOATS };
	return (struct word_source){ SOURCE_NONE, 0 };
}

/* The words of one argument. */
struct word_sources { struct word_source first, second; };

/* Both words of what is in a vector register. */
static struct word_sources sources_of_vector(struct word_source lower)
{
	struct word_source upper = { SOURCE_NONE, lower.at };

	if (lower.kind == SOURCE_FLOAT)
		upper.kind = SOURCE_FLOAT_UPPER;
	return (struct word_sources){ lower, upper };
}

/* A structure goes into registers as a whole or not at all. What is left over in registers stays
 * for later arguments. One of 16 bytes' alignment begins at an even word of the stack. */
static struct word_sources sources_of_struct(struct convention *c, const struct sym_location *p)
{
	static const uint8_t numbers[] = PROBE_CALLED_WITH;
	uint32_t floats = (uint32_t)__builtin_popcount(p->floats);
	bool fits = !p->memory && c->floats + floats <= FETCH_FLOATS &&
		    c->numbers + p->words - floats <= sizeof(numbers);
	struct word_sources s = { 0 };

	if (p->vector && c->floats < FETCH_FLOATS)
		return sources_of_vector(next_by_convention(c, true));
	if (!fits || p->vector) {
		c->words += p->aligned && c->words % 2;
		s.first = (struct word_source){ SOURCE_STACK,
					   PROBE_ON_STACK + (int32_t)(WORD * c->words) };
		c->words += p->words;
		return s;
	}
	s.first = next_by_convention(c, p->floats & 1);
	if (p->words > 1)
		s.second = next_by_convention(c, p->floats & 2);
	return s;
}

/* Finds the argument, and takes the convention past it, wherever it is. The debug information may
 * tell another place (a clone of the function takes it elsewhere), which counts for this argument
 * alone. */
static struct word_sources sources_of(struct convention *c, const struct prototype_value *v,
				 const struct sym_location *p)
{
	struct word_sources s = { 0 };

	if (p->empty)
		return s;
	if (p->words)
		s = sources_of_struct(c, p);
	else
		s.first = next_by_convention(c, v->type == PROTOTYPE_FLOAT);
	switch ((enum sym_location_kind)p->kind) {
	case SYM_LOCATION_ABI: return s;
	case SYM_LOCATION_REGISTER:
		if (p->vector)
			return sources_of_vector(source_of_dwarf(p->at));
		return (struct word_sources){ source_of_dwarf(p->at), { 0 } };
	case SYM_LOCATION_PIECES:
		return (struct word_sources){ source_of_dwarf(p->at), source_of_dwarf(p->second) };
	case SYM_LOCATION_STACK:
		return (struct word_sources){ { SOURCE_STACK, PROBE_ON_STACK + p->at }, { 0 } };
	case SYM_LOCATION_NONE: break;
	}
	return (struct word_sources){ 0 };
}

/* One word of a structure, which lies on the stack whole, or in registers. */
static struct word_source word_of(const struct word_sources *s, uint32_t k)
{
	if (s->first.kind == SOURCE_STACK)
		return (struct word_source){ SOURCE_STACK, s->first.at + (int32_t)(WORD * k) };
	return k == 0 ? s->first : k == 1 ? s->second : (struct word_source){ 0 };
}

/* at: bytes from the record's header on. */
static void keep_number(struct fetch_making *m, uint32_t size, uint32_t at)
{
	add_insn(m, (struct fetch_insn){ .op = FETCH_STORE, .size = (uint8_t)size,
					 .at = (uint16_t)at });
}

/* Two bytes more than are shown: one tells that there is more, one is the NUL. */
static void keep_string(struct fetch_making *m, uint32_t at, bool bounded)
{
	add_insn(m, (struct fetch_insn){ .op = FETCH_STRING, .at = (uint16_t)at,
					 .flags = bounded ? FETCH_BOUNDED : 0,
					 .count = PROTOTYPE_STRING + 2 });
}

/* A string with a length: an object's data and length, or the two words of a view. */
static void fetch_string(struct fetch_making *m, const struct prototype_value *v,
			 const struct word_sources *s)
{
	bool object = v->form == PROTOTYPE_OBJECT;

	if (v->form != PROTOTYPE_PLAIN) {
		fetch_source(m, word_of(s, 0));
		if (object)
			fetch_loaded(m, WORD);
		add_insn(m, (struct fetch_insn){ .op = FETCH_KEEP });
	}
	fetch_source(m, word_of(s, v->form == PROTOTYPE_VIEW));
	if (object)
		fetch_loaded(m, 0);
	keep_string(m, v->at, v->form != PROTOTYPE_PLAIN);
}

/* A value's words, one behind the other. */
static void fetch_words(struct fetch_making *m, const struct prototype_value *v,
			const struct word_sources *s)
{
	for (uint32_t k = 0; WORD * k < v->bytes; k++) {
		fetch_source(m, word_of(s, k));
		keep_number(m, WORD, v->block + WORD * k);
	}
}

/* A structure's copy, and the strings that it has. */
static void fetch_struct(struct fetch_making *m, const struct prototype_value *v,
			 const struct word_sources *s)
{
	if (v->by_address) {
		fetch_source(m, s->first);
		keep_number(m, WORD, v->at);
		fetch_source(m, s->first);
		add_insn(m, (struct fetch_insn){ .op = FETCH_BLOCK, .at = v->block,
						 .count = v->bytes });
	}
	if (!v->by_address)
		fetch_words(m, v, s);
	for (uint32_t i = 1; i <= v->members; i++) {
		if (v[i].type != PROTOTYPE_STRING_AT)
			continue;
		add_insn(m, (struct fetch_insn){ .op = FETCH_RECORD, .at = v[i].pointer });
		keep_string(m, v[i].at, false);
	}
}

static void fetch_value(struct fetch_making *m, struct convention *c,
			const struct prototype_value *v, const struct sym_location *location)
{
	struct word_sources s = sources_of(c, v, location);

	if (v->type == PROTOTYPE_STRUCT) {
		fetch_struct(m, v, &s);
	} else if (v->size && v->block) {
		fetch_words(m, v, &s);
	} else if (!v->size) {
		return;
	} else if (v->type == PROTOTYPE_STRING_AT) {
		fetch_string(m, v, &s);
	} else {
		fetch_source(m, s.first);
		if (v->form == PROTOTYPE_INDIRECT)
			fetch_loaded(m, 0);
		keep_number(m, v->size, v->at);
	}
}

/* For free(), *bytes long; NULL: the function takes more than a record, or a program, has room
 * for. locations[k] is the k-th parameter's, members not counted. */
struct fetch_program *arguments_fetch(const struct prototype *p,
				      const struct sym_location *locations,
				      size_t n, bool hidden, uint32_t *bytes)
{
	struct fetch_making *m = mem_zalloc(sizeof(*m));
	struct convention c = { .numbers = hidden };
	struct fetch_program *program = NULL;

	if (p->taken <= n && p->fixed < FETCH_RECORD_MAX) {
		for (uint32_t i = 0, k = 0; i < p->n; i += 1 + p->parameters[i].members, k++)
			fetch_value(m, &c, &p->parameters[i], &locations[k]);
		*bytes = (uint32_t)(sizeof(*program) + m->n * sizeof(m->code[0]));
		if (m->n <= FETCH_INSNS_MAX) {
			program = mem_zalloc(*bytes);
			program->n = (uint16_t)m->n;
			program->fixed = (uint16_t)p->fixed;
			memcpy(program->code, m->code, m->n * sizeof(m->code[0]));
		}
	}
	free(m);
	return program;
}

/* The instructions for one argument's first word, for a condition on an object; 0: the argument
 * is nowhere. */
uint32_t arguments_fetch_value(const struct sym_arguments *known, uint32_t index,
			 struct fetch_insn out[ARGUMENT_VALUE_INSNS])
{
	struct fetch_making *m = mem_zalloc(sizeof(*m));
	struct convention c = { .numbers = known->hidden };
	char *text = mem_printf("?(%s)", known->takes);
	struct prototype p;
	uint32_t n = 0;

	if (prototype_parse(text, &p) && index < p.taken) {
		struct word_sources s = { 0 };

		for (uint32_t i = 0, k = 0; k <= index; i += 1 + p.parameters[i].members, k++)
			s = sources_of(&c, &p.parameters[i], &known->locations.at[k]);
		if (s.first.kind != SOURCE_NONE)
			fetch_source(m, s.first);
		n = m->n <= ARGUMENT_VALUE_INSNS ? m->n : 0;
		memcpy(out, m->code, n * sizeof(*out));
	}
	free(text);
	free(m);
	return n;
}

/* NULL also for a function that takes nothing: there is nothing to fetch. */
struct fetch_program *arguments_program(const char *text, const struct sym_location *locations,
					size_t n, bool hidden, uint32_t *bytes)
{
	struct fetch_program *program = NULL;
	struct prototype p;

	if (prototype_parse(text, &p) && p.takes)
		program = arguments_fetch(&p, locations, n, hidden, bytes);
	if (program && !program->n) {
		free(program);
		program = NULL;
	}
	return program;
}

/* --- plans ------------------------------------------------------------------------------------ */

/* The functions of one module about which something is asked. */
struct argument_specs {
	struct module *mod;
	const struct settings *set;
};

/* A function that cannot be hooked has no trampoline that could fetch. */
bool arguments_is_traced(const struct module *mod, uint32_t i)
{
	return (mod->selected[i] == SELECT_YES || mod->selected[i] == SELECT_GRAPH) &&
	       mod->hooks->entries[i].kind != HOOK_NONE;
}

/* The specs about one function: its arguments, its value's type, a condition. */
struct argument_spec {
	bool args, type, begins;
	const struct function_pattern *condition, *returned, *judged;
};

static struct argument_spec spec_of(const struct argument_specs *w, uint32_t i)
{
	struct argument_spec spec = { 0 };
	char name[512];

	if (!arguments_is_traced(w->mod, i))
		return spec;
	hook_function_name(w->mod->hooks, i, name, sizeof(name));
	spec.args = settings_args_of(w->set, name, w->mod->name);
	spec.type = settings_type_of(w->set, name, w->mod->name);
	spec.judged = function_list_find(&w->set->judged, name, w->mod->name);
	spec.condition = settings_condition_of(w->set, name, w->mod->name, &spec.begins);
	spec.returned = settings_returned_of(w->set, name, w->mod->name);
	spec.begins |= spec.returned != NULL;
	return spec;
}

/* Functions about which nothing is asked cost no look into the debug information. */
static bool is_spec(const struct argument_spec *spec)
{
	return spec->args || spec->type || spec->condition || spec->returned;
}

/* Index of the module's function at a vaddr, or UINT32_MAX. Functions are sorted by vaddr. A module
 * may have a hundred thousand, and the debug information asks for each. */
static uint32_t function_at(const struct hook_module *h, uint64_t vaddr)
{
	uint32_t low = 0, high = h->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (h->functions[middle].vaddr < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < h->n && h->functions[low].vaddr == vaddr ? low : UINT32_MAX;
}

/* Counts the module's functions that are asked about; returns how many. */
static uint32_t count_specs(const struct argument_specs *w, struct argument_count *count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->mod->hooks->n; i++) {
		const struct argument_spec spec = spec_of(w, i);

		count->args += spec.args;
		count->types += spec.type;
		n += is_spec(&spec);
	}
	return n;
}

/* The first module's name is told; a sentence with all of them would be too long. */
static void count_unknown(struct argument_count *count, const char *module, uint32_t functions)
{
	if (!functions)
		return;
	if (!count->modules++)
		snprintf(count->module, sizeof(count->module), "%s", module);
	count->unknown += functions;
}

/* Sums of several processes' plans. The first fault is kept, as the one that the user reads. */
void argument_count_add(struct argument_count *total, const struct argument_count *more)
{
	if (!total->modules)
		memcpy(total->module, more->module, sizeof(total->module));
	total->asked_args |= more->asked_args;
	total->asked_types |= more->asked_types;
	total->args += more->args;
	total->types += more->types;
	total->unknown += more->unknown;
	total->modules += more->modules;
	if (!total->unfit)
		total->fault = more->fault;
	objects_count_add(&total->objects, &more->objects);
	total->conditional += more->conditional;
	total->unfit += more->unfit;
}

/* sym_wanted */
static bool is_wanted(void *context, uint64_t vaddr)
{
	const struct argument_specs *w = context;
	uint32_t i = function_at(w->mod->hooks, vaddr);
	struct argument_spec spec = { 0 };

	if (i != UINT32_MAX)
		spec = spec_of(w, i);
	return is_spec(&spec);
}

/* True if functions are named whose arguments are asked for: "*" names none. */
static bool names_functions(const struct settings *set)
{
	for (size_t i = 0; i < set->args.patterns.n; i++)
		if (strcmp(set->args.patterns.at[i].text, "*") != 0)
			return true;
	return false;
}

/* The locations for a named function without debug information: the registers in which
 * the convention passes arguments, whatever is in them. */
void arguments_plan_registers(struct argument_plan *plan, const char *returns)
{
	static const uint8_t numbers[] = PROBE_CALLED_WITH;
	struct sym_location locations[sizeof(numbers)] = { 0 };
	char *takes = mem_strdup(""), *more;

	for (size_t i = 0; i < sizeof(numbers); i++) {
		locations[i].kind = SYM_LOCATION_ABI;
		more = mem_printf("%s%sarg%zu=u8", takes, i ? "," : "", i + 1);
		free(takes);
		takes = more;
	}
	plan->prototype = mem_printf("%s(%s)", returns, takes);
	plan->program = arguments_program(plan->prototype, locations, sizeof(numbers), false,
					  &plan->bytes);
	free(takes);
}

/* A function that may leave its stack stays hooked all the same: the agent has to see it.
 * (longjmp() and its kin: without the hook the calls below would never end.) */
void arguments_untrace(struct module *mod, uint32_t i)
{
	mod->selected[i] = mod->hooks->entries[i].leaves ? SELECT_NONLOCAL : SELECT_NO;
}

/* Takes a function out whose condition cannot be told from its arguments: it would be recorded
 * against the user's will. */
static void refuse_condition(struct module *mod, uint32_t i, bool begins)
{
	if (begins)
		mod->selected[i] = SELECT_YES;
	else
		arguments_untrace(mod, i);
}

/* Returned values decide: the returns have to be records of their own. */
static int check_returned(const struct argument_specs *w, uint32_t i, const char *name,
			  const struct argument_spec *spec, const struct sym_arguments *known,
			  struct err *err)
{
	const struct function_pattern *p = spec->returned;
	struct filter_program *program;
	int r;

	if (!w->set->tracer->exits)
		return condition_error(p, 0, err, "what %s returns is not recorded by the tracer "
				       "`%s`, but by function_graph", name, w->set->tracer->name);
	if (w->set->tracing_thresh_ns)
		return condition_error(p, 0, err, "with a threshold calls are recorded at their "
				       "ends, and cannot be selected by what %s returns", name);
	if (w->mod->hooks->entries[i].entry_only)
		return condition_error(p, 0, err, "the returns of %s are not followed", name);
	r = condition_compile_returned(p, name, known ? known->returns : NULL, &program, err);
	if (r == 0)
		free(program);
	return r;
}

/* A condition that does not fit the manual's names is tried with arg1 to arg6, which every function
 * without debug information has. */
static int compile_terms(const char *name, const struct argument_spec *spec,
			 const struct sym_arguments *known, bool manual, struct condition *out,
			 struct err *err)
{
	const struct function_pattern *p = spec->condition;
	struct err ignored;
	int r = condition_compile(p, name, known, spec->begins, out, err);

	if (r < 0 && manual && !condition_compile(p, name, NULL, spec->begins, out, &ignored))
		r = 0;
	return r;
}

/* Where control leaves a stack the agent has to be told of every call. */
static int compile_condition(const struct argument_specs *w, uint32_t i,
			     const struct argument_spec *spec, const struct sym_arguments *known,
			     bool manual, struct condition *out, struct err *err)
{
	const struct function_pattern *p = spec->returned ? spec->returned : spec->condition;
	char name[512];
	int r = 0;

	hook_function_name(w->mod->hooks, i, name, sizeof(name));
	if (w->mod->hooks->entries[i].leaves)
		return condition_error(p, 0, err, "calls of %s cannot be left out, since it may "
				       "leave its stack", name);
	if (w->mod->hooks->language == SYM_LANG_GO)
		return condition_error(p, 0, err, "what %s takes and returns is not known, since "
				       "it is written in Go", name);
	if (spec->returned)
		r = check_returned(w, i, name, spec, known, err);
	return r < 0 || !spec->condition
		       ? r
		       : compile_terms(name, spec, known, manual, out, err);
}

/* False: the function is not traced, because its condition does not fit. */
static bool plan_condition(const struct argument_specs *w, uint32_t i,
			   const struct argument_spec *spec, const struct sym_arguments *known,
			   bool manual, struct argument_count *count, struct condition *out)
{
	struct err err;

	if (!spec->condition && !spec->returned)
		return true;
	if (compile_condition(w, i, spec, known, manual, out, &err) == 0) {
		count->conditional++;
		return true;
	}
	if (!count->unfit++)
		count->fault = err;
	refuse_condition(w->mod, i, spec->begins);
	/* Inside of a graph it is recorded, with its arguments. */
	return spec->begins;
}

/* The prototype, from the C library's manual, of a function without debug information; NULL: the
 * list has none. */
static const char *manual_prototype(const struct argument_specs *w, uint32_t i)
{
	char name[512];

	hook_function_name(w->mod->hooks, i, name, sizeof(name));
	return known_functions_prototype(
		w->mod->hooks->functions[i].plt ? NULL : w->mod->path, name);
}

/* Makes what the debug information would tell of the manual's prototype: parameters are where the
 * convention has them. False: the list has none. free_manual() frees *out. */
static bool take_manual(const struct argument_specs *w, uint32_t i, struct sym_arguments *out)
{
	const char *manual = manual_prototype(w, i), *takes = manual ? strchr(manual, '(') : NULL;
	struct prototype p;

	*out = (struct sym_arguments){ 0 };
	if (!manual || !prototype_parse(manual, &p))
		return false;
	out->returns = mem_strndup(manual, (size_t)(takes - manual));
	out->takes = mem_strndup(takes + 1, strlen(takes + 1) - 1);
	for (uint32_t k = 0; k < p.taken; k++)
		*vec_add(&out->locations) = (struct sym_location){ .kind = SYM_LOCATION_ABI };
	return true;
}

static void free_manual(struct sym_arguments *a)
{
	free(a->returns);
	free(a->takes);
	vec_free(&a->locations);
}

/* known: NULL: neither the debug information nor the manual tells. A prototype is needed even then,
 * if values of other functions are asked for: this one's is not. */
static void plan_prototype(const struct argument_specs *w, const struct argument_spec *spec,
			   const struct sym_arguments *known, struct argument_plan *plan)
{
	bool type = spec->type || spec->returned;
	const char *returns = settings_types(w->set) && !type ? "-" :
			      known && type		      ? known->returns : "?";
	bool args = spec->args && known;

	if (spec->args && !known && names_functions(w->set) &&
	    w->mod->hooks->language != SYM_LANG_GO) {
		arguments_plan_registers(plan, returns);
		return;
	}
	if (!args && *returns == '?' && !plan->condition.filter && !plan->returned)
		return;
	plan->prototype = args ? mem_printf("%s(%s)", returns, known->takes) : mem_strdup(returns);
	if (args)
		plan->program = arguments_program(plan->prototype, known->locations.at,
						  known->locations.n, known->hidden, &plan->bytes);
}

/* Whether instances can judge calls of the function: they compile the condition by its prototype,
 * too. Of several instances' conditions the last one is looked at. */
static void count_judged(const struct argument_specs *w, uint32_t i,
			 const struct function_pattern *p, const char *prototype,
			 struct argument_count *count)
{
	struct filter_program *program;
	struct err err;
	char name[512];

	hook_function_name(w->mod->hooks, i, name, sizeof(name));
	if (condition_compile_recorded(p, name, prototype, &program, &err) == 0) {
		count->conditional++;
		free(program);
	} else if (!count->unfit++) {
		count->fault = err;
	}
}

/* The plan is kept only if there is a prototype to be shown; whatever else it has goes with it.
 * manual: what is known is the manual's. Functions come in the order of their numbers: so the list
 * is sorted for arguments_of(). */
static void plan_known(const struct argument_specs *w, uint32_t i,
		       const struct sym_arguments *known, bool manual,
		       struct argument_count *count)
{
	const struct argument_spec spec = spec_of(w, i);
	struct argument_plan plan = { .function = i };

	if (!plan_condition(w, i, &spec, known, manual, count, &plan.condition))
		return;
	if (spec.returned && w->mod->selected[i] == SELECT_GRAPH)
		plan.returned = mem_strdup(spec.returned->returned);
	plan.judged = spec.judged;
	plan_prototype(w, &spec, known, &plan);
	if (spec.judged)
		count_judged(w, i, spec.judged, plan.prototype, count);
	if (plan.prototype)
		*vec_add(&w->mod->arguments.at) = plan;
}

/* from_debug NULL: the debug information does not tell. The manual is asked for what somebody wants
 * to know. */
static void plan_function(const struct argument_specs *w, uint32_t i,
			  const struct sym_arguments *from_debug, struct argument_count *count)
{
	const struct argument_spec spec = spec_of(w, i);
	struct sym_arguments manual = { 0 };
	bool is = !from_debug && is_spec(&spec) && take_manual(w, i, &manual);

	plan_known(w, i, is ? &manual : from_debug, is, count);
	free_manual(&manual);
}

/* The module's debug information; an empty list if it cannot be read. */
static void read_arguments(const struct modules *m, struct argument_specs *w,
			   struct sym_arguments_list *out)
{
	struct sym_module *file;
	struct err ignored;

	*out = (struct sym_arguments_list){ 0 };
	if (w->mod->fd < 0 ||
	    sym_open_fd(w->mod->fd, w->mod->path, m->root ? m->root : "", &file, &ignored))
		return;
	if (sym_arguments_read(file, is_wanted, w, w->set->args_depth, out, &ignored))
		*out = (struct sym_arguments_list){ 0 };
	sym_close(file);
}

/* Functions of the specs that need no debug information. */
static uint32_t count_manual(const struct argument_specs *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->mod->hooks->n; i++) {
		const struct argument_spec spec = spec_of(w, i);

		n += is_spec(&spec) && manual_prototype(w, i);
	}
	return n;
}

/* mod->hooks and mod->selected are there: arguments are the last step of a module's plan. */
static void plan_module(struct modules *m, struct module *mod, const struct settings *set)
{
	struct argument_specs w = { mod, set };
	struct sym_arguments_list list;
	uint32_t wanted = count_specs(&w, &m->asked_for);

	if (!wanted && !settings_types(set))
		return;
	read_arguments(m, &w, &list);
	if (wanted && !list.has_dwarf)
		count_unknown(&m->asked_for, mod->name, wanted - count_manual(&w));
	for (uint32_t i = 0; i < mod->hooks->n; i++)
		if (arguments_is_traced(mod, i))
			plan_function(&w, i,
				      sym_arguments_at(&list, mod->hooks->functions[i].vaddr),
				      &m->asked_for);
	sym_arguments_free(&list);
}

/* Functions that were found, and those that were not, are summed up in m->asked_for, which the
 * closing summary tells. */
void arguments_plan(struct modules *m, const struct settings *set)
{
	m->asked_for = (struct argument_count){ .asked_args = settings_args(set),
					     .asked_types = !set->follows && settings_types(set) };
	if (!set->follows && !settings_args(set) && !settings_types(set) &&
	    !settings_conditions(set))
		return;
	for (size_t i = 0; i < m->at.n; i++) {
		if (!m->at.at[i].hooks || !m->at.at[i].selected)
			continue;
		if (set->follows)
			objects_plan(m, &m->at.at[i], set->follows);
		else
			plan_module(m, &m->at.at[i], set);
	}
}

/* NULL: nothing is fetched for the function. Plans are sorted by function. */
const struct argument_plan *arguments_of(const struct module *mod, uint32_t function)
{
	const argument_plans *p = &mod->arguments;
	size_t i = vec_bisect(&p->at, plan, plan->function < function);

	return i < p->at.n && p->at.at[i].function == function ? &p->at.at[i] : NULL;
}

/* The exit code that the function's stubs get: a floating-point number is in another register,
 * other values are in several, and a string or a structure has to be copied while it is there. */
uint32_t arguments_returned_kind(const struct argument_plan *p, const struct settings *set)
{
	static const uint8_t strings[PROTOTYPE_INDIRECT + 1] = {
		[PROTOTYPE_PLAIN] = RETURNED_STRING, [PROTOTYPE_OBJECT] = RETURNED_OBJECT,
		[PROTOTYPE_VIEW] = RETURNED_VIEW, [PROTOTYPE_INDIRECT] = RETURNED_WORD,
	};
	struct prototype prototype;

	if (!p || !p->prototype || !settings_values(set) ||
	    !prototype_parse(p->prototype, &prototype))
		return RETURNED_WORD;
	if (prototype.returns.type == PROTOTYPE_WHOLE)
		return prototype.whole.memory ? RETURNED_MEMORY : RETURNED_REGISTERS;
	if (prototype.returns.type == PROTOTYPE_STRING_AT)
		return strings[prototype.returns.form];
	return prototype.returns.type == PROTOTYPE_FLOAT ? RETURNED_FLOAT : RETURNED_WORD;
}

/* Where the condition lies in the site. Programs are whole words. */
static uint64_t condition_at(const struct argument_plan *p)
{
	return offsetof(struct arguments_site, program) +
	       (p->program ? p->bytes : sizeof(struct fetch_program));
}

uint64_t arguments_site_bytes(const struct argument_plan *p)
{
	if (!p || (!p->program && !p->condition.filter))
		return 0;
	return condition_at(p) + (p->condition.filter ? condition_bytes(&p->condition) : 0);
}

uint64_t arguments_filter_at(const struct argument_plan *p)
{
	return condition_at(p) + condition_filter_at(&p->condition);
}

/* to has arguments_site_bytes() bytes. id is the function's number in records. */
void arguments_site_write(const struct argument_plan *p, uint32_t id, bool begins, void *to)
{
	struct arguments_site *s = to;

	*s = (struct arguments_site){ .function = id, .begins = begins };
	if (p->program) {
		s->program_bytes = p->bytes;
		memcpy(&s->program, p->program, p->bytes);
	}
	if (p->condition.filter) {
		s->condition = (uint32_t)condition_at(p);
		condition_write(&p->condition, (uint8_t *)to + s->condition);
	}
}

void arguments_free(argument_plans *plans)
{
	for (size_t i = 0; i < plans->at.n; i++) {
		free(plans->at.at[i].prototype);
		free(plans->at.at[i].program);
		condition_free(&plans->at.at[i].condition);
		free(plans->at.at[i].returned);
	}
	vec_free(&plans->at);
}

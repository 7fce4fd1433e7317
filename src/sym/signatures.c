/* SPDX-License-Identifier: MIT */
/* Reads the signatures of a module's functions from its debug information, in one walk
 * (dwarf_walk.h), on the caller's thread. Functions are noted while a unit is walked, and written
 * at its end, when the scopes of all its names are known. A file that is malformed fails as a
 * whole; a type that makes no sense is written as "...". */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "sym/dwarf_walk.h"
#include "sym/signatures.h"
#include "sym/type_name.h"

#define PARAMETERS_MOST 256
#define CHILDREN_MOST 4096  /* of a function, looked at for parameters, which come first */
#define ORIGINS_MOST 4      /* a clone of an inlined copy of a declared function */
#define LONGEST 4096        /* of a signature, about */
#define WORK_A_STEP 16      /* in the walk's measure: a step looks up a type and writes it */
#define WORK_A_CHILD 8

struct signature_walk {
	struct sym_signatures *out;
	struct type_scopes scopes;    /* of this unit */
	VEC(Dwarf_Die) functions;     /* of this unit, with code */
};

/* dwarf_visitor: scopes and functions are of one unit each. */
static void begin_unit(struct dwarf_walk *walk, Dwarf_Die *unit, Dwarf_Die *lines_of, void *context)
{
	struct signature_walk *w = context;

	(void)walk, (void)unit, (void)lines_of;
	w->scopes.at.n = w->functions.n = 0;
}

/* Names in the unit itself have no scope. */
static void see_die(struct dwarf_walk *walk, const struct dwarf_seen *seen, void *context)
{
	struct signature_walk *w = context;
	int holder = dwarf_tag(seen->parent);

	if (holder == DW_TAG_namespace || holder == DW_TAG_structure_type ||
	    holder == DW_TAG_class_type || holder == DW_TAG_union_type)
		type_scopes_note(&w->scopes, seen->die, seen->parent);
	if (seen->tag == DW_TAG_subprogram && dwarf_walk_has_code(seen->die) &&
	    dwarf_walk_spend(walk, dwarf_walk_attributes(walk, seen->die)))
		*vec_add(&w->functions) = *seen->die;
}

/* The DIE of which this one is the code: a declaration in a class, or what it was cloned from. */
static bool origin_of(Dwarf_Die *die, Dwarf_Die *origin)
{
	Dwarf_Attribute attr;

	return dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attr), origin) ||
	       dwarf_formref_die(dwarf_attr(die, DW_AT_specification, &attr), origin);
}

/* The name's scopes are those of the declaration at the end of the chain. */
static char *name_of(const struct type_scopes *scopes, Dwarf_Die *function)
{
	Dwarf_Die die = *function, origin;

	for (int i = 0; i < ORIGINS_MOST && origin_of(&die, &origin); i++)
		die = origin;
	return type_scoped_name(scopes, &die);
}

/* Declares the parameter around its name; without one, its type stands alone. */
static void add_parameter(struct signature_walk *w, Dwarf_Die *die, struct sym_signature *s)
{
	const char *name = dwarf_diename(die);

	*vec_add(&s->parameters) = (struct sym_parameter){
		.name = name ? mem_strdup(name) : NULL,
		.declared = type_declare(&w->scopes, die, name ? name : ""),
	};
}

/* True: there are some. */
static bool has_parameters(struct signature_walk *w, Dwarf_Die *function, struct sym_signature *s)
{
	Dwarf_Die child;
	int r = dwarf_child(function, &child);

	for (unsigned n = 0; r == 0 && n < CHILDREN_MOST && s->parameters.n < PARAMETERS_MOST;
	     n++, r = type_next(&w->scopes, &child)) {
		s->variadic |= dwarf_tag(&child) == DW_TAG_unspecified_parameters;
		if (dwarf_tag(&child) == DW_TAG_formal_parameter)
			add_parameter(w, &child, s);
	}
	return s->parameters.n || s->variadic;
}

/* Reads the parameters of the function's own DIE, or else of its declaration. */
static void read_parameters(struct signature_walk *w, Dwarf_Die *function, struct sym_signature *s)
{
	Dwarf_Die die = *function, origin;

	for (int i = 0; !has_parameters(w, &die, s) && i < ORIGINS_MOST && origin_of(&die, &origin);
	     i++)
		die = origin;
}

/* "NAME(DECLARED, DECLARED, ...)". */
static char *call_of(const struct sym_signature *s)
{
	char *all = mem_printf("%s(", s->name), *grown;

	for (size_t i = 0; i < s->parameters.n && strlen(all) < LONGEST; i++) {
		grown = mem_printf("%s%s%s", all, i ? ", " : "", s->parameters.at[i].declared);
		free(all);
		all = grown;
	}
	grown = mem_printf("%s%s)", all,
			   s->variadic ? s->parameters.n ? ", ..." : "..." :
			   s->parameters.n ? "" : "void");
	free(all);
	return grown;
}

/* Adds the function's signature; a function without a name or an address has none. */
static void write_signature(struct signature_walk *w, Dwarf_Die *function)
{
	struct sym_signature s = { .name = name_of(&w->scopes, function) };
	Dwarf_Addr at;
	char *call;

	if (!s.name || !dwarf_walk_entry(function, &at)) {
		free(s.name);
		return;
	}
	s.vaddr = at;
	read_parameters(w, function, &s);
	call = call_of(&s);
	s.declared = type_declare(&w->scopes, function, call);
	free(call);
	*vec_add(&w->out->at) = s;
}

/* dwarf_visitor: all names of the unit are known. When the walk's work is used up, the functions
 * that are left stay without a signature. */
static void end_unit(struct dwarf_walk *walk, void *context)
{
	struct signature_walk *w = context;

	for (size_t i = 0; i < w->functions.n; i++) {
		w->scopes.taken = w->scopes.passed = 0;
		write_signature(w, &w->functions.at[i]);
		if (!dwarf_walk_spend(walk, WORK_A_STEP * w->scopes.taken +
						    WORK_A_CHILD * w->scopes.passed))
			return;
	}
}

static int by_vaddr(const void *a, const void *b)
{
	const struct sym_signature *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

void sym_signature_free(struct sym_signature *s)
{
	for (size_t i = 0; i < s->parameters.n; i++) {
		free(s->parameters.at[i].name);
		free(s->parameters.at[i].declared);
	}
	vec_free(&s->parameters);
	free(s->name);
	free(s->declared);
}

/* Several units may claim an address: the linker folded their functions, or dropped them (0). */
static void keep_one_each(struct sym_signatures *out)
{
	size_t kept = 0;

	if (out->at.n)
		qsort(out->at.at, out->at.n, sizeof(out->at.at[0]), by_vaddr);
	for (size_t i = 0; i < out->at.n; i++) {
		struct sym_signature *s = &out->at.at[i];

		if (!s->vaddr || (kept && out->at.at[kept - 1].vaddr == s->vaddr))
			sym_signature_free(s);
		else
			out->at.at[kept++] = *s;
	}
	out->at.n = kept;
}

int sym_signatures_read(const struct sym_module *m, struct sym_signatures *out, struct err *err)
{
	struct signature_walk w = { .out = out };
	const struct dwarf_visitor visitor = { &w, see_die, begin_unit, end_unit };
	int r;

	*out = (struct sym_signatures){ 0 };
	r = dwarf_walk(m, &visitor, &out->has_dwarf, &out->left_out, err);
	keep_one_each(out);
	if (r)
		sym_signatures_free(out);
	vec_free(&w.scopes.at);
	vec_free(&w.functions);
	return r;
}

const struct sym_signature *sym_signature_at(const struct sym_signatures *s, uint64_t vaddr)
{
	size_t i = vec_bisect(&s->at, known, known->vaddr < vaddr);

	return i < s->at.n && s->at.at[i].vaddr == vaddr ? &s->at.at[i] : NULL;
}

void sym_signatures_free(struct sym_signatures *s)
{
	for (size_t i = 0; i < s->at.n; i++)
		sym_signature_free(&s->at.at[i]);
	vec_free(&s->at);
	free(s->left_out);
	*s = (struct sym_signatures){ 0 };
}

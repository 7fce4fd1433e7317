/* SPDX-License-Identifier: MIT */
/* Writes types as C declares them, from inside out: a declarator grows around the name, and the
 * type at the end of the chain stands before it. signatures.c calls it while it walks; owns
 * nothing. A file's types may be chained for ever or be of any length: DEEPEST, LONGEST and
 * STEPS_MOST bound that. Any thread. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sym/dwarf_type.h"
#include "sym/type_name.h"

#define PASSED_MOST 256     /* DIEs below one that is passed over: types in functions have fewer */
#define PASSED_LEVELS 4
#define DEEPEST 24
#define LONGEST 512
#define STEPS_MOST 400 /* of a declaration: pointers to functions branch */

void type_scopes_note(struct type_scopes *s, const Dwarf_Die *die, Dwarf_Die *holder)
{
	*vec_add(&s->at) = (struct type_scope){ die->addr, *holder };
}

/* Returns the DIE that holds this one. The walk notes DIEs in the order of their addresses, so that
 * they can be bisected. NULL: the unit itself holds it. */
static Dwarf_Die *holder_of(const struct type_scopes *s, const Dwarf_Die *die)
{
	size_t i = vec_bisect(&s->at, scope, (const char *)scope->die < (const char *)die->addr);

	return i < s->at.n && s->at.at[i].die == die->addr ? &s->at.at[i].holder : NULL;
}

/* Takes over `grown`, unless it is too long: then what it grew from stays. */
static char *bounded(char *was, char *grown)
{
	if (strlen(grown) <= LONGEST) {
		free(was);
		return grown;
	}
	free(grown);
	return was;
}

static bool is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type;
}

/* Anonymous namespaces and inline ones (libstdc++'s __cxx11) are not written. */
static bool is_written(Dwarf_Die *scope)
{
	Dwarf_Attribute attr;
	bool exported = false;

	dwarf_formflag(dwarf_attr(scope, DW_AT_export_symbols, &attr), &exported);
	return dwarf_diename(scope) && !exported;
}

char *type_scoped_name(const struct type_scopes *s, Dwarf_Die *die)
{
	const char *own = dwarf_diename(die);
	Dwarf_Die *holder = holder_of(s, die);
	char *name;

	if (!own)
		return NULL;
	name = mem_printf("%.*s", LONGEST, own);
	for (int depth = 0; holder && is_scope(dwarf_tag(holder)) && depth < DEEPEST; depth++) {
		if (is_written(holder))
			name = bounded(name, mem_printf("%.*s::%s", LONGEST + 1,
							dwarf_diename(holder), name));
		holder = holder_of(s, holder);
	}
	return name;
}

/* False: the DIE has no type, which is void. */
static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attr), type) != NULL;
}

/* Whether libdw has to read all that the DIE holds to find the next one: clang's files say nowhere
 * where that is. */
static bool is_passed_slowly(Dwarf_Die *die)
{
	return dwarf_haschildren(die) > 0 && !dwarf_hasattr(die, DW_AT_sibling);
}

/* Whether the DIE holds no more than *left others, which are counted down, in a few levels. */
static bool holds_few(Dwarf_Die *die, unsigned *left, int levels)
{
	Dwarf_Die child;
	int r = dwarf_child(die, &child);

	for (; r == 0 && *left; r = dwarf_siblingof(&child, &child)) {
		--*left;
		if (is_passed_slowly(&child) && (!levels || !holds_few(&child, left, levels - 1)))
			return false;
	}
	return r > 0;
}

int type_next(struct type_scopes *s, Dwarf_Die *child)
{
	unsigned left = PASSED_MOST;

	s->passed++;
	/* A malformed file could make the reading long. */
	if (is_passed_slowly(child)) {
		if (!holds_few(child, &left, PASSED_LEVELS))
			return -1;
		s->passed += PASSED_MOST - left;
	}
	return dwarf_siblingof(child, child);
}

static char *declare(struct type_scopes *s, Dwarf_Die *die, const char *inner, int depth);

/* "int, char *" of what a pointer to a function takes. Each child is a step, whatever it is: many
 * functions may have a type with a million of them. */
static char *parameters_of(struct type_scopes *s, Dwarf_Die *function, int depth)
{
	char *all = mem_strdup("");
	Dwarf_Die child;
	int n = 0, r = dwarf_child(function, &child);

	for (; r == 0 && s->steps; r = type_next(s, &child)) {
		int tag = dwarf_tag(&child);
		char *one;

		s->steps--;
		if (tag != DW_TAG_formal_parameter && tag != DW_TAG_unspecified_parameters)
			continue;
		one = tag == DW_TAG_formal_parameter ? declare(s, &child, "", depth)
						     : mem_strdup("...");
		all = bounded(all, mem_printf("%s%s%s", all, n++ ? ", " : "", one));
		free(one);
	}
	if (n)
		return all;
	free(all);
	return mem_strdup("void");
}

/* "[4][2]"; "[]" where the length is not a constant. */
static char *bounds_of(struct type_scopes *s, Dwarf_Die *array)
{
	char *all = mem_strdup("");
	Dwarf_Die child;
	int r = dwarf_child(array, &child);

	for (int n = 0; r == 0 && n < DEEPEST; n++, r = type_next(s, &child)) {
		Dwarf_Attribute attr;
		Dwarf_Word count;

		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (!dwarf_formudata(dwarf_attr(&child, DW_AT_count, &attr), &count))
			all = bounded(all, mem_printf("%s[%lu]", all, (unsigned long)count));
		else if (!dwarf_formudata(dwarf_attr(&child, DW_AT_upper_bound, &attr), &count))
			all = bounded(all, mem_printf("%s[%lu]", all, (unsigned long)count + 1));
		else
			all = bounded(all, mem_printf("%s[]", all));
	}
	return all;
}

/* True if a declarator that begins with `*` needs parentheses around it. */
static bool binds_tighter(int tag)
{
	return tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type;
}

/* "T NAME"; no space behind a star, or before nothing. */
static char *named(const char *prefix, const char *type, const char *inner)
{
	return mem_printf("%s%s%s%s", prefix, type, *inner ? " " : "", inner);
}

/* gcc's va_list, as a parameter, points to a structure that has no tag in C. */
static bool is_va_list(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return name && !strcmp(name, "__va_list_tag");
}

/* Around a pointer or a reference. */
static char *point(struct type_scopes *s, Dwarf_Die *type, const char *mark,
		   const char *inner, int depth)
{
	Dwarf_Die target;
	bool known = type_of(type, &target), tight = known && binds_tighter(dwarf_tag(&target));
	char *grown = mem_printf("%s%s%s%s", tight ? "(" : "", mark, inner, tight ? ")" : "");
	char *whole = known && is_va_list(&target) ? named("", "va_list", inner)
						   : declare(s, type, grown, depth);

	free(grown);
	return whole;
}

/* "const int x", but "int *const x". */
static char *qualify(struct type_scopes *s, Dwarf_Die *type, const char *word,
		     const char *inner, int depth)
{
	Dwarf_Die target;
	char *grown, *whole;

	if (type_of(type, &target) && dwarf_type_is_pointer(&target)) {
		grown = named("", word, inner);
		whole = declare(s, type, grown, depth);
		free(grown);
		return whole;
	}
	whole = declare(s, type, inner, depth);
	/* In whatever order the file has them, const stands first. */
	if (!strncmp(whole, "const ", 6))
		return bounded(whole, mem_printf("const %s%s", word, whole + 5));
	return bounded(whole, mem_printf("%s %s", word, whole));
}

/* C's keyword before a tag; C++ has none, and there a unit has scopes or mangled names. */
static const char *keyword_of(Dwarf_Die *type, int tag)
{
	Dwarf_Die unit;
	int language = dwarf_diecu(type, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;
	bool c = language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
		 language == DW_LANG_C11;

	if (!c)
		return "";
	return tag == DW_TAG_structure_type   ? "struct " :
	       tag == DW_TAG_union_type	      ? "union " :
	       tag == DW_TAG_enumeration_type ? "enum " :
						"";
}

/* Compilers name C's types in full; programmers, and gdb, do not. */
static const struct { const char *full, *usual; } usual_names[] = {
	{ "long int", "long" },
	{ "long unsigned int", "unsigned long" },
	{ "long long int", "long long" },
	{ "long long unsigned int", "unsigned long long" },
	{ "short int", "short" },
	{ "short unsigned int", "unsigned short" },
	{ "_Bool", "bool" },
};

static const char *usual_name(const char *full)
{
	for (size_t i = 0; i < sizeof(usual_names) / sizeof(usual_names[0]); i++)
		if (!strcmp(full, usual_names[i].full))
			return usual_names[i].usual;
	return full;
}

/* The end of a chain: the type's name, or {...} for a type without one. */
static char *name_of(struct type_scopes *s, Dwarf_Die *type, int tag, const char *inner)
{
	char *name = type_scoped_name(s, type);
	char *whole = named(keyword_of(type, tag), name ? usual_name(name) : "{...}", inner);

	free(name);
	return whole;
}

/* The bounds stand behind the declarator; the type of an element goes on around both. */
static char *around_array(struct type_scopes *s, Dwarf_Die *type, const char *inner,
			  int depth)
{
	char *bounds = bounds_of(s, type), *grown = mem_printf("%s%s", inner, bounds);
	char *whole = declare(s, type, grown, depth);

	free(bounds);
	free(grown);
	return whole;
}

/* The parameters stand behind the declarator; the returned type goes on around both. */
static char *around_function(struct type_scopes *s, Dwarf_Die *type, const char *inner,
			     int depth)
{
	char *takes = parameters_of(s, type, depth), *grown = mem_printf("%s(%s)", inner, takes);
	char *whole = declare(s, type, grown, depth);

	free(takes);
	free(grown);
	return whole;
}

/* Grows `inner` by one type of the chain. The caller frees the text, here and below. */
static char *declare_type(struct type_scopes *s, Dwarf_Die *type, const char *inner,
			  int depth)
{
	int tag = dwarf_tag(type);

	switch (tag) {
	case DW_TAG_pointer_type: return point(s, type, "*", inner, depth);
	case DW_TAG_reference_type: return point(s, type, "&", inner, depth);
	case DW_TAG_rvalue_reference_type: return point(s, type, "&&", inner, depth);
	case DW_TAG_const_type: return qualify(s, type, "const", inner, depth);
	case DW_TAG_volatile_type: return qualify(s, type, "volatile", inner, depth);
	case DW_TAG_restrict_type: return qualify(s, type, "restrict", inner, depth);
	case DW_TAG_atomic_type: return qualify(s, type, "_Atomic", inner, depth);
	case DW_TAG_array_type: return around_array(s, type, inner, depth);
	case DW_TAG_subroutine_type: return around_function(s, type, inner, depth);
	}
	return name_of(s, type, tag, inner);
}

static char *declare(struct type_scopes *s, Dwarf_Die *die, const char *inner, int depth)
{
	Dwarf_Die type;

	if (depth > DEEPEST || !s->steps || strlen(inner) > LONGEST)
		return mem_strdup("...");
	s->steps--;
	if (!type_of(die, &type))
		return named("", "void", inner);
	return declare_type(s, &type, inner, depth + 1);
}

char *type_declare(struct type_scopes *s, Dwarf_Die *die, const char *declared)
{
	char *whole;

	s->steps = STEPS_MOST;
	whole = declare(s, die, declared, 0);
	s->taken += STEPS_MOST - s->steps;
	return whole;
}

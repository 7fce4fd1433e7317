/* SPDX-License-Identifier: MIT */
/* Writes the prototypes of image/known_functions.h as C declares them. cmd/list.c calls it, on
 * brace's only thread. No state. Nothing fails: a type that no such function has is "...". */
#include "ui/known_signature.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/prototype.h"
#include "image/known_functions.h"

static const char *number_type(const struct prototype_value *v)
{
	bool sign = v->type == PROTOTYPE_SIGNED;

	switch (v->size) {
	case 1: return sign ? "signed char " : "unsigned char ";
	case 2: return sign ? "short " : "unsigned short ";
	case 4: return sign ? "int " : "unsigned int ";
	default: return sign ? "long " : "unsigned long ";
	}
}

/* The part before the name. */
static const char *type_before(const struct prototype_value *v)
{
	switch ((enum prototype_type)v->type) {
	case PROTOTYPE_VOID: return "void ";
	case PROTOTYPE_SIGNED: case PROTOTYPE_UNSIGNED: return number_type(v);
	case PROTOTYPE_ENUM: return "int "; /* a number that has names */
	case PROTOTYPE_POINTER: return "void *";
	case PROTOTYPE_STRING_AT: return "const char *";
	default: return "... ";
	}
}

/* Appends a parameter to the list, and to the text of all so far, which it replaces. */
static char *add_parameter(struct sym_signature *s, const struct prototype_value *v, char *so_far)
{
	struct sym_parameter p = { mem_printf("%.*s", (int)v->name_bytes, v->name), NULL };
	char *all;

	p.declared = mem_printf("%s%s", type_before(v), p.name);
	all = mem_printf("%s%s%s", so_far, s->parameters.n ? ", " : "", p.declared);
	free(so_far);
	*vec_add(&s->parameters) = p;
	return all;
}

bool known_signature(const char *path, const char *name, struct sym_signature *out)
{
	const char *prototype = known_functions_prototype(path, name);
	struct prototype p;
	char *parameters;

	if (!prototype || !prototype_parse(prototype, &p))
		return false;
	*out = (struct sym_signature){ .name = mem_strdup(name) };
	parameters = mem_strdup("");
	for (uint32_t i = 0; i < p.n; i++)
		parameters = add_parameter(out, &p.parameters[i], parameters);
	out->declared = mem_printf("%s%s(%s)", type_before(&p.returns), name,
				   p.n ? parameters : "void");
	free(parameters);
	return true;
}

/* SPDX-License-Identifier: MIT */
/* Decides by debug information whether C++ passes a class by value or by its address: the Itanium
 * C++ ABI, 3.1.2.3, "non-trivial for the purposes of calls". Called by argument_types.c and
 * argument_returned.c, on their thread; no state. clang says which (DW_AT_calling_convention); g++
 * 12 does not, and its methods tell. The classes that are looked at are bounded. Nothing fails. */
#include "sym/class_copying.h"

#include <dwarf.h>
#include <stdbool.h>
#include <string.h>

#include "sym/dwarf_type.h"

#define CHILDREN_MOST 1024 /* of a class: methods, too */
#define CLASSES_MOST 256   /* members within members */
#define DEEPEST 24
#define BY_REFERENCE 4     /* DW_CC_pass_by_reference */

/* The constructors of a class that copy, or those that move, as far as they are declared. */
struct constructors {
	bool declared, usable; /* one is; one that is not deleted */
	bool by_user;          /* one that the compiler did not add */
};

/* The constructors and destructors that were found of one class. */
struct class_seen {
	struct constructors copy, move;
	bool by_code, unknown;
	bool deleted;   /* its own declarations leave no constructor that copies or moves */
	bool in_memory; /* a member or a base is so */
	bool assigns_copy, assigns_move, destroys; /* the user declares these */
	/* a member or a base cannot be copied; can be neither moved nor copied */
	bool keeps_from_copying, keeps_from_moving;
	bool copies, moves; /* with regard to these */
	bool strict;        /* struct class_search's */
};

/* The classes that may still be looked at, and how deep the one at hand is. strict: the debug
 * information tells of no method whether it is deleted, or is as the compiler would make it. */
struct class_search { unsigned work, depth; bool strict; };

static void see_class(Dwarf_Die *class, struct class_search *s, struct class_seen *c);

static bool is_number(Dwarf_Die *die, unsigned name, Dwarf_Word wanted)
{
	Dwarf_Attribute attr;
	Dwarf_Word number;

	return dwarf_formudata(dwarf_attr(die, name, &attr), &number) == 0 && number == wanted;
}

/* Whether a base class or a function is virtual: either makes the class one that is not copied as
 * bytes. */
static bool is_virtual(Dwarf_Die *child)
{
	Dwarf_Attribute attr;
	Dwarf_Word how;

	return dwarf_formudata(dwarf_attr(child, DW_AT_virtuality, &attr), &how) == 0 && how;
}

/* Steps to the next parameter that is written in the source. False: there is none. */
static bool next_written(Dwarf_Die *p, int r)
{
	while (r == 0 && (dwarf_tag(p) != DW_TAG_formal_parameter ||
			  dwarf_hasattr(p, DW_AT_artificial)))
		r = dwarf_siblingof(p, p);
	return r == 0;
}

/* The tag of the reference to the class that the method's first parameter is; 0: it is none.
 * *more: it has other parameters, which may have defaults. */
static int reference_taken(Dwarf_Die *method, Dwarf_Die *class, bool *more)
{
	Dwarf_Die p, type, of;
	int tag;

	if (dwarf_child(method, &p) || !next_written(&p, 0) || !dwarf_type_plain(&p, &type))
		return 0;
	tag = dwarf_tag(&type);
	if ((tag != DW_TAG_reference_type && tag != DW_TAG_rvalue_reference_type) ||
	    !dwarf_type_plain(&type, &of) || dwarf_dieoffset(&of) != dwarf_dieoffset(class))
		return 0;
	*more = next_written(&p, dwarf_siblingof(&p, &p));
	return tag;
}

static void see_constructor(Dwarf_Die *method, int reference, bool more, bool implied,
			    struct class_seen *c)
{
	struct constructors *of = reference == DW_TAG_reference_type ? &c->copy : &c->move;
	bool deleted = dwarf_hasattr(method, DW_AT_deleted);

	/* g++ does not tell whether the others have defaults: only then does it copy. */
	if (more) {
		c->unknown = true;
		return;
	}
	of->declared = true;
	of->usable |= !deleted;
	of->by_user |= !dwarf_hasattr(method, DW_AT_artificial);
	c->by_code |= !deleted && !implied;
}

/* Notes a destructor, a constructor that copies or moves, or such an assignment. One that the
 * compiler makes (g++ declares a destructor in each class that is local to a function) does what
 * those of the members do. */
static void see_method(Dwarf_Die *method, Dwarf_Die *class, struct class_seen *c)
{
	const char *name = dwarf_diename(method), *own = dwarf_diename(class);
	size_t n = name ? strlen(name) : 0;
	bool artificial = dwarf_hasattr(method, DW_AT_artificial), more = false;
	bool implied = artificial || is_number(method, DW_AT_defaulted, DW_DEFAULTED_in_class);
	int reference;

	if (!n)
		return;
	if (*name == '~' && c->strict) {
		c->unknown |= !artificial;
		return;
	}
	if (*name == '~') {
		c->destroys |= !artificial;
		c->by_code |= !implied && !dwarf_hasattr(method, DW_AT_deleted);
		return;
	}
	reference = reference_taken(method, class, &more);
	if (!reference)
		return;
	if (c->strict) {
		c->unknown |= !artificial;
		return;
	}
	if (!strcmp(name, "operator=")) {
		c->assigns_copy |= !artificial && reference == DW_TAG_reference_type;
		c->assigns_move |= !artificial && reference == DW_TAG_rvalue_reference_type;
	} else if (own && strncmp(name, own, n) == 0 && (!own[n] || own[n] == '<')) {
		/* The name of a template's constructor has no arguments. */
		see_constructor(method, reference, more, implied, c);
	}
}

/* A member or a base class, arrays as their elements. */
static void see_part(Dwarf_Die *child, struct class_search *s, struct class_seen *c)
{
	struct class_seen part = { 0 };
	Dwarf_Die type, element;

	if (!dwarf_type_plain(child, &type)) {
		c->unknown = true;
		return;
	}
	while (dwarf_tag(&type) == DW_TAG_array_type && dwarf_type_plain(&type, &element))
		type = element;
	c->keeps_from_copying |= dwarf_tag(&type) == DW_TAG_rvalue_reference_type;
	/* Before DWARF 4 both kinds of references are one. */
	c->unknown |= s->strict && dwarf_tag(&type) == DW_TAG_reference_type;
	if (!dwarf_type_is_class(&type))
		return;
	see_class(&type, s, &part);
	c->by_code |= part.by_code;
	c->in_memory |= part.deleted || part.in_memory;
	c->unknown |= part.unknown;
	c->keeps_from_copying |= !part.copies;
	c->keeps_from_moving |= !part.moves && (!part.copies || part.move.by_user);
}

/* A constructor that is not declared is there unless something else that is declared keeps it from
 * being so: the C++ standard, [class.copy.ctor]. g++ does not ask the members then: it passes the
 * class as bytes, but in memory if such a member is in it. */
static void conclude(struct class_seen *c)
{
	bool copies = c->copy.declared ? c->copy.usable && !c->keeps_from_copying
				       : !c->move.by_user && !c->assigns_move;
	bool moves = c->move.declared ? c->move.usable && !c->keeps_from_moving
				      : !c->copy.by_user && !c->assigns_copy && !c->assigns_move &&
						!c->destroys;

	c->deleted = !copies && !moves;
	c->copies = copies && !c->keeps_from_copying;
	c->moves = moves && !c->keeps_from_moving;
}

static void see_children(Dwarf_Die *class, struct class_search *s, struct class_seen *c)
{
	Dwarf_Die child;
	unsigned n = 0;
	int r = dwarf_child(class, &child);

	for (; r == 0 && n < CHILDREN_MOST; n++, r = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);

		c->by_code |= is_virtual(&child);
		if (tag == DW_TAG_subprogram)
			see_method(&child, class, c);
		else if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
			 !dwarf_hasattr(&child, DW_AT_external))
			see_part(&child, s, c);
		if (c->by_code)
			return;
	}
	c->unknown |= r == 0;
}

static void see_class(Dwarf_Die *class, struct class_search *s, struct class_seen *c)
{
	if (dwarf_hasattr(class, DW_AT_declaration) || !s->work || s->depth == DEEPEST) {
		c->unknown = true;
		return;
	}
	s->work--;
	s->depth++;
	c->strict = s->strict;
	see_children(class, s, c);
	s->depth--;
	conclude(c);
}

/* The one class that clang's debug information only declares in nearly every program, and of which
 * strict debug information does not tell. */
static bool is_known_string(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return name && !strncmp(name, "basic_string<char, std::char_traits<char>", 41);
}

/* Whether the unit's compiler left out what DWARF has only had since version 5. */
static bool is_strict(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Half version;
	const char *by;
	Dwarf_Die unit;

	if (dwarf_cu_info(type->cu, &version, NULL, &unit, NULL, NULL, NULL, NULL) || version >= 5)
		return false;
	by = dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &attr));
	return by && strstr(by, "-gstrict-dwarf");
}

enum class_copying class_copying(Dwarf_Die *type)
{
	struct class_search s = { .work = CLASSES_MOST, .strict = is_strict(type) };
	struct class_seen c = { 0 };

	if (dwarf_hasattr(type, DW_AT_calling_convention))
		return is_number(type, DW_AT_calling_convention, BY_REFERENCE) ? CLASS_BY_CODE
									       : CLASS_AS_BYTES;
	if (dwarf_hasattr(type, DW_AT_declaration))
		return is_known_string(type) ? CLASS_BY_CODE : CLASS_COPYING_UNKNOWN;
	see_class(type, &s, &c);
	if (c.by_code)
		return CLASS_BY_CODE;
	if (c.unknown)
		return is_known_string(type) ? CLASS_BY_CODE : CLASS_COPYING_UNKNOWN;
	return c.deleted ? CLASS_BY_CODE : c.in_memory ? CLASS_IN_MEMORY : CLASS_AS_BYTES;
}

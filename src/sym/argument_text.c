/* SPDX-License-Identifier: MIT */
/* Writes types of debug information as TYPEs of base/prototype.h. Called by argument_types.c,
 * argument_returned.c and arguments.c, on their thread; no state. All that is read is bounded: a
 * type that is too deep or too large is not recorded, or told in part. */
#include "sym/argument_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/prototype.h"
#include "sym/argument_classes.h"
#include "sym/class_members.h"
#include "sym/dwarf_type.h"
#include "sym/type_name.h"

#define NESTED_DEEPEST 16   /* parts without a name, in each other */
#define CHILDREN_MOST 128   /* of an enumeration */
#define NAME_LONGEST 64
#define ENUM_LONGEST 1024   /* of one's text */
#define MEMBERS_MOST 12     /* that are shown */
#define STRUCT_LONGEST 1024 /* of one's text */

bool argument_is_recorded_size(uint64_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* NULL: it cannot be recorded. */
static char *base_type(Dwarf_Die *type)
{
	uint64_t bytes = dwarf_type_bytes(type);
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	if (!argument_is_recorded_size(bytes) ||
	    dwarf_formudata(dwarf_attr_integrate(type, DW_AT_encoding, &attr), &encoding))
		return NULL;
	if (dwarf_type_is_char(type))
		return mem_strdup("c");
	switch (encoding) {
	/* A boolean of more than a byte, which C does not have, is shown as a number. */
	case DW_ATE_boolean:
		return mem_printf(bytes == 1 ? "b" : "u%d", (int)bytes);
	case DW_ATE_signed: case DW_ATE_signed_char:
		return mem_printf("d%d", (int)bytes);
	case DW_ATE_unsigned: case DW_ATE_unsigned_char: case DW_ATE_UTF:
		return mem_printf("u%d", (int)bytes);
	case DW_ATE_float:
		return bytes >= 4 || argument_is_half(type) ? mem_printf("f%d", (int)bytes) : NULL;
	case DW_ATE_decimal_float:
		return bytes >= 4 ? mem_printf("D%d", (int)bytes) : NULL;
	}
	return NULL;
}

/* Names stand in prototypes, whose separators they must not have. */
bool argument_is_plain_name(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '$')
			return false;
	return n && n <= NAME_LONGEST;
}

/* "e4{RED:0;GREEN:1;}"; names that do not fit are left out, and their numbers are shown. */
static char *enum_type(Dwarf_Die *type)
{
	uint64_t bytes = dwarf_type_bytes(type);
	struct type_scopes counted = { 0 };
	Dwarf_Die child;
	char *text, *more;
	int r;

	if (!argument_is_recorded_size(bytes))
		return NULL;
	text = mem_printf("e%d{", (int)bytes);
	r = dwarf_child(type, &child);
	for (; r == 0 && counted.passed < CHILDREN_MOST && strlen(text) < ENUM_LONGEST;
	     r = type_next(&counted, &child)) {
		const char *name = dwarf_diename(&child);
		int64_t number;

		if (dwarf_tag(&child) != DW_TAG_enumerator || !name ||
		    !argument_is_plain_name(name) ||
		    !dwarf_type_constant(&child, &number))
			continue;
		more = mem_printf("%s%s:%lld;", text, name, (long long)number);
		free(text);
		text = more;
	}
	more = mem_printf("%s}", text);
	free(text);
	return more;
}

/* --- the C++ library's ---------------------------------------------------------------------- */

/* Two members at the beginning, by name. */
struct known_layout { const char *first, *second; unsigned found; };

static bool see_known(struct class_member *m, void *context)
{
	struct known_layout *l = context;
	const char *name = dwarf_diename(&m->die);

	if (name && !strcmp(name, l->first) && m->offset == 0)
		l->found |= 1;
	if (name && !strcmp(name, l->second) && m->offset == ARGUMENT_WORD)
		l->found |= 2;
	return true;
}

/* Two members of these names, as the two words of a view or a string begin. */
static bool has_layout(Dwarf_Die *type, const char *first, const char *second, uint64_t *work)
{
	struct known_layout l = { first, second, 0 };

	return class_members_each(type, see_known, &l, work) && l.found == 3;
}

/* By the name and by the members: in another library the class lies otherwise. */
char argument_library_letter(Dwarf_Die *type, uint64_t *work)
{
	const char *name = dwarf_diename(type);

	if (!dwarf_type_is_class(type) || !name)
		return 0;
	if (!strncmp(name, "basic_string<char,", 18) &&
	    has_layout(type, "_M_dataplus", "_M_string_length", work))
		return 'S';
	if (!strncmp(name, "basic_string_view<char,", 23) &&
	    has_layout(type, "_M_len", "_M_str", work))
		return 'V';
	if (!strncmp(name, "unique_ptr<", 11) && dwarf_type_bytes(type) == ARGUMENT_WORD)
		return 'U';
	return 0;
}

/* --- values --------------------------------------------------------------------------------- */

/* A pointer to characters is a string, whose bytes are recorded; of any other the address is. */
static char *pointer_text(Dwarf_Die *type)
{
	Dwarf_Die target;
	const bool chars = dwarf_type_plain(type, &target) && dwarf_type_is_char(&target);

	return mem_strdup(chars ? "s" : "p");
}

char *argument_scalar_text(Dwarf_Die *type)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type: return base_type(type);
	case DW_TAG_enumeration_type: return enum_type(type);
	case DW_TAG_pointer_type: return pointer_text(type);
	case DW_TAG_reference_type: case DW_TAG_rvalue_reference_type: return mem_strdup("p");
	}
	return NULL;
}

/* IEEE's binary128, in a vector register. */
static bool is_quad(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return dwarf_type_encoding(type) == DW_ATE_float &&
	       dwarf_type_bytes(type) == 2 * ARGUMENT_WORD && name &&
	       (!strcmp(name, "__float128") || !strcmp(name, "_Float128"));
}

/* A complex number of 8 bytes is in one vector register, one of 16 in two. */
const char *argument_wide_text(Dwarf_Die *type)
{
	uint64_t bytes = dwarf_tag(type) == DW_TAG_base_type ? dwarf_type_bytes(type) : 0;
	unsigned encoding = dwarf_type_encoding(type);

	if (encoding == DW_ATE_complex_float && bytes == ARGUMENT_WORD)
		return "Rfz4";
	if (bytes != 2 * ARGUMENT_WORD)
		return NULL;
	switch (encoding) {
	case DW_ATE_complex_float: return "Rffz8";
	case DW_ATE_signed: return "Riiq";
	case DW_ATE_unsigned: return "RiiQ";
	case DW_ATE_decimal_float: return "RvG";
	}
	return argument_is_long_double(type) ? "Rxl" : is_quad(type) ? "Rvg" : NULL;
}

/* Without the classes: a member is where its structure is. */
char *argument_wide_member(Dwarf_Die *type)
{
	const char *text = argument_wide_text(type);

	return text ? mem_strdup(text + strcspn(text, "qQlgGz")) : NULL;
}

/* --- structures ----------------------------------------------------------------------------- */

static bool is_union(Dwarf_Die *type)
{
	return dwarf_tag(type) == DW_TAG_union_type;
}

/* A structure's text under way. */
struct struct_text {
	char *text;
	uint64_t most;    /* bytes that are recorded */
	uint64_t base;    /* of the structure, or the part without a name, that is told */
	unsigned depth;   /* of parts without a name */
	uint64_t *work;
	bool addresses;   /* of strings the addresses are told */
	uint64_t bytes;   /* up to the last member that is told */
	unsigned members;
	bool more;
};

/* "aBYTES" of an array of characters; NULL: it is none. */
static char *chars_text(Dwarf_Die *type, uint64_t *bytes)
{
	Dwarf_Die element;
	Dwarf_Word size;

	if (dwarf_tag(type) != DW_TAG_array_type || !dwarf_type_plain(type, &element) ||
	    !dwarf_type_is_char(&element) || dwarf_aggregate_size(type, &size) || !size ||
	    size > PROTOTYPE_BLOCK)
		return NULL;
	*bytes = size;
	return mem_printf("a%d", (int)size);
}

/* "[COUNT+TYPE" of an array of values, as many as lie within the first bytes that are recorded;
 * NULL: it is none, or has several dimensions. */
static char *array_text(Dwarf_Die *type, uint64_t offset, uint64_t most, uint64_t *bytes)
{
	uint64_t each, shown = PROTOTYPE_ELEMENTS;
	Dwarf_Die element, range;
	Dwarf_Word size;
	char *of, *text;

	if (dwarf_tag(type) != DW_TAG_array_type || dwarf_child(type, &range) ||
	    dwarf_siblingof(&range, &range) == 0 ||
	    !dwarf_type_plain(type, &element) || dwarf_aggregate_size(type, &size))
		return NULL;
	each = dwarf_type_is_pointer(&element) ? ARGUMENT_WORD : dwarf_type_bytes(&element);
	while (shown && (shown * each > size || offset + shown * each > most))
		shown--;
	of = each && shown ? argument_scalar_text(&element) : NULL;
	if (!of)
		return NULL;
	*bytes = shown * each;
	text = mem_printf("[%d%s%s", (int)shown, shown * each < size ? "+" : "",
			  *of == 's' ? "p" : of);
	free(of);
	return text;
}

/* Compilers have different opinions of one element of 8 bytes. */
char *argument_vector_text(Dwarf_Die *type, uint64_t *bytes)
{
	Dwarf_Die element;
	Dwarf_Word size;
	uint64_t shown;

	if (!dwarf_hasattr(type, DW_AT_GNU_vector) || dwarf_aggregate_size(type, &size) ||
	    !dwarf_type_plain(type, &element) ||
	    (size != 2 * ARGUMENT_WORD &&
	     (size != ARGUMENT_WORD || dwarf_type_bytes(&element) == ARGUMENT_WORD)))
		return NULL;
	*bytes = size;
	return array_text(type, 0, size, &shown);
}

static bool tell_member(struct class_member *m, void *context);

/* The members of a part without a name are the structure's own. */
static bool tell_part(struct class_member *m, struct struct_text *s)
{
	const uint64_t base = s->base;
	const bool addresses = s->addresses;
	bool all;

	s->base = m->offset;
	s->addresses |= is_union(&m->type);
	s->depth++;
	all = class_members_each(&m->type, tell_member, s, s->work);
	s->depth--;
	s->base = base;
	s->addresses = addresses;
	return all;
}

/* "NAME@OFFSET=TYPE"; of a type that is not recorded the name alone. */
static bool tell_member(struct class_member *m, void *context)
{
	struct struct_text *s = context;
	const char *name = dwarf_diename(&m->die);
	uint64_t bytes = dwarf_type_bytes(&m->type);
	char *type = NULL, *text;

	m->offset += s->base;
	if (!name && dwarf_tag(&m->die) == DW_TAG_member && dwarf_type_is_class(&m->type) &&
	    s->depth < NESTED_DEEPEST)
		return tell_part(m, s);
	if (dwarf_tag(&m->die) != DW_TAG_member || !name || !argument_is_plain_name(name) ||
	    s->members == MEMBERS_MOST || strlen(s->text) > STRUCT_LONGEST) {
		s->more = true;
		return true;
	}
	if (!m->bits)
		type = chars_text(&m->type, &bytes);
	if (!m->bits && !type)
		type = array_text(&m->type, m->offset, s->most, &bytes);
	if (!m->bits && !type)
		type = argument_scalar_text(&m->type);
	if (!m->bits && !type)
		type = argument_wide_member(&m->type);
	if (type && (*type == 's' || *type == 'p'))
		bytes = ARGUMENT_WORD;
	if (type && *type == 's' && s->addresses)
		*type = 'p';
	if (type && m->offset + bytes > s->most) {
		free(type);
		s->more = true;
		return true;
	}
	text = mem_printf("%s%s%s@%d=%s", s->text, s->members ? "," : "", name,
			  type ? (int)m->offset : 0, type ? type : "?");
	free(s->text);
	s->text = text;
	s->members++;
	if (type && m->offset + bytes > s->bytes)
		s->bytes = m->offset + bytes;
	free(type);
	return true;
}

char *argument_struct_text(Dwarf_Die *type, uint64_t most, bool addresses, uint64_t *work)
{
	struct struct_text s = { .text = mem_strdup(""), .most = most, .work = work,
				 .addresses = addresses };
	char *all = NULL;

	/* One of a union's members is there: what another one points to is no string. */
	s.addresses |= is_union(type);
	s.more |= !class_members_each(type, tell_member, &s, work);
	if (s.bytes)
		all = mem_printf("%d{%s%s}", (int)s.bytes, s.text, s.more ? ",..." : "");
	free(s.text);
	return all;
}

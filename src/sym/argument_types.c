/* SPDX-License-Identifier: MIT */
/* Writes types of debug information as TYPEs of base/prototype.h, and classifies structures as the
 * calling convention of x86-64 does (System V, 3.2.3), which is the only one that is known. Called
 * by arguments.c on its thread; no state. All that is read is bounded: a type that is too deep or
 * too large is not recorded. */
#include "sym/argument_types.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/prototype.h"
#include "sym/arguments.h"
#include "sym/class_copying.h"
#include "sym/dwarf_type.h"
#include "sym/type_name.h"

#define NESTED_DEEPEST 16   /* structures within structures */
#define CHILDREN_MOST 128   /* of an enumeration */
#define CLASS_CHILDREN_MOST 1024 /* methods, too */
#define CLASSIFIED_MOST 256 /* members within members */
#define NAME_LONGEST 64
#define ENUM_LONGEST 1024   /* of one's text */
#define MEMBERS_MOST 12     /* that are shown */
#define STRUCT_LONGEST 1024 /* of one's text */
#define WORD 8u
/* A returned value that cannot be told is shown as {...}: rax is a part of it at most. */
#define NOT_TOLD "Rio1{...}"

/* Whether one register, or one store of a fetch program, can hold the bytes. */
static bool is_recorded_size(uint64_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* NULL: it cannot be recorded. */
static char *base_type(Dwarf_Die *type)
{
	uint64_t bytes = dwarf_type_bytes(type);
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	if (!is_recorded_size(bytes) ||
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
		return bytes >= 4 ? mem_printf("f%d", (int)bytes) : NULL;
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

/* The form decides whether the number has a sign. */
static bool enumerator_number(Dwarf_Die *die, int64_t *number)
{
	Dwarf_Attribute attr;
	Dwarf_Sword with_sign;
	Dwarf_Word without;
	unsigned form;

	if (!dwarf_attr(die, DW_AT_const_value, &attr))
		return false;
	form = dwarf_whatform(&attr);
	if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
		*number = dwarf_formsdata(&attr, &with_sign) ? 0 : with_sign;
		return true;
	}
	*number = dwarf_formudata(&attr, &without) ? 0 : (int64_t)without;
	return true;
}

/* "e4{RED:0;GREEN:1;}"; names that do not fit are left out, and their numbers are shown. */
static char *enum_type(Dwarf_Die *type)
{
	uint64_t bytes = dwarf_type_bytes(type);
	struct type_scopes counted = { 0 };
	Dwarf_Die child;
	char *text, *more;
	int r;

	if (!is_recorded_size(bytes))
		return NULL;
	text = mem_printf("e%d{", (int)bytes);
	r = dwarf_child(type, &child);
	for (; r == 0 && counted.passed < CHILDREN_MOST && strlen(text) < ENUM_LONGEST;
	     r = type_next(&counted, &child)) {
		const char *name = dwarf_diename(&child);
		int64_t number;

		if (dwarf_tag(&child) != DW_TAG_enumerator || !name ||
		    !argument_is_plain_name(name) ||
		    !enumerator_number(&child, &number))
			continue;
		more = mem_printf("%s%s:%lld;", text, name, (long long)number);
		free(text);
		text = more;
	}
	more = mem_printf("%s}", text);
	free(text);
	return more;
}

static bool is_union(Dwarf_Die *type)
{
	return dwarf_tag(type) == DW_TAG_union_type;
}

/* --- members ---------------------------------------------------------------------------------- */

/* A data member, or a base class. */
struct member {
	Dwarf_Die die, type; /* without typedefs */
	uint64_t offset;
	bool bits;           /* of no whole bytes */
};

/* False: the child is no member with a location in the structure. */
static bool member_of(Dwarf_Die *child, struct member *m)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset = 0, bit;
	int tag = dwarf_tag(child);

	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
	    dwarf_hasattr(child, DW_AT_external) || !dwarf_type_plain(child, &m->type))
		return false;
	m->die = *child;
	m->bits = dwarf_hasattr(child, DW_AT_bit_size);
	if (dwarf_attr(child, DW_AT_data_member_location, &attr) &&
	    dwarf_formudata(&attr, &offset))
		return false;
	if (dwarf_attr(child, DW_AT_data_bit_offset, &attr) && !dwarf_formudata(&attr, &bit))
		offset = bit / 8;
	m->offset = offset;
	return true;
}

typedef bool member_visitor(struct member *m, void *context);

/* Visits all, in their order, until a visitor returns false. False then, or if there are too many
 * to be told. */
static bool each_member(Dwarf_Die *type, member_visitor *visit, void *context, uint64_t *work)
{
	bool all = true;
	struct type_scopes counted = { 0 };
	Dwarf_Die child;
	struct member m;
	int r = dwarf_child(type, &child);

	for (; all && r == 0 && counted.passed < CLASS_CHILDREN_MOST;
	     r = type_next(&counted, &child))
		all = !member_of(&child, &m) || visit(&m, context);
	*work += counted.passed;
	return all && r != 0;
}

/* --- the C++ library's ------------------------------------------------------------------------ */

/* Two members at the beginning, by name. */
struct known_layout { const char *first, *second; unsigned found; };

static bool see_known(struct member *m, void *context)
{
	struct known_layout *l = context;
	const char *name = dwarf_diename(&m->die);

	if (name && !strcmp(name, l->first) && m->offset == 0)
		l->found |= 1;
	if (name && !strcmp(name, l->second) && m->offset == WORD)
		l->found |= 2;
	return true;
}

/* Two members of these names, as the two words of a view or a string begin. */
static bool has_layout(Dwarf_Die *type, const char *first, const char *second, uint64_t *work)
{
	struct known_layout l = { first, second, 0 };

	return each_member(type, see_known, &l, work) && l.found == 3;
}

/* The letter of a class of GNU's C++ library that is shown as what it holds; 0: it is none. */
static char library_letter(Dwarf_Die *type, uint64_t *work)
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
	if (!strncmp(name, "unique_ptr<", 11) && dwarf_type_bytes(type) == WORD)
		return 'U';
	return 0;
}

/* --- structures ------------------------------------------------------------------------------- */

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

static char *scalar_text(Dwarf_Die *type);
static char *wide_member(Dwarf_Die *type);

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
	each = dwarf_type_is_pointer(&element) ? WORD : dwarf_type_bytes(&element);
	while (shown && (shown * each > size || offset + shown * each > most))
		shown--;
	of = each && shown ? scalar_text(&element) : NULL;
	if (!of)
		return NULL;
	*bytes = shown * each;
	text = mem_printf("[%d%s%s", (int)shown, shown * each < size ? "+" : "",
			  *of == 's' ? "p" : of);
	free(of);
	return text;
}

/* The array's text of a vector that one vector register holds; NULL: it is none. Of one element of
 * 8 bytes compilers have different opinions. */
static char *vector_text(Dwarf_Die *type, uint64_t *bytes)
{
	Dwarf_Die element;
	Dwarf_Word size;
	uint64_t shown;

	if (!dwarf_hasattr(type, DW_AT_GNU_vector) || dwarf_aggregate_size(type, &size) ||
	    !dwarf_type_plain(type, &element) ||
	    (size != 2 * WORD && (size != WORD || dwarf_type_bytes(&element) == WORD)))
		return NULL;
	*bytes = size;
	return array_text(type, 0, size, &shown);
}

static bool tell_member(struct member *m, void *context);

/* Of a part without a name the members are the structure's own. */
static bool tell_part(struct member *m, struct struct_text *s)
{
	const uint64_t base = s->base;
	const bool addresses = s->addresses;
	bool all;

	s->base = m->offset;
	s->addresses |= is_union(&m->type);
	s->depth++;
	all = each_member(&m->type, tell_member, s, s->work);
	s->depth--;
	s->base = base;
	s->addresses = addresses;
	return all;
}

/* "NAME@OFFSET=TYPE"; of a type that is not recorded the name alone. */
static bool tell_member(struct member *m, void *context)
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
		type = scalar_text(&m->type);
	if (!m->bits && !type)
		type = wide_member(&m->type);
	if (type && (*type == 's' || *type == 'p'))
		bytes = WORD;
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

/* A structure's text behind its letter; NULL: nothing of it can be told. s: its limits. */
static char *limited_text(Dwarf_Die *type, struct struct_text s, uint64_t *work)
{
	char *all = NULL;

	s.text = mem_strdup("");
	s.work = work;
	/* Of a union's members one is there: what another one points to is no string. */
	s.addresses |= is_union(type);
	s.more |= !each_member(type, tell_member, &s, work);
	if (s.bytes)
		all = mem_printf("%d{%s%s}", (int)s.bytes, s.text, s.more ? ",..." : "");
	free(s.text);
	return all;
}

static char *struct_text(Dwarf_Die *type, uint64_t *work)
{
	return limited_text(type, (struct struct_text){ .most = PROTOTYPE_BLOCK }, work);
}

/* --- the convention --------------------------------------------------------------------------- */

struct classes {
	uint64_t base;      /* of the structure within the whole */
	unsigned depth, members;
	uint64_t *work;
	uint8_t used, numbers; /* bits: words that have a member; one that is no float */
	bool memory;        /* a member lies at no multiple of its size */
	bool wide;          /* values of two words are known, too: of what is returned alone */
	bool x87, beside;   /* it has a long double, something else */
	bool odd;           /* a member in registers whose class is not told */
	bool flexible;      /* an array without a length ends it */
	bool aligned;       /* it may have to be on the stack at more than a multiple of a word */
	bool known;         /* of all members */
};

/* Notes what a structure or a member asks of its location on the stack. */
static void note_alignment(Dwarf_Die *die, struct classes *c)
{
	Dwarf_Attribute attr;
	Dwarf_Word n;

	if (dwarf_attr(die, DW_AT_alignment, &attr))
		c->aligned |= dwarf_formudata(&attr, &n) || n > WORD;
}

static bool is_cpp(int language)
{
	return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
	       language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14;
}

static bool classify(struct member *m, void *context);
static unsigned encoding_of(Dwarf_Die *type);
static bool is_in_vector(unsigned encoding);
static bool is_long_double(Dwarf_Die *type);

/* A member of two words: an integer, or what is in st0, if that is all there is. False: it is
 * neither. */
static bool classify_wide(Dwarf_Die *type, uint64_t at, struct classes *c)
{
	unsigned encoding = encoding_of(type);

	if (dwarf_tag(type) != DW_TAG_base_type || dwarf_type_bytes(type) != 2 * WORD)
		return false;
	c->memory |= at != 0;
	c->odd |= !c->wide;
	c->aligned = true;
	if (is_long_double(type)) {
		c->x87 = true;
	} else {
		c->beside = true;
		if (encoding == DW_ATE_signed || encoding == DW_ATE_unsigned)
			c->numbers |= 3;
		else
			c->odd = true;
	}
	c->used |= 3;
	return true;
}

/* A number of two parts, which lie as two numbers do. */
static bool classify_complex(uint64_t at, uint64_t part, struct classes *c)
{
	if (part != WORD / 2 && part != WORD)
		return false;
	c->memory |= at % part != 0;
	c->beside = true;
	c->odd |= !c->wide;
	for (uint64_t k = at; k <= at + part && k < 2 * WORD; k += part)
		c->used |= 1u << k / WORD;
	return true;
}

/* A vector, or a pointer to a member: in registers, if it lies well. */
static bool classify_odd(uint64_t at, uint64_t bytes, uint64_t each, struct classes *c)
{
	if (!bytes || bytes > 2 * WORD || !each)
		return false;
	c->memory |= at % each != 0;
	c->beside = c->odd = true;
	c->aligned |= each > WORD;
	return true;
}

static uint64_t aggregate_bytes(Dwarf_Die *type)
{
	Dwarf_Word bytes;

	return dwarf_aggregate_size(type, &bytes) ? 0 : bytes;
}

/* A value that is no structure. */
static bool classify_scalar(Dwarf_Die *type, uint64_t at, struct classes *c)
{
	uint64_t bytes = dwarf_type_is_pointer(type) ? WORD : dwarf_type_bytes(type);
	unsigned encoding = dwarf_tag(type) == DW_TAG_base_type ? encoding_of(type) : 0;

	if (dwarf_tag(type) == DW_TAG_ptr_to_member_type)
		return classify_odd(at, WORD, WORD, c);
	if (encoding == DW_ATE_complex_float)
		return classify_complex(at, bytes / 2, c);
	if (!is_recorded_size(bytes))
		return classify_wide(type, at, c);
	c->memory |= at % bytes != 0;
	c->beside = true;
	if (at < 2 * WORD) {
		c->used |= 1u << at / WORD;
		if (!is_in_vector(encoding))
			c->numbers |= 1u << at / WORD;
	}
	return true;
}

/* System V's classification, as far as two words go. False: the type is too deeply nested, or has
 * a part of which nothing is known. */
static bool classify_type(Dwarf_Die *type, uint64_t at, struct classes *c)
{
	uint64_t base = c->base;
	bool good;

	if (!dwarf_type_is_class(type))
		return classify_scalar(type, at, c);
	if (++c->depth > NESTED_DEEPEST || dwarf_hasattr(type, DW_AT_declaration))
		return false;
	note_alignment(type, c);
	c->base = at;
	good = each_member(type, classify, c, c->work);
	c->base = base;
	c->depth--;
	return good;
}

/* An array without elements has no part in registers. A structure that ends with one of no length
 * lies in memory, but not with gcc in C, to which it is as if it were not there. */
static bool classify_endless(Dwarf_Die *array, struct classes *c)
{
	Dwarf_Die range;
	uint64_t n;

	if (!dwarf_type_dimension(array, 0, &n) || n || dwarf_child(array, &range))
		return false;
	c->flexible |= !dwarf_hasattr(&range, DW_AT_count) &&
		       !dwarf_hasattr(&range, DW_AT_upper_bound);
	return true;
}

/* Arrays lie as their elements do. */
static bool classify(struct member *m, void *context)
{
	struct classes *c = context;
	uint64_t at = c->base + m->offset, bytes, size;
	Dwarf_Die element;

	if (++c->members > CLASSIFIED_MOST)
		return false;
	note_alignment(&m->die, c);
	if (dwarf_tag(&m->type) != DW_TAG_array_type)
		return classify_type(&m->type, m->bits ? at & ~(WORD - 1) : at, c);
	size = aggregate_bytes(&m->type);
	if (dwarf_hasattr(&m->type, DW_AT_GNU_vector))
		return classify_odd(at, size, size, c);
	if (!size)
		return classify_endless(&m->type, c);
	if (!dwarf_type_plain(&m->type, &element))
		return false;
	bytes = dwarf_type_is_pointer(&element) ? WORD : aggregate_bytes(&element);
	for (uint64_t k = 0; bytes && k + bytes <= size && k < 2 * WORD; k += bytes)
		if (!classify_type(&element, at + k, c))
			return false;
	return bytes != 0;
}

static bool unit_is_clang(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Die unit;
	const char *by;

	if (!dwarf_diecu(type, &unit, NULL, NULL))
		return false;
	by = dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &attr));
	return by && strstr(by, "clang");
}

/* Whether the unit's compiler passes structures that end with an array of no length in memory. */
static bool keeps_flexible_in_memory(Dwarf_Die *type)
{
	Dwarf_Die unit;

	return unit_is_clang(type) ||
	       (dwarf_diecu(type, &unit, NULL, NULL) && is_cpp(dwarf_srclang(&unit)));
}

/* Where a structure that is copied as bytes is passed and returned, by its classes. */
static enum argument_way struct_way(Dwarf_Die *type, struct classes *c)
{
	uint64_t bytes = dwarf_type_bytes(type);

	if (dwarf_hasattr(type, DW_AT_declaration) || !dwarf_hasattr(type, DW_AT_byte_size))
		return ARGUMENT_WAY_UNKNOWN;
	note_alignment(type, c);
	c->known = each_member(type, classify, c, c->work);
	/* A long double's second word is in memory where the first one is shared. */
	if (c->memory || (c->x87 && c->beside) || (c->flexible && keeps_flexible_in_memory(type)))
		return ARGUMENT_IN_MEMORY;
	/* Of what is not known, one vector may be all there is, in a wide register. */
	if (bytes > 2 * WORD && (c->known || (bytes != 4 * WORD && bytes != 8 * WORD)))
		return ARGUMENT_IN_MEMORY;
	return c->known ? ARGUMENT_IN_REGISTERS : ARGUMENT_WAY_UNKNOWN;
}

/* Whether the class has nothing in it, which C++ gives a byte and no register. */
static bool is_empty(Dwarf_Die *type, const struct classes *c)
{
	bool cpp = dwarf_hasattr(type, DW_AT_byte_size) && dwarf_type_bytes(type) == 0;
	Dwarf_Die unit;

	if (c->members || c->flexible)
		return false;
	if (dwarf_type_bytes(type) == 1 && dwarf_diecu(type, &unit, NULL, NULL))
		cpp = is_cpp(dwarf_srclang(&unit));
	return cpp;
}

/* Fills in how the structure is passed. False: that is not known. memory: it is in no register. */
static bool structure_location(Dwarf_Die *type, bool memory, struct sym_location *location,
			       uint64_t *work)
{
	uint64_t bytes = dwarf_type_bytes(type);
	struct classes c = { .work = work, .memory = memory };
	enum argument_way way = struct_way(type, &c);

	location->empty = way == ARGUMENT_IN_REGISTERS && is_empty(type, &c);
	if (location->empty)
		return true;
	if (!bytes || bytes > PROTOTYPE_BLOCK * 8 || c.aligned || !c.known)
		return false;
	location->words = (uint8_t)((bytes + WORD - 1) / WORD);
	location->memory = way == ARGUMENT_IN_MEMORY;
	location->floats = c.used & ~c.numbers;
	return location->memory || (!c.odd && c.used == (1u << location->words) - 1);
}

/* --- all -------------------------------------------------------------------------------------- */

/* A pointer to characters is a string, whose bytes are recorded; of any other the address is. */
static char *pointer_text(Dwarf_Die *type)
{
	Dwarf_Die target;

	return mem_strdup(dwarf_type_plain(type, &target) && dwarf_type_is_char(&target) ? "s" : "p");
}

/* A type that is told by itself; NULL: it cannot be recorded. */
static char *scalar_text(Dwarf_Die *type)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type: return base_type(type);
	case DW_TAG_enumeration_type: return enum_type(type);
	case DW_TAG_pointer_type: return pointer_text(type);
	case DW_TAG_reference_type: case DW_TAG_rvalue_reference_type: return mem_strdup("p");
	}
	return NULL;
}

/* An object that is passed by its address. */
static char *object_text(Dwarf_Die *type, struct argument_reading *r)
{
	char letter = library_letter(type, &r->work), *members = NULL, *text;

	if (letter == 'S' || letter == 'U')
		return mem_printf("%c", letter);
	if (r->depth && dwarf_type_is_class(type))
		members = struct_text(type, &r->work);
	text = members ? mem_printf("O%s", members) : mem_strdup("p");
	free(members);
	return text;
}

/* NULL: where the structure is, and what stands behind it, is not known. For free(). */
static char *value_text(Dwarf_Die *type, bool memory, struct argument_reading *r)
{
	char letter = library_letter(type, &r->work), *members, *text;

	/* Both types have destructors, whatever the compiler says of how they are passed. */
	if (letter == 'S' || letter == 'U')
		return mem_printf("%c", letter);
	if (!structure_location(type, memory, r->passed, &r->work))
		return NULL;
	if (r->passed->empty)
		return mem_strdup("?");
	if (letter == 'V')
		return mem_strdup("V");
	members = struct_text(type, &r->work);
	text = members ? mem_printf("o%s", members) : mem_strdup("?");
	free(members);
	return text;
}

/* --- what is returned ------------------------------------------------------------------------- */

/* DW_ATE_*; 0: it has none. */
static unsigned encoding_of(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	dwarf_formudata(dwarf_attr_integrate(type, DW_AT_encoding, &attr), &encoding);
	return (unsigned)encoding;
}

/* Whether numbers of up to 8 bytes lie in vector registers: _Decimal64 does, too. */
static bool is_in_vector(unsigned encoding)
{
	return encoding == DW_ATE_float || encoding == DW_ATE_decimal_float;
}

/* __float128 has the same size and encoding, and lies elsewhere. */
static bool is_long_double(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return encoding_of(type) == DW_ATE_float && dwarf_type_bytes(type) == 2 * WORD && name &&
	       !strcmp(name, "long double");
}

/* IEEE's binary128, in a vector register. */
static bool is_quad(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return encoding_of(type) == DW_ATE_float && dwarf_type_bytes(type) == 2 * WORD && name &&
	       (!strcmp(name, "__float128") || !strcmp(name, "_Float128"));
}

/* A base type that rax or xmm0 alone does not hold, behind its classes; NULL: it is none of the
 * known ones. */
static const char *wide_text(Dwarf_Die *type)
{
	uint64_t bytes = dwarf_tag(type) == DW_TAG_base_type ? dwarf_type_bytes(type) : 0;
	unsigned encoding = encoding_of(type);

	if (encoding == DW_ATE_complex_float && bytes == WORD)
		return "Rfz4";
	if (bytes != 2 * WORD)
		return NULL;
	switch (encoding) {
	case DW_ATE_complex_float: return "Rffz8";
	case DW_ATE_signed: return "Riiq";
	case DW_ATE_unsigned: return "RiiQ";
	}
	return is_long_double(type) ? "Rxl" : is_quad(type) ? "Rvg" : NULL;
}

/* One as a member; NULL: it is none. */
static char *wide_member(Dwarf_Die *type)
{
	const char *text = wide_text(type);

	return text ? mem_strdup(text + strcspn(text, "qQlgz")) : NULL;
}

/* The structure's text behind R or M, with its letter; NULL: nothing of it can be told. */
static char *whole_text(Dwarf_Die *type, uint64_t *work)
{
	const struct struct_text limits = { .most = PROTOTYPE_WHOLE_BYTES, .addresses = true };
	char *members = limited_text(type, limits, work), *text;

	text = members ? mem_printf("o%s", members) : NULL;
	free(members);
	return text;
}

/* In memory: rax is its address, and shown if nothing else can be. */
static char *memory_text(Dwarf_Die *type, uint64_t *work)
{
	bool pointer = library_letter(type, work) == 'U';
	char *whole = pointer ? mem_strdup("p") : whole_text(type, work);
	char *text = whole ? mem_printf("M%s", whole) : mem_strdup("p");

	free(whole);
	return text;
}

/* In registers: a class for each word, as System V's convention has it (3.2.3, "Returning of
 * Values"). If nothing can be told of it, NOT_TOLD. */
static char *registers_text(Dwarf_Die *type, const struct classes *c, uint64_t *work)
{
	bool second = dwarf_type_bytes(type) > WORD;
	char *whole = whole_text(type, work), *text;
	char classes[3] = "x";

	if (!c->x87) {
		classes[0] = c->numbers & 1 ? 'i' : 'f';
		classes[1] = !second ? '\0' : c->numbers & 2 ? 'i' : 'f';
	}
	text = whole ? mem_printf("R%s%s", classes, whole) : mem_strdup(NOT_TOLD);
	free(whole);
	return text;
}

/* A structure that is copied as bytes. */
static char *plain_struct_text(Dwarf_Die *type, uint64_t *work)
{
	uint64_t bytes = dwarf_type_bytes(type);
	struct classes c = { .work = work, .wide = true };
	enum argument_way way = struct_way(type, &c);

	if (way == ARGUMENT_IN_MEMORY)
		return memory_text(type, work);
	/* A word without a member has no register. */
	if (way == ARGUMENT_WAY_UNKNOWN || c.odd || c.used != (bytes > WORD ? 3 : 1))
		return mem_strdup(NOT_TOLD);
	return registers_text(type, &c, work);
}

/* A vector in xmm0; of one that is wider, only a part is recorded. */
static char *vector_returned_text(Dwarf_Die *type)
{
	uint64_t bytes;
	char *elements = vector_text(type, &bytes), *text;

	text = elements ? mem_printf("R%s%s", bytes > WORD ? "v" : "f", elements)
			: mem_strdup(NOT_TOLD);
	free(elements);
	return text;
}

/* What no reader prints, and rax does not hold: _Float16, _Decimal64, a large complex number. */
static bool is_not_told(Dwarf_Die *type)
{
	unsigned encoding = encoding_of(type);

	return dwarf_type_bytes(type) > WORD || encoding == DW_ATE_complex_float ||
	       encoding == DW_ATE_decimal_float ||
	       (encoding == DW_ATE_float && dwarf_type_bytes(type) < WORD / 2);
}

/* A value that rax or xmm0 does not hold as a whole, or that cannot be told; NULL: it is none. */
static char *large_text(Dwarf_Die *type)
{
	const char *wide;

	if (dwarf_tag(type) == DW_TAG_array_type)
		return vector_returned_text(type);
	/* Two words, if it is a function. */
	if (dwarf_tag(type) == DW_TAG_ptr_to_member_type)
		return mem_strdup(NOT_TOLD);
	if (dwarf_tag(type) != DW_TAG_base_type)
		return NULL;
	wide = wide_text(type);
	if (!wide && is_not_told(type))
		wide = NOT_TOLD;
	return wide ? mem_strdup(wide) : NULL;
}

/* Wide vectors are in registers only if the compiler was allowed to use these. */
enum argument_way argument_returned_way(Dwarf_Die *type)
{
	uint64_t work = 0, bytes;
	struct classes c = { .work = &work, .wide = true };

	if (dwarf_type_is_class(type)) {
		switch (class_copying(type)) {
		case CLASS_AS_BYTES: return struct_way(type, &c);
		case CLASS_IN_MEMORY: case CLASS_BY_CODE: return ARGUMENT_IN_MEMORY;
		case CLASS_COPYING_UNKNOWN: return ARGUMENT_WAY_UNKNOWN;
		}
	}
	bytes = dwarf_tag(type) == DW_TAG_array_type ? aggregate_bytes(type) : 0;
	return bytes > 2 * WORD ? ARGUMENT_WAY_UNKNOWN : ARGUMENT_IN_REGISTERS;
}

/* The returned value's part of a prototype, for free(); never NULL. */
char *argument_returned_text(Dwarf_Die *type)
{
	Dwarf_Die target = *type;
	uint64_t work = 0;
	char letter, *text;

	if (dwarf_type_is_pointer(type) && !dwarf_type_plain(type, &target))
		return scalar_text(type);
	letter = library_letter(&target, &work);
	/* One by its address is found in rax, and so is one that has its location from the caller.
	 */
	if (letter == 'S' || (letter == 'V' && dwarf_type_is_class(type)))
		return mem_printf("%c", letter);
	if (dwarf_type_is_class(type)) {
		switch (class_copying(type)) {
		case CLASS_AS_BYTES: return plain_struct_text(type, &work);
		case CLASS_IN_MEMORY: case CLASS_BY_CODE: return memory_text(type, &work);
		case CLASS_COPYING_UNKNOWN: return mem_strdup(NOT_TOLD);
		}
	}
	text = large_text(type);
	return text ? text : scalar_text(type);
}

/* A base type of more than a register, or of a vector register: fills in how it is passed, and
 * returns its text behind X and BYTES; NULL: it is none. */
static char *wide_argument(Dwarf_Die *type, struct sym_location *location)
{
	const char *text = wide_text(type);
	uint64_t bytes = dwarf_type_bytes(type);

	/* Where an __int128 lies for which one register is left, clang's versions differ. */
	if (!text || (text[1] == 'i' && unit_is_clang(type)))
		return NULL;
	location->words = (uint8_t)(bytes / WORD);
	location->floats = text[1] != 'f' ? 0 : bytes > WORD ? 3 : 1;
	location->memory = text[1] == 'x';
	location->vector = text[1] == 'v';
	location->aligned = text[1] != 'f';
	return wide_member(type);
}

/* Works as wide_argument() for a vector. */
static char *vector_argument(Dwarf_Die *type, struct sym_location *location)
{
	uint64_t bytes;
	char *text = vector_text(type, &bytes);

	if (!text)
		return NULL;
	location->words = (uint8_t)(bytes / WORD);
	location->floats = 1;
	location->vector = location->aligned = bytes > WORD;
	return text;
}

/* What is neither a structure nor in one register as a number is; NULL: it is none. */
static char *block_text(Dwarf_Die *type, struct sym_location *location)
{
	char *value = NULL, *text;

	if (dwarf_tag(type) == DW_TAG_array_type)
		value = vector_argument(type, location);
	else if (dwarf_tag(type) == DW_TAG_base_type)
		value = wide_argument(type, location);
	text = value ? mem_printf("X%u%s", location->words * WORD, value) : NULL;
	free(value);
	return text;
}

/* For free(); NULL: the argument cannot be told, and those behind it on the stack neither. */
char *argument_type_text(Dwarf_Die *type, struct argument_reading *r)
{
	Dwarf_Die target;
	char *text;

	if (dwarf_type_is_class(type)) {
		switch (class_copying(type)) {
		case CLASS_AS_BYTES: return value_text(type, false, r);
		case CLASS_IN_MEMORY: return value_text(type, true, r);
		case CLASS_BY_CODE: return object_text(type, r);
		case CLASS_COPYING_UNKNOWN: return NULL;
		}
	}
	if (dwarf_type_is_pointer(type) && dwarf_type_plain(type, &target) &&
	    dwarf_type_is_class(&target))
		return object_text(&target, r);
	text = block_text(type, r->passed);
	return text ? text : scalar_text(type);
}

/* SPDX-License-Identifier: MIT */
/* Expressions of C over the variables of a scope: members, elements, and what pointers lead to, as
 * chains of loads. The text is the user's, the types are a file's: depth and steps are bounded. A
 * fault is one sentence, with its column. A scope belongs to the thread that asks. */
#include <ctype.h>
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/dwarf_location.h"
#include "sym/dwarf_type.h"
#include "sym/source_internal.h"

#define DEEPEST 16            /* of an expression, and of structures within one */
#define MEMBERS_MOST 65536u   /* looked at in one expression */
#define NAMES_TOLD 160        /* bytes of names in a sentence */
/* The limits keep a text of a user, and types of a damaged file that contain each other, from
 * taking long. No expression that somebody writes by hand comes near them. */
#define POINTER_BYTES 8u

/* The meaning of a part of the expression. */
struct expression_value {
	Dwarf_Die type;           /* without typedefs; addr NULL: void, or not known */
	struct sym_chain chain;
	bool memory;              /* the chain is its address */
	bool address;             /* it is a pointer to `type`: & was written */
	unsigned dimension;       /* of an array: how many were indexed */
	uint8_t bits, shift;      /* of a bit field */
	char name[32];
};

struct expression {
	struct sym_scope *sc;
	const char *text, *at, *end;
	unsigned depth, members;
	bool at_return;
	struct err *err;
};

/* --- faults ----------------------------------------------------------------------------------- */

/* The text of the expression is the error's input, and `at` its column. Returns -code. */
static int fault_at(struct expression *e, const char *at, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static int fault_at(struct expression *e, const char *at, int code, const char *fmt, ...)
{
	char *input = mem_strndup(e->text, (size_t)(e->end - e->text)), *sentence;
	va_list ap;

	va_start(ap, fmt);
	sentence = mem_vprintf(fmt, ap);
	va_end(ap);
	err_at(e->err, code, input, (size_t)(at - e->text), "%s", sentence);
	free(sentence);
	free(input);
	return -code;
}

/* Adds a name to those that a sentence tells. */
static void tell_name(char *names, const char *name)
{
	size_t n = strlen(names);

	if (n + strlen(name) + 3 < NAMES_TOLD)
		snprintf(names + n, NAMES_TOLD - n, "%s%s", n ? ", " : "", name);
}

/* --- types ------------------------------------------------------------------------------------ */

/* References of C++ are pointers whose value is what they lead to. */
static bool is_reference(int tag)
{
	return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

/* DW_TAG_invalid: void, or a type that is not known. */
static int tag_of(struct expression_value *v)
{
	return v->type.addr ? dwarf_tag(&v->type) : DW_TAG_invalid;
}

/* The type behind a DIE's; none: void. */
static void take_type(struct expression_value *v, Dwarf_Die *of)
{
	Dwarf_Die type;

	if (dwarf_type_plain(of, &type))
		v->type = type;
	else
		v->type = (Dwarf_Die){ 0 };
	v->dimension = 0;
}

/* Bytes of an element of the array, with all inner dimensions. 0: not known, or too large. */
static uint64_t element_bytes(Dwarf_Die *array, unsigned dimension)
{
	uint64_t bytes, n;
	Dwarf_Die type;

	if (!dwarf_type_plain(array, &type))
		return 0;
	bytes = dwarf_type_bytes(&type);
	for (unsigned i = dimension + 1; dwarf_type_dimension(array, i, &n); i++)
		if (__builtin_mul_overflow(bytes, n, &bytes))
			return 0;
	return bytes;
}

/* --- pointers --------------------------------------------------------------------------------- */

/* Makes of a pointer what it points to. */
static int follow_pointer(struct expression *e, struct expression_value *v, const char *at)
{
	Dwarf_Die pointer = v->type;

	if (v->address) {
		v->address = false;
		v->memory = true;
		return 0;
	}
	if (v->memory && !sym_chain_load(&v->chain))
		return fault_at(e, at, EINVAL, "there are too many pointers on the way");
	v->memory = true;
	take_type(v, &pointer);
	return 0;
}

/* A reference of C++ is what it refers to. */
static int follow_references(struct expression *e, struct expression_value *v, const char *at)
{
	int r = 0;

	while (r == 0 && !v->address && is_reference(tag_of(v)))
		r = follow_pointer(e, v, at);
	return r;
}

/* Element i of an array, or what a pointer leads to, i elements on. Of an array of arrays the
 * outermost dimension comes first. */
static int index_value(struct expression *e, struct expression_value *v, int64_t i, const char *at)
{
	uint64_t bytes, ignored;
	int64_t by;
	Dwarf_Die array = v->type;
	bool is_array = !v->address && tag_of(v) == DW_TAG_array_type;
	int r = 0;

	if (!is_array && !v->address && tag_of(v) != DW_TAG_pointer_type)
		return fault_at(e, at, EINVAL, "%s is neither an array nor a pointer", v->name);
	if (is_array && !v->memory)
		return fault_at(e, at, EINVAL, "%s is in a register here, not in memory", v->name);
	if (!is_array)
		r = follow_pointer(e, v, at);
	if (r < 0)
		return r;
	bytes = is_array ? element_bytes(&array, v->dimension)
		: v->type.addr ? dwarf_type_bytes(&v->type) : 0;
	if (!bytes || bytes > INT64_MAX || __builtin_mul_overflow(i, (int64_t)bytes, &by))
		return fault_at(e, at, EINVAL, "the size of what %s holds is not known", v->name);
	sym_chain_add(&v->chain, by);
	if (is_array && dwarf_type_dimension(&array, v->dimension + 1, &ignored))
		v->dimension++;
	else if (is_array)
		take_type(v, &array);
	return 0;
}

/* --- members ---------------------------------------------------------------------------------- */

/* An attribute that is a constant without a sign. False: it is missing, or is another form. */
static bool number_of(Dwarf_Die *die, unsigned attribute, uint64_t *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (dwarf_formudata(dwarf_attr(die, attribute, &attr), &v))
		return false;
	*out = v;
	return true;
}

/* Goes to a member's location. False: it is not a constant distance away. Bit fields: DWARF 4 and
 * later count from the structure's beginning (DW_AT_data_bit_offset), earlier versions from the
 * highest bit of the member's own storage (DW_AT_bit_offset). The shift is from the lowest bit, as
 * the machine is little-endian. */
static bool go_to_member(struct expression_value *v, Dwarf_Die *member)
{
	uint64_t at = 0, bits, from, bytes;
	Dwarf_Die type;

	if (dwarf_hasattr(member, DW_AT_data_member_location) &&
	    !number_of(member, DW_AT_data_member_location, &at))
		return false;
	v->bits = 0;
	if (number_of(member, DW_AT_bit_size, &bits)) {
		bytes = dwarf_type_plain(member, &type) ? dwarf_type_bytes(&type) : 0;
		if (!bytes || bytes > 8 || !bits || bits > 8 * bytes)
			return false;
		if (number_of(member, DW_AT_data_bit_offset, &from)) {
			at += from / (8 * bytes) * bytes;
			from %= 8 * bytes;
		} else if (number_of(member, DW_AT_bit_offset, &from) && from <= 8 * bytes - bits) {
			from = 8 * bytes - bits - from;
		} else {
			return false;
		}
		if (from > 8 * bytes - bits)
			return false;
		v->bits = (uint8_t)bits;
		v->shift = (uint8_t)from;
	}
	sym_chain_add(&v->chain, (int64_t)at);
	take_type(v, member);
	return true;
}

/* A search for a member, and the names that it met. */
struct member_search { const char *name; size_t n; char names[NAMES_TOLD]; bool far; };

/* Finds the member among the class's own and those of nameless and base ones, depth first. All
 * names met are in s->names, for the sentence. */
static bool has_member(struct expression *e, struct expression_value *v, struct member_search *s,
		       unsigned depth);

/* Members of a nameless structure, and of a base class, are the structure's own. */
static bool is_member(struct expression *e, struct expression_value *v, Dwarf_Die *child,
		      struct member_search *s, unsigned depth)
{
	const char *name = dwarf_diename(child);
	struct expression_value inner = *v;
	int tag = dwarf_tag(child);

	if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
		return false;
	if (tag == DW_TAG_member && name) {
		tell_name(s->names, name);
		if (strlen(name) != s->n || memcmp(name, s->name, s->n) != 0)
			return false;
		s->far = !go_to_member(v, child);
		return true;
	}
	if (depth >= DEEPEST || !go_to_member(&inner, child) || !inner.type.addr ||
	    !dwarf_type_is_class(&inner.type) || !has_member(e, &inner, s, depth + 1))
		return false;
	*v = inner;
	return true;
}

static bool has_member(struct expression *e, struct expression_value *v, struct member_search *s,
		       unsigned depth)
{
	Dwarf_Die child;
	int r = dwarf_child(&v->type, &child);

	for (; r == 0 && e->members < MEMBERS_MOST; r = dwarf_siblingof(&child, &child)) {
		e->members++;
		if (is_member(e, v, &child, s, depth))
			return true;
	}
	return false;
}

/* The name at hand, n characters, becomes the value's. */
static void set_name(struct expression_value *v, const char *name, size_t n)
{
	snprintf(v->name, sizeof(v->name), "%.*s", (int)n, name);
}

/* Goes on to a member; a pointer to the structure is followed, whatever the operator. */
static int take_member(struct expression *e, struct expression_value *v, const char *at,
		       const char *name, size_t n, bool arrow)
{
	struct member_search s = { .name = name, .n = n };
	int r = 0;

	if (v->address || tag_of(v) == DW_TAG_pointer_type)
		r = follow_pointer(e, v, at);
	else if (arrow && v->type.addr && dwarf_type_is_class(&v->type))
		return fault_at(e, at, EINVAL, "%s is no pointer: write %s.%.*s", v->name, v->name,
				(int)n, name);
	if (r == 0)
		r = follow_references(e, v, at);
	if (r < 0)
		return r;
	if (!v->type.addr || !dwarf_type_is_class(&v->type))
		return fault_at(e, at, EINVAL, "%s is no structure", v->name);
	if (!v->memory)
		return fault_at(e, at, EINVAL,
				"%s is in a register here: its members cannot be told apart",
				v->name);
	if (dwarf_hasattr(&v->type, DW_AT_declaration))
		return fault_at(e, at, EINVAL,
				"the structure behind %s is only declared here: its members are not known",
				v->name);
	if (!has_member(e, v, &s, 0))
		return fault_at(e, name, ENOENT, "%s has no member %.*s; it has %s", v->name,
				(int)n, name, *s.names ? s.names : "none");
	if (s.far)
		return fault_at(e, name, EINVAL, "where %.*s lies in its structure is not constant",
				(int)n, name);
	set_name(v, name, n);
	return follow_references(e, v, name);
}

/* --- names ------------------------------------------------------------------------------------ */

/* The sentence, with names that there are; globals are too many to be told. */
static int unknown_name(struct expression *e, const char *name, size_t n)
{
	char names[NAMES_TOLD] = "";

	for (size_t i = 0; i < e->sc->variables.n; i++) {
		Dwarf_Die die = e->sc->variables.at[i].die;
		const char *one = dwarf_diename(&die);

		if (e->sc->variables.at[i].block != SCOPE_GLOBAL && one)
			tell_name(names, one);
	}
	return fault_at(e, name, ENOENT, "no variable %.*s is visible here%s%s", (int)n, name,
			*names ? "; these are: " : "", names);
}

/* The variable's location at the scope's instruction; at a return only what is global still has
 * one. */
static int take_variable(struct expression *e, struct expression_value *v, const char *name,
			 size_t n)
{
	const struct scope_variable *is = source_variable(e->sc, name, n);
	Dwarf_Die die;
	char *why;
	int r;

	if (!is)
		return unknown_name(e, name, n);
	if (e->at_return && is->block != SCOPE_GLOBAL)
		return fault_at(e, name, EINVAL,
				"%.*s is not kept until the function returns: there is $retval, and what is global",
				(int)n, name);
	why = source_locate(e->sc, is, &v->chain, &v->memory);
	if (why) {
		r = fault_at(e, name, EINVAL, "%.*s %s", (int)n, name, why);
		free(why);
		return r;
	}
	die = is->die;
	take_type(v, &die);
	set_name(v, name, n);
	return follow_references(e, v, name);
}

/* $retval: what the function returns. What a function returns has a place of its own
 * (sym/argument_returned.c); at its beginning a scope's blocks hold the function itself, and not a
 * copy of it that was inlined. */
static int take_result(struct expression *e, struct expression_value *v, const char *at)
{
	uint64_t entry;
	Dwarf_Die function;

	if (!e->at_return)
		return fault_at(e, at, EINVAL, "$retval is what a function returns: write r: or %%return");
	if (!source_entry(e->sc, &entry) || entry != e->sc->vaddr)
		return fault_at(e, at, EINVAL,
				"no function begins here: what an inlined copy returns is not told apart");
	function = e->sc->blocks.at[0].die;
	for (size_t i = 0; i < e->sc->blocks.n; i++)
		if (e->sc->blocks.at[i].is_function)
			function = e->sc->blocks.at[i].die;
	v->chain = (struct sym_chain){ .base = SYM_CHAIN_RESULT };
	v->memory = false;
	take_type(v, &function);
	set_name(v, "retval", 6);
	if (!v->type.addr)
		return fault_at(e, at, ENODATA, "the function returns nothing");
	return follow_references(e, v, at);
}

/* --- the grammar ------------------------------------------------------------------------------ */

static void skip_blanks(struct expression *e)
{
	while (e->at < e->end && isspace((unsigned char)*e->at))
		e->at++;
}

/* Characters of the name at hand; :: is a part of C++'s. 0 where a digit stands first: that is a
 * number. */
static size_t name_length(const struct expression *e)
{
	const char *at = e->at;

	while (at < e->end && (isalnum((unsigned char)*at) || *at == '_' ||
			       (at + 1 < e->end && at[0] == ':' && at[1] == ':')))
		at += *at == ':' ? 2 : 1;
	return at > e->at && isdigit((unsigned char)*e->at) ? 0 : (size_t)(at - e->at);
}

/* Takes the text if it comes next, behind blanks. */
static bool take_text(struct expression *e, const char *text)
{
	size_t n = strlen(text);

	skip_blanks(e);
	if ((size_t)(e->end - e->at) < n || memcmp(e->at, text, n) != 0)
		return false;
	e->at += n;
	return true;
}

static int parse_unary(struct expression *e, struct expression_value *v);

/* A name, $retval, or an expression in parentheses. */
static int parse_primary(struct expression *e, struct expression_value *v)
{
	const char *at;
	size_t n;
	int r;

	skip_blanks(e);
	at = e->at;
	if (take_text(e, "(")) {
		r = parse_unary(e, v);
		if (r == 0 && !take_text(e, ")"))
			r = fault_at(e, e->at, EINVAL, "a ) is missing here");
		return r;
	}
	if (take_text(e, "$retval"))
		return take_result(e, v, at);
	n = name_length(e);
	if (!n)
		return fault_at(e, at, EINVAL, "a variable's name is expected here");
	e->at += n;
	return take_variable(e, v, at, n);
}

/* Reads a number between brackets. strtoll() takes decimal, octal and hexadecimal numbers, as C
 * writes them. */
static int parse_index(struct expression *e, struct expression_value *v, const char *at)
{
	const char *from;
	char digits[24], *rest;
	size_t n = 0;
	long long i;

	skip_blanks(e);
	from = e->at;
	while (e->at < e->end && n < sizeof(digits) - 1 &&
	       (isalnum((unsigned char)*e->at) || (!n && *e->at == '-')))
		digits[n++] = *e->at++;
	digits[n] = '\0';
	errno = 0;
	i = strtoll(digits, &rest, 0);
	if (!n || *rest || errno)
		return fault_at(e, from, EINVAL, "an index is a number");
	if (!take_text(e, "]"))
		return fault_at(e, e->at, EINVAL, "a ] is missing here");
	return index_value(e, v, i, at);
}

/* The parts behind a value: elements and members. The column of a fault is that of the operator,
 * and of an unknown member that of its name. */
static int parse_suffixes(struct expression *e, struct expression_value *v)
{
	int r = 0;

	while (r == 0) {
		const char *at;
		bool arrow;
		size_t n;

		skip_blanks(e);
		at = e->at;
		if (take_text(e, "[")) {
			r = parse_index(e, v, at);
			continue;
		}
		arrow = take_text(e, "->");
		if (!arrow && !take_text(e, "."))
			break;
		skip_blanks(e);
		n = name_length(e);
		if (!n)
			return fault_at(e, e->at, EINVAL, "a member's name is expected here");
		e->at += n;
		r = take_member(e, v, at, e->at - n, n, arrow);
	}
	return r;
}

/* Operators behind a name bind tightest. */
static int parse_postfix(struct expression *e, struct expression_value *v)
{
	int r = parse_primary(e, v);

	return r ? r : parse_suffixes(e, v);
}

/* * and & bind less than what stands behind a name. */
static int parse_unary(struct expression *e, struct expression_value *v)
{
	const char *at;
	int r;

	skip_blanks(e);
	at = e->at;
	if (++e->depth > DEEPEST)
		return fault_at(e, at, EINVAL, "the expression is too deep");
	if (take_text(e, "*")) {
		r = parse_unary(e, v);
		if (r == 0 && !v->address && tag_of(v) != DW_TAG_pointer_type &&
		    tag_of(v) != DW_TAG_array_type)
			return fault_at(e, at, EINVAL, "%s is no pointer", v->name);
		return r ? r : index_value(e, v, 0, at);
	}
	if (take_text(e, "&")) {
		r = parse_unary(e, v);
		if (r == 0 && (!v->memory || v->address || v->bits))
			return fault_at(e, at, EINVAL, "%s has no address here", v->name);
		v->address = true;
		v->memory = false;
		return r;
	}
	return parse_postfix(e, v);
}

/* --- what it holds ---------------------------------------------------------------------------- */

/* Sizes that a probe fetches as a number. */
static bool is_whole_size(uint64_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* DWARF tells characters apart from numbers; both have a sign, or none. */
static bool is_signed(unsigned encoding)
{
	return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}

/* An enumeration's underlying type tells its sign. */
static unsigned encoding_of(Dwarf_Die *type)
{
	Dwarf_Die under;

	if (dwarf_tag(type) == DW_TAG_enumeration_type && dwarf_type_plain(type, &under))
		return dwarf_type_encoding(&under);
	return dwarf_type_encoding(type);
}

/* The sentence names the members: has_member() with an empty name finds none, and meets all. */
static int refuse_structure(struct expression *e, struct expression_value *v)
{
	struct member_search s = { .name = "", .n = 0 };
	struct expression_value all = *v;

	has_member(e, &all, &s, 0);
	return fault_at(e, e->text, EINVAL, "%s is a structure; name one of its members: %s",
			v->name, *s.names ? s.names : "none is known");
}

/* A number, a pointer, or one element of an array. */
static int describe_scalar(struct expression *e, struct expression_value *v, Dwarf_Die *type,
			   bool any_type, struct sym_fetched *out)
{
	unsigned encoding = encoding_of(type);
	uint64_t bytes = dwarf_type_bytes(type);
	Dwarf_Die target;

	if (dwarf_type_is_pointer(type)) {
		out->size = POINTER_BYTES;
		out->type = dwarf_type_plain(type, &target) && dwarf_type_is_char(&target)
				    ? SYM_FETCHED_STRING_AT
				    : SYM_FETCHED_POINTER;
		return 0;
	}
	if (dwarf_type_is_class(type))
		return any_type && v->memory ? 0 : refuse_structure(e, v);
	if (!is_whole_size(bytes))
		return any_type ? 0
				: fault_at(e, e->text, EINVAL,
					   "%s has %llu bytes, which are no number", v->name,
					   (unsigned long long)bytes);
	if (encoding == DW_ATE_float && !any_type)
		return fault_at(e, e->text, EINVAL,
				"%s is a floating-point number, which events do not have; :x%u shows its bits",
				v->name, (unsigned)bytes * 8);
	out->size = (uint8_t)bytes;
	out->type = dwarf_type_is_char(type) ? SYM_FETCHED_CHAR
		    : is_signed(encoding)    ? SYM_FETCHED_SIGNED
					     : SYM_FETCHED_UNSIGNED;
	return 0;
}

/* Arrays of characters are strings; others have their elements. An array of arrays has no one
 * count, and a record has room for one list. */
static int describe_array(struct expression *e, struct expression_value *v, bool any_type,
			  struct sym_fetched *out)
{
	Dwarf_Die element;
	uint64_t n = 0, ignored;

	if (!v->memory)
		return fault_at(e, e->text, EINVAL, "%s is in a register here, not in memory",
				v->name);
	if (any_type)
		return 0;
	if (!dwarf_type_plain(&v->type, &element) ||
	    dwarf_type_dimension(&v->type, v->dimension + 1, &ignored))
		return fault_at(e, e->text, EINVAL, "%s is an array of arrays: name an element",
				v->name);
	if (dwarf_type_is_char(&element)) {
		out->type = SYM_FETCHED_STRING;
		return 0;
	}
	dwarf_type_dimension(&v->type, v->dimension, &n);
	if (!n)
		return fault_at(e, e->text, EINVAL,
				"how long %s is is not known: name an element", v->name);
	out->count = n;
	return describe_scalar(e, v, &element, false, out);
}

/* The value's description for whoever fetches it. any_type: the user has named a type, so that
 * what it is does not matter. */
static int describe(struct expression *e, struct expression_value *v, bool any_type,
		    struct sym_fetched *out)
{
	*out = (struct sym_fetched){ .chain = v->chain, .memory = v->memory, .bits = v->bits,
				     .shift = v->shift };
	memcpy(out->name, v->name, sizeof(out->name));
	if (v->address) {
		out->type = SYM_FETCHED_POINTER;
		out->size = POINTER_BYTES;
		return 0;
	}
	if (!v->type.addr)
		return any_type ? 0
				: fault_at(e, e->text, EINVAL,
					   "what %s leads to has no type: write one, as in :x64",
					   v->name);
	if (dwarf_tag(&v->type) == DW_TAG_array_type)
		return describe_array(e, v, any_type, out);
	return describe_scalar(e, v, &v->type, any_type, out);
}

/* A unary expression is the whole grammar: there is no arithmetic, because a probe loads values and
 * does not compute. */
int sym_scope_fetch(struct sym_scope *sc, const char *text, size_t n, bool at_return, bool any_type,
		    struct sym_fetched *out, struct err *err)
{
	struct expression e = { .sc = sc, .text = text, .at = text, .end = text + n,
				.at_return = at_return, .err = err };
	struct expression_value v = { 0 };
	int r = parse_unary(&e, &v);

	skip_blanks(&e);
	if (r == 0 && e.at < e.end)
		r = fault_at(&e, e.at, EINVAL, "this does not belong to an expression");
	return r ? r : describe(&e, &v, any_type, out);
}

/* --- members of a structure that is nobody's variable ----------------------------------------- */

/* The structure as a value of its own: its address is what the chain begins with. */
static struct expression_value whole_structure(const struct sym_structure *st)
{
	return (struct expression_value){ .type = st->die, .memory = true,
					  .chain = { .base = SYM_CHAIN_NUMBER } };
}

/* Nothing is followed: only the names of members are looked at. */
bool sym_structure_has(struct sym_structure *st, const char *name, size_t n)
{
	struct expression e = { 0 };
	struct expression_value v = whole_structure(st);
	struct member_search s = { .name = name, .n = n };

	return has_member(&e, &v, &s, 0);
}

int sym_structure_fetch(struct sym_structure *st, const char *text, size_t at, size_t n,
			struct sym_fetched *out, struct err *err)
{
	struct expression e = { .text = text, .at = text + at, .end = text + at + n, .err = err };
	struct expression_value v = whole_structure(st);
	const char *is = dwarf_diename(&st->die);
	size_t length;
	int r;

	set_name(&v, is ? is : "it", is ? strlen(is) : 2);
	skip_blanks(&e);
	length = name_length(&e);
	if (!length)
		return fault_at(&e, e.at, EINVAL, "a member's name is expected here");
	e.at += length;
	r = take_member(&e, &v, e.at - length, e.at - length, length, false);
	if (r == 0)
		r = parse_suffixes(&e, &v);
	skip_blanks(&e);
	if (r == 0 && e.at < e.end)
		r = fault_at(&e, e.at, EINVAL, "this does not belong to a member");
	return r ? r : describe(&e, &v, false, out);
}

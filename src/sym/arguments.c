/* SPDX-License-Identifier: MIT */
/* Reads from a module's debug information what its functions take, in one walk (dwarf_walk.h), on
 * the caller's thread. A file that is malformed fails as a whole; a type that cannot be recorded
 * ends the list of parameters with "...", because where the next ones are is then not known. */
#include "sym/arguments.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sym/dwarf_walk.h"
#include "sym/type_name.h"

#define DEEPEST 24          /* types behind types */
#define CHILDREN_MOST 128   /* of an enumeration; a number without a name is shown */
#define NAME_LONGEST 64
#define ENUM_LONGEST 1024   /* of one's text */
#define TAKES_LONGEST 2048  /* of a function's text, about */
#define RANGES_MOST 8       /* that a parameter has a place for; the first instruction's is first */
#define ORIGINS_MOST 4
#define WORK_A_PARAMETER 256 /* in the walk's measure: its type is looked up, and its place */
#define BY_REFERENCE 4      /* DW_CC_pass_by_reference */
#define REGISTERS_MOST 16   /* bytes of a structure that is returned in registers */

struct arguments_walk {
	struct sym_arguments_list *out;
	sym_wanted *wanted;
	void *context;
	/* C and C++: their compilers follow the calling convention */
	bool conventional;
};

/* --- types ---------------------------------------------------------------------------------- */

static bool is_qualifier(int tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

/* The type of a DIE without typedefs and qualifiers. False: it has none, which is void. */
static bool plain_type(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	*type = *die;
	for (int i = 0; i < DEEPEST; i++) {
		if (!dwarf_formref_die(dwarf_attr_integrate(type, DW_AT_type, &attr), type))
			return false;
		if (!is_qualifier(dwarf_tag(type)))
			return true;
	}
	return false;
}

/* 0: the debug information does not say. */
static uint64_t type_bytes(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word bytes;

	return dwarf_formudata(dwarf_attr_integrate(type, DW_AT_byte_size, &attr), &bytes) ? 0
											    : bytes;
}

static bool is_recorded_size(uint64_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* int8_t is a signed char; only what is called char is a character. */
static bool is_char(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return dwarf_tag(type) == DW_TAG_base_type && type_bytes(type) == 1 && name &&
	       strcmp(name, "char") == 0;
}

/* NULL: it cannot be recorded. */
static char *base_type(Dwarf_Die *type)
{
	uint64_t bytes = type_bytes(type);
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	if (!is_recorded_size(bytes) ||
	    dwarf_formudata(dwarf_attr_integrate(type, DW_AT_encoding, &attr), &encoding))
		return NULL;
	if (is_char(type))
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

/* A name is part of the prototype's text: only C's own characters may be. */
static bool is_plain_name(const char *name)
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
	uint64_t bytes = type_bytes(type);
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

		if (dwarf_tag(&child) != DW_TAG_enumerator || !name || !is_plain_name(name) ||
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

static bool is_class(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type;
}

/* C++ passes what has a copy constructor or a destructor by its address. */
static bool is_by_reference(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word how;

	return is_class(dwarf_tag(type)) &&
	       dwarf_formudata(dwarf_attr(type, DW_AT_calling_convention, &attr), &how) == 0 &&
	       how == BY_REFERENCE;
}

/* A pointer to characters is a string, whose bytes are recorded; of any other the address is. */
static char *pointer_type(Dwarf_Die *type)
{
	Dwarf_Die target;

	return mem_strdup(plain_type(type, &target) && is_char(&target) ? "s" : "p");
}

/* The prototype's TYPE; NULL: it cannot be recorded. */
static char *type_text(Dwarf_Die *type)
{
	if (is_by_reference(type))
		return mem_strdup("p");
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type: return base_type(type);
	case DW_TAG_enumeration_type: return enum_type(type);
	case DW_TAG_pointer_type: return pointer_type(type);
	case DW_TAG_reference_type: case DW_TAG_rvalue_reference_type: return mem_strdup("p");
	}
	return NULL;
}

/* --- places --------------------------------------------------------------------------------- */

/* The place that an expression tells, at the first instruction. */
static struct sym_place place_of(const Dwarf_Op *op, size_t n)
{
	if (n == 1 && op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return (struct sym_place){ SYM_PLACE_REGISTER, op->atom - DW_OP_reg0 };
	if (n == 1 && op->atom == DW_OP_regx && op->number <= INT8_MAX)
		return (struct sym_place){ SYM_PLACE_REGISTER, (int32_t)op->number };
	return (struct sym_place){ SYM_PLACE_NOWHERE, 0 };
}

/* True: gcc's frames count from the caller's stack pointer before the call. */
static bool is_cfa_frame(Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	return dwarf_getlocation(dwarf_attr_integrate(function, DW_AT_frame_base, &attr), &op,
				 &n) == 0 && n == 1 && op->atom == DW_OP_call_frame_cfa;
}

/* A list of places that change as the function runs: the one at its first instruction. */
static struct sym_place listed_place(Dwarf_Attribute *attr, Dwarf_Die *function, Dwarf_Addr entry)
{
	Dwarf_Addr base, begin = 1, end = 0;
	ptrdiff_t at = 0;
	Dwarf_Op *op;
	size_t n = 0;

	for (int i = 0; i < RANGES_MOST && !(begin <= entry && entry < end); i++) {
		at = dwarf_getlocations(attr, at, &base, &begin, &end, &op, &n);
		if (at <= 0)
			return (struct sym_place){ SYM_PLACE_NOWHERE, 0 };
	}
	if (!n || entry < begin || entry >= end)
		return (struct sym_place){ SYM_PLACE_NOWHERE, 0 };
	if (n == 1 && op->atom == DW_OP_fbreg && (int64_t)op->number >= 0 &&
	    op->number <= INT16_MAX && is_cfa_frame(function))
		return (struct sym_place){ SYM_PLACE_STACK, (int32_t)op->number };
	return place_of(op, n);
}

/* One place for the whole function: a register; or, in code that was not optimised, where the
 * function itself puts what the convention hands to it. */
static struct sym_place single_place(const struct arguments_walk *w, Dwarf_Attribute *attr)
{
	struct sym_place place = { SYM_PLACE_NOWHERE, 0 };
	Dwarf_Op *op;
	size_t n;

	if (dwarf_getlocation(attr, &op, &n) == 0 && n)
		place = place_of(op, n);
	if (place.kind == SYM_PLACE_NOWHERE && w->conventional)
		place.kind = SYM_PLACE_ABI;
	return place;
}

/* Finds where the parameter is when the function begins. A form that is an expression tells one
 * place; every other form refers to a list of places. */
static struct sym_place parameter_place(const struct arguments_walk *w, Dwarf_Die *die,
					Dwarf_Die *function, Dwarf_Addr entry)
{
	Dwarf_Attribute attr;
	unsigned form;

	if (!dwarf_attr(die, DW_AT_location, &attr))
		return (struct sym_place){ SYM_PLACE_NOWHERE, 0 };
	form = dwarf_whatform(&attr);
	if (form == DW_FORM_exprloc || form == DW_FORM_block1 || form == DW_FORM_block2 ||
	    form == DW_FORM_block4 || form == DW_FORM_block)
		return single_place(w, &attr);
	return listed_place(&attr, function, entry);
}

/* --- functions ------------------------------------------------------------------------------ */

/* Whether the caller passes an address for what is returned. */
static bool returns_hidden(Dwarf_Die *function)
{
	Dwarf_Die type;

	return plain_type(function, &type) && is_class(dwarf_tag(&type)) &&
	       (is_by_reference(&type) || type_bytes(&type) > REGISTERS_MOST);
}

/* Adds one parameter to `takes`. False: it cannot be recorded, and ends the list. */
static bool add_parameter(const struct arguments_walk *w, struct sym_arguments *a, Dwarf_Die *die,
			  Dwarf_Die *function, uint64_t entry)
{
	struct sym_place place = parameter_place(w, die, function, entry);
	const char *name = dwarf_diename(die);
	bool named = name && is_plain_name(name);
	bool full = a->places.n == PROTOTYPE_PARAMETERS || strlen(a->takes) > TAKES_LONGEST;
	Dwarf_Die type;
	char *text = !full && plain_type(die, &type) ? type_text(&type) : NULL, *more;

	more = mem_printf("%s%s%s%s%s", a->takes, *a->takes ? "," : "", text && named ? name : "",
			  text && named ? "=" : "",
			  !text			       ? "..." :
			  place.kind == SYM_PLACE_NOWHERE ? "?" :
							 text);
	free(a->takes);
	a->takes = more;
	if (text)
		*vec_add(&a->places) = place;
	free(text);
	return text != NULL;
}

/* A clone of the function may take fewer parameters than its source says: where one is left out,
 * the convention no longer tells where the others are. */
static void distrust_clones(struct sym_arguments *a)
{
	bool lacks = false;

	for (size_t i = 0; i < a->places.n; i++)
		lacks |= a->places.at[i].kind == SYM_PLACE_NOWHERE;
	for (size_t i = 0; lacks && i < a->places.n; i++)
		if (a->places.at[i].kind == SYM_PLACE_ABI)
			a->places.at[i].kind = SYM_PLACE_NOWHERE;
}

/* Reads parameters up to the first that cannot be recorded, or until the walk's work is used up. */
static void read_parameters(const struct arguments_walk *w, struct dwarf_walk *walk,
			    struct sym_arguments *a, Dwarf_Die *function)
{
	struct type_scopes counted = { 0 };
	Dwarf_Die child;
	int r = dwarf_child(function, &child);

	for (; r == 0 && dwarf_walk_spend(walk, WORK_A_PARAMETER);
	     r = type_next(&counted, &child)) {
		int tag = dwarf_tag(&child);
		char *more;

		if (tag == DW_TAG_formal_parameter) {
			if (!add_parameter(w, a, &child, function, a->vaddr))
				return;
		} else if (tag == DW_TAG_unspecified_parameters) {
			more = mem_printf("%s%s...", a->takes, *a->takes ? "," : "");
			free(a->takes);
			a->takes = more;
			return;
		}
	}
}

/* Adds a function to the list. A value that cannot be recorded, or that is returned in the caller's
 * memory by its address, is "?". */
static void read_function(const struct arguments_walk *w, struct dwarf_walk *walk,
			  Dwarf_Die *function, uint64_t entry)
{
	struct sym_arguments a = { .vaddr = entry, .takes = mem_strdup("") };
	Dwarf_Die type;

	if (!plain_type(function, &type))
		a.returns = mem_strdup("v");
	else
		a.returns = type_text(&type);
	if (!a.returns || is_by_reference(&type)) {
		free(a.returns);
		a.returns = mem_strdup("?");
	}
	a.hidden = returns_hidden(function);
	read_parameters(w, walk, &a, function);
	distrust_clones(&a);
	*vec_add(&w->out->at) = a;
}

/* dwarf_visitor: takes the functions with code that the caller asks for, while the walk has work
 * left. */
static void see_die(struct dwarf_walk *walk, const struct dwarf_seen *seen, void *context)
{
	struct arguments_walk *w = context;
	Dwarf_Addr entry;

	if (seen->tag == DW_TAG_subprogram && dwarf_walk_has_code(seen->die) &&
	    dwarf_walk_spend(walk, dwarf_walk_attributes(walk, seen->die)) &&
	    dwarf_walk_entry(seen->die, &entry) && w->wanted(w->context, entry))
		read_function(w, walk, seen->die, entry);
}

/* dwarf_visitor: notes whether the unit's compiler follows the calling convention. Others, such as
 * Go's and Rust's own, may pass parameters anywhere. */
static void begin_unit(struct dwarf_walk *walk, Dwarf_Die *unit, Dwarf_Die *lines_of, void *context)
{
	static const int languages[] = {
		DW_LANG_C, DW_LANG_C89, DW_LANG_C99, DW_LANG_C11, DW_LANG_C_plus_plus,
		DW_LANG_C_plus_plus_03, DW_LANG_C_plus_plus_11, DW_LANG_C_plus_plus_14,
	};
	struct arguments_walk *w = context;
	int language = dwarf_srclang(unit);

	(void)walk, (void)lines_of;
	w->conventional = false;
	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
		w->conventional |= language == languages[i];
}

/* --- the list ------------------------------------------------------------------------------- */

static void free_arguments(struct sym_arguments *a)
{
	vec_free(&a->places);
	free(a->returns);
	free(a->takes);
}

static int by_vaddr(const void *a, const void *b)
{
	const struct sym_arguments *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static bool says_the_same(const struct sym_arguments *a, const struct sym_arguments *b)
{
	return strcmp(a->takes, b->takes) == 0 && strcmp(a->returns, b->returns) == 0;
}

/* Functions that the linker folded share their code: where they take different things, nothing is
 * known of either. */
static void keep_one_each(struct sym_arguments_list *out)
{
	size_t kept = 0;

	if (out->at.n)
		qsort(out->at.at, out->at.n, sizeof(out->at.at[0]), by_vaddr);
	for (size_t i = 0, next; i < out->at.n; i = next) {
		bool same = true;

		for (next = i + 1;
		     next < out->at.n && out->at.at[next].vaddr == out->at.at[i].vaddr; next++) {
			same = same && says_the_same(&out->at.at[i], &out->at.at[next]);
			free_arguments(&out->at.at[next]);
		}
		if (same)
			out->at.at[kept++] = out->at.at[i];
		else
			free_arguments(&out->at.at[i]);
	}
	out->at.n = kept;
}

int sym_arguments_read(const struct sym_module *m, sym_wanted *wanted, void *context,
		       struct sym_arguments_list *out, struct err *err)
{
	struct arguments_walk w = { .out = out, .wanted = wanted, .context = context };
	const struct dwarf_visitor visitor = { &w, see_die, begin_unit, NULL };
	int r;

	*out = (struct sym_arguments_list){ 0 };
	r = dwarf_walk(m, &visitor, &out->has_dwarf, &out->left_out, err);
	keep_one_each(out);
	if (r)
		sym_arguments_free(out);
	return r;
}

const struct sym_arguments *sym_arguments_at(const struct sym_arguments_list *l, uint64_t vaddr)
{
	size_t i = vec_bisect(&l->at, known, known->vaddr < vaddr);

	return i < l->at.n && l->at.at[i].vaddr == vaddr ? &l->at.at[i] : NULL;
}

void sym_arguments_free(struct sym_arguments_list *l)
{
	for (size_t i = 0; i < l->at.n; i++)
		free_arguments(&l->at.at[i]);
	vec_free(&l->at);
	free(l->left_out);
	*l = (struct sym_arguments_list){ 0 };
}

/* SPDX-License-Identifier: MIT */
/* Reads from a module's debug information what its functions take, in one walk (dwarf_walk.h), on
 * the caller's thread. A file that is malformed fails as a whole; a type that cannot be recorded
 * ends the list of parameters with "...", because where the next ones are is then not known. */
#include "sym/arguments.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/probe_regs.h"
#include "base/mem.h"
#include "sym/argument_types.h"
#include "sym/dwarf_type.h"
#include "sym/dwarf_walk.h"
#include "sym/type_name.h"

#define TAKES_LONGEST 2048  /* of a function's text, about */
#define RANGES_MOST 8       /* of a parameter's locations; the first instruction's is first */
#define ORIGINS_MOST 4
#define WORK_A_PARAMETER 256 /* in the walk's measure: its type is looked up, and its location */

struct arguments_walk {
	struct sym_arguments_list *out;
	sym_wanted *wanted;
	void *context;
	/* C and C++: their compilers follow the calling convention */
	bool conventional;
	bool gcc; /* of the unit */
	unsigned depth; /* of structures that are followed by their address */
	const char *structure; /* only functions that take one by its address; NULL: all */
	const struct sym_base *bases; /* or one of these */
	uint32_t n_bases;
};

/* --- locations -------------------------------------------------------------------------------- */

/* The registers in which a value's words of 8 bytes are, whole or as far as they have members: an
 * expression of pieces. */
static struct sym_location composite_location(const Dwarf_Op *op, size_t n)
{
	const struct sym_location nowhere = { SYM_LOCATION_NONE };
	int32_t words[2] = { -1, -1 };
	uint64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		bool in_register = op[i].atom >= DW_OP_reg0 && op[i].atom <= DW_OP_reg31;

		if (in_register && (at % 8 || at > 8))
			return nowhere;
		if (in_register)
			words[at / 8] = op[i++].atom - DW_OP_reg0;
		/* A piece without a register is the padding of a word, or a part that is lost. */
		if (i == n || op[i].atom != DW_OP_piece || op[i].number > 8)
			return nowhere;
		at += op[i].number;
	}
	if (words[0] < 0 || (at > 8 && words[1] < 0))
		return nowhere;
	return (struct sym_location){ at > 8 ? SYM_LOCATION_PIECES : SYM_LOCATION_REGISTER,
				      words[0], words[1] };
}

/* The location that an expression tells, at the first instruction. */
static struct sym_location read_location(const Dwarf_Op *op, size_t n)
{
	if (n == 1 && op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return (struct sym_location){ SYM_LOCATION_REGISTER, op->atom - DW_OP_reg0 };
	if (n == 1 && op->atom == DW_OP_regx && op->number <= INT8_MAX)
		return (struct sym_location){ SYM_LOCATION_REGISTER, (int32_t)op->number };
	if (n > 1)
		return composite_location(op, n);
	return (struct sym_location){ SYM_LOCATION_NONE, 0 };
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

/* A list of locations that change as the function runs: the one at its first instruction. */
static struct sym_location listed_location(Dwarf_Attribute *attr, Dwarf_Die *function,
					   Dwarf_Addr entry)
{
	Dwarf_Addr base, begin = 1, end = 0;
	ptrdiff_t at = 0;
	Dwarf_Op *op;
	size_t n = 0;

	for (int i = 0; i < RANGES_MOST && !(begin <= entry && entry < end); i++) {
		at = dwarf_getlocations(attr, at, &base, &begin, &end, &op, &n);
		if (at <= 0)
			return (struct sym_location){ SYM_LOCATION_NONE, 0 };
	}
	if (!n || entry < begin || entry >= end)
		return (struct sym_location){ SYM_LOCATION_NONE, 0 };
	if (n == 1 && op->atom == DW_OP_fbreg && (int64_t)op->number >= 0 &&
	    op->number <= INT16_MAX && is_cfa_frame(function))
		return (struct sym_location){ SYM_LOCATION_STACK, (int32_t)op->number };
	return read_location(op, n);
}

/* The parameter's one location for the whole function: a register; or, in code that was not
 * optimised, where the function itself puts what the convention hands to it. */
static struct sym_location single_location(const struct arguments_walk *w, Dwarf_Attribute *attr)
{
	struct sym_location location = { SYM_LOCATION_NONE, 0 };
	Dwarf_Op *op;
	size_t n;

	if (dwarf_getlocation(attr, &op, &n) == 0 && n)
		location = read_location(op, n);
	if (location.kind == SYM_LOCATION_NONE && w->conventional)
		location.kind = SYM_LOCATION_ABI;
	return location;
}

/* Finds where the parameter is when the function begins. A form that is an expression tells one
 * location; every other form refers to a list of locations. */
static struct sym_location parameter_location(const struct arguments_walk *w, Dwarf_Die *die,
					      Dwarf_Die *function, Dwarf_Addr entry)
{
	Dwarf_Attribute attr;
	unsigned form;

	if (!dwarf_attr(die, DW_AT_location, &attr))
		return (struct sym_location){ SYM_LOCATION_NONE, 0 };
	form = dwarf_whatform(&attr);
	if (form == DW_FORM_exprloc || form == DW_FORM_block1 || form == DW_FORM_block2 ||
	    form == DW_FORM_block4 || form == DW_FORM_block)
		return single_location(w, &attr);
	return listed_location(&attr, function, entry);
}

/* --- functions -------------------------------------------------------------------------------- */

/* The parameter and, of a structure, its members. */
static uint32_t values_in(const char *text)
{
	uint32_t n = 1;

	for (; *text; text++)
		n += *text == '@';
	return n;
}

/* Whether two registers follow each other in the convention. Of a number in two of them gcc tells,
 * in optimised code, where it is a few instructions later. */
static bool is_pair(const struct sym_location *location)
{
	static const uint8_t numbers[] = PROBE_CALLED_WITH, of[] = PROBE_OF_DWARF;
	const uint32_t first = (uint32_t)location->at, second = (uint32_t)location->second;
	bool is = false;

	for (size_t i = 0; i + 1 < sizeof(numbers); i++)
		is |= first < sizeof(of) && second < sizeof(of) && of[first] == numbers[i] &&
		      of[second] == numbers[i + 1];
	return is;
}

/* A structure's words may be in places that one register does not tell: the convention puts one of
 * two words into two, and a clone may get its members one by one. */
static bool fits_structure(struct sym_location *location, const struct sym_location *passed)
{
	if (passed->empty || (passed->aligned && location->kind == SYM_LOCATION_PIECES &&
			      !is_pair(location)))
		location->kind = SYM_LOCATION_NONE;
	if (!passed->words)
		return location->kind != SYM_LOCATION_PIECES;
	if (location->kind == SYM_LOCATION_REGISTER)
		return passed->words == 1 || passed->vector;
	if (location->kind == SYM_LOCATION_PIECES)
		return passed->words == 2 && !passed->memory && !passed->vector;
	return true;
}

/* Whether the parameter points to the structure, or to what has it, or to a base of it. */
static bool leads_to_object(const struct arguments_walk *w, Dwarf_Die *die,
			    struct sym_location *out)
{
	if (!w->structure)
		return false;
	out->base = false;
	if (dwarf_type_leads_to(die, w->structure, &out->object_at))
		return true;
	for (uint32_t i = 0; i < w->n_bases; i++)
		if (dwarf_type_points_to(die, w->bases[i].name)) {
			out->object_at = -w->bases[i].at;
			out->base = true;
			return true;
		}
	return false;
}

/* Whether the function's parameters are those that its source says: of a clone, which may take
 * others, gcc's description has an origin in place of a name. */
static bool is_as_written(Dwarf_Die *function)
{
	return dwarf_hasattr(function, DW_AT_name) || dwarf_hasattr(function, DW_AT_specification);
}

/* Whether gcc has lost a structure of two registers. Its optimised code tells of one only from the
 * instruction on that first copies or changes a part of it; at the first instruction it is where
 * the convention has it. */
static bool is_untold_pair(const struct arguments_walk *w, Dwarf_Die *function,
			   const struct sym_location *location, const struct sym_location *passed)
{
	return location->kind == SYM_LOCATION_NONE && w->gcc && w->conventional &&
	       passed->words == 2 && !passed->memory && !passed->vector && !passed->empty &&
	       !passed->aligned && is_as_written(function);
}

#define NUMBERS 6u /* registers of numbers, by the convention */

/* Whether the convention tells where the parameter is behind one that is `unsure`: a number in one
 * of the first registers is not moved by it. Counts the words of numbers. */
static bool is_sure(struct sym_arguments *a, const struct sym_location *location,
		    const struct sym_location *passed, const char *text)
{
	bool number = !passed->words && !passed->empty && text && *text != 'f';

	if (a->unsure && location->kind == SYM_LOCATION_ABI && !passed->empty &&
	    (!number || a->numbers + a->hidden >= NUMBERS))
		return false;
	a->numbers += number ? 1 : passed->words;
	a->unsure |= passed->unsure;
	return true;
}

/* Adds one parameter to `takes`. False: it cannot be recorded, and ends the list. */
static bool add_parameter(const struct arguments_walk *w, struct sym_arguments *a, Dwarf_Die *die,
			  Dwarf_Die *function, uint64_t *work)
{
	struct sym_location location = parameter_location(w, die, function, a->vaddr),
			 passed = { 0 };
	struct argument_reading reading = { .depth = w->depth, .passed = &passed };
	const char *name = dwarf_diename(die);
	bool named = name && argument_is_plain_name(name);
	bool full = a->locations.n == PROTOTYPE_PARAMETERS || strlen(a->takes) > TAKES_LONGEST;
	Dwarf_Die type;
	char *text = NULL, *more;
	uint32_t values;

	if (!full && dwarf_type_plain(die, &type))
		text = argument_type_text(&type, &reading);
	*work = reading.work;
	if (text && is_untold_pair(w, function, &location, &passed))
		location.kind = SYM_LOCATION_ABI;
	values = text ? values_in(text) : 0;
	if (a->values + values > PROTOTYPE_VALUES || !fits_structure(&location, &passed) ||
	    !is_sure(a, &location, &passed, text)) {
		free(text);
		text = NULL;
	}
	a->values += values;
	location.words = passed.words;
	location.memory = passed.memory;
	location.floats = passed.floats;
	location.empty = passed.empty;
	location.vector = passed.vector;
	location.aligned = passed.aligned;

	more = mem_printf("%s%s%s%s%s", a->takes, *a->takes ? "," : "", text && named ? name : "",
			  text && named ? "=" : "",
			  !text			       ? "..." :
			  location.kind == SYM_LOCATION_NONE ? "?" :
							 text);
	free(a->takes);
	a->takes = more;
	location.object = leads_to_object(w, die, &location);
	if (text)
		*vec_add(&a->locations) = location;
	free(text);
	return text != NULL;
}

/* A clone of the function may take fewer parameters than its source says: where one is left out,
 * the convention no longer tells where the others are. */
static bool lacks_parameter(const struct sym_arguments *a)
{
	bool lacks = false, by_convention = false;

	for (size_t i = 0; i < a->locations.n; i++) {
		lacks |= a->locations.at[i].kind == SYM_LOCATION_NONE && !a->locations.at[i].empty;
		by_convention |= a->locations.at[i].kind == SYM_LOCATION_ABI;
	}
	return lacks && by_convention;
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
			uint64_t work;

			if (!add_parameter(w, a, &child, function, &work) ||
			    !dwarf_walk_spend(walk, work))
				return;
		} else if (tag == DW_TAG_unspecified_parameters) {
			more = mem_printf("%s%s...", a->takes, *a->takes ? "," : "");
			free(a->takes);
			a->takes = more;
			return;
		}
	}
}

/* Reads them again without what the convention says. */
static void read_without_convention(const struct arguments_walk *w, struct dwarf_walk *walk,
				    struct sym_arguments *a, Dwarf_Die *function)
{
	struct arguments_walk again = *w;

	again.conventional = false;
	free(a->takes);
	a->takes = mem_strdup("");
	a->locations.n = a->values = a->numbers = 0;
	a->unsure = false;
	read_parameters(&again, walk, a, function);
}

/* Adds a function to the list. A value that cannot be recorded is "?". */
static void read_function(const struct arguments_walk *w, struct dwarf_walk *walk,
			  Dwarf_Die *function, uint64_t entry)
{
	struct sym_arguments a = { .vaddr = entry, .takes = mem_strdup("") };
	enum argument_way way = ARGUMENT_IN_REGISTERS;
	Dwarf_Die type;
	int32_t at;

	if (!dwarf_type_plain(function, &type)) {
		a.returns = mem_strdup("v");
	} else {
		a.returns = argument_returned_text(&type);
		way = argument_returned_way(&type);
	}
	if (!a.returns)
		a.returns = mem_strdup("?");
	a.hidden = way == ARGUMENT_IN_MEMORY;
	a.gives = w->structure && dwarf_type_leads_to(function, w->structure, &at) && !at;
	if (way != ARGUMENT_WAY_UNKNOWN)
		read_parameters(w, walk, &a, function);
	if (way == ARGUMENT_WAY_UNKNOWN || lacks_parameter(&a))
		read_without_convention(w, walk, &a, function);
	*vec_add(&w->out->at) = a;
}

/* Whether a parameter of the function points to the structure. */
static bool takes_structure(const struct arguments_walk *w, struct dwarf_walk *walk,
			    Dwarf_Die *function)
{
	struct type_scopes counted = { 0 };
	bool takes = false;
	struct sym_location location;
	Dwarf_Die child;
	int r = dwarf_child(function, &child);

	for (; !takes && r == 0 && dwarf_walk_spend(walk, WORK_A_PARAMETER);
	     r = type_next(&counted, &child))
		takes = dwarf_tag(&child) == DW_TAG_formal_parameter &&
			leads_to_object(w, &child, &location);
	return takes;
}

/* Copies have no entry of their own at which arguments could be fetched. */
static bool is_inlined(Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Word how;

	return !dwarf_formudata(dwarf_attr(function, DW_AT_inline, &attr), &how) &&
	       (how == DW_INL_inlined || how == DW_INL_declared_inlined);
}

/* dwarf_visitor of sym_arguments_taking(). */
static void see_taking(struct dwarf_walk *walk, const struct dwarf_seen *seen, void *context)
{
	struct arguments_walk *w = context;
	Dwarf_Addr entry;

	if (seen->tag != DW_TAG_subprogram ||
	    !dwarf_walk_spend(walk, dwarf_walk_attributes(walk, seen->die)))
		return;
	if (!dwarf_walk_has_code(seen->die))
		w->out->inlined += is_inlined(seen->die) && takes_structure(w, walk, seen->die);
	else if (dwarf_walk_entry(seen->die, &entry) && takes_structure(w, walk, seen->die))
		read_function(w, walk, seen->die, entry);
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

/* By DW_AT_producer. */
static bool is_gcc(Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	const char *by = dwarf_formstring(dwarf_attr(unit, DW_AT_producer, &attr));

	return by && !strncmp(by, "GNU C", strlen("GNU C"));
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
	w->gcc = is_gcc(unit);
	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
		w->conventional |= language == languages[i];
}

/* --- the list --------------------------------------------------------------------------------- */

static void free_arguments(struct sym_arguments *a)
{
	vec_free(&a->locations);
	free(a->returns);
	free(a->takes);
}

static int by_vaddr(const void *a, const void *b)
{
	const struct sym_arguments *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* Several units may describe one function: equal descriptions are one. */
static bool says_the_same(const struct sym_arguments *a, const struct sym_arguments *b)
{
	return strcmp(a->takes, b->takes) == 0 && strcmp(a->returns, b->returns) == 0 &&
	       a->gives == b->gives;
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

/* Walks the module's debug information, with a list that w has for its result. */
static int read_list(const struct sym_module *m, struct arguments_walk *w,
		     const struct dwarf_visitor *visitor, struct err *err)
{
	struct sym_arguments_list *out = w->out;
	int r;

	*out = (struct sym_arguments_list){ 0 };
	r = dwarf_walk(m, visitor, &out->has_dwarf, &out->left_out, err);
	keep_one_each(out);
	if (r)
		sym_arguments_free(out);
	return r;
}

/* wanted is asked for each function's vaddr before anything of it is read: a large program has
 * 100,000 of them. */
int sym_arguments_read(const struct sym_module *m, sym_wanted *wanted, void *context,
		       unsigned depth, struct sym_arguments_list *out, struct err *err)
{
	struct arguments_walk w = { .out = out, .wanted = wanted, .context = context,
				    .depth = depth };

	return read_list(m, &w, &(struct dwarf_visitor){ &w, see_die, begin_unit, NULL }, err);
}

/* Functions of which an argument leads to a structure of this name. */
int sym_arguments_taking(const struct sym_module *m, const char *structure,
			 const struct sym_base *bases, uint32_t n_bases,
			 struct sym_arguments_list *out, struct err *err)
{
	struct arguments_walk w = { .out = out, .structure = structure, .bases = bases,
				    .n_bases = n_bases };

	return read_list(m, &w, &(struct dwarf_visitor){ &w, see_taking, begin_unit, NULL }, err);
}

/* NULL: the debug information has no function there. The list is sorted (keep_one_each()). */
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

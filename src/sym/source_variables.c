/* SPDX-License-Identifier: MIT */
/* The variables of a scope: their names, and where each is at the scope's instruction, by location
 * lists and call frame information. Answers are chains of loads (chain.h), or reasons; lists of
 * locations are bounded. A scope belongs to the thread that asks. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/probe_regs.h"
#include "sym/arguments.h"
#include "sym/cfi.h"
#include "sym/dwarf_location.h"
#include "sym/dwarf_type.h"
#include "sym/source_internal.h"
#include "sym/type_name.h"

#define LOCATIONS_MOST 4096u     /* of one variable */
#define LOCATIONS_TOLD 3u        /* in a sentence */
#define OPERATIONS_MOST 64u
#define WORD 8

/* --- the frame -------------------------------------------------------------------------------- */

/* Once for each file: .eh_frame is read as a whole. A file without one has no frames. */
static void read_frames(struct sym_source_info *s)
{
	struct err ignored;

	if (s->frame_read)
		return;
	s->frame_read = true;
	s->has_frame = elf_view_image(&s->view, s->m->bytes, s->m->n_bytes, s->m->path,
				      &ignored) == 0;
	if (s->has_frame)
		eh_frame_read(&s->view, &s->frame);
}

/* The canonical frame address: a register and an offset. False: the file does not say. */
static bool find_cfa(struct sym_scope *sc, struct sym_chain *out)
{
	struct sym_source_info *s = sc->source;
	const struct eh_fde *fde;
	struct cfi_state state;
	uint64_t ra;

	read_frames(s);
	fde = s->has_frame ? eh_frame_around(&s->frame, sc->vaddr) : NULL;
	if (!fde || !eh_frame_state(&s->view, &s->frame, fde, sc->vaddr, &state, &ra) ||
	    state.cfa_expression || state.cfa_register > DWARF_PC)
		return false;
	*out = (struct sym_chain){ .base = SYM_CHAIN_REGISTER,
				   .reg = (uint16_t)state.cfa_register,
				   .offsets = { state.cfa_offset } };
	return true;
}

/* Finds the base of DW_OP_fbreg, in the function that holds the block. */
static bool find_frame_base(struct sym_scope *sc, uint32_t block, const struct sym_chain *cfa,
			    struct sym_chain *out)
{
	const struct dwarf_frame none = { NULL, cfa };
	Dwarf_Attribute attr;
	bool ignored;
	Dwarf_Op *ops;
	size_t n;

	for (size_t i = (size_t)block + 1; i-- > 0;)
		if (sc->blocks.at[i].is_function)
			return dwarf_getlocation_addr(dwarf_attr_integrate(&sc->blocks.at[i].die,
									   DW_AT_frame_base, &attr),
						      sc->vaddr, &ops, &n, 1) == 1 &&
			       !dwarf_location(ops, n, &none, out, &ignored);
	return false;
}

/* --- the location ----------------------------------------------------------------------------- */

/* libdw leaves indirect operands to the caller: addresses in .debug_addr (clang), and constants in
 * bytes. */
static bool take_operation(Dwarf_Attribute *attr, const Dwarf_Op *op, Dwarf_Op *out)
{
	Dwarf_Attribute indirect;
	Dwarf_Block bytes;
	Dwarf_Addr address;
	uint64_t number = 0;

	*out = *op;
	if (op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index) {
		if (dwarf_getlocation_attr(attr, op, &indirect) ||
		    dwarf_formaddr(&indirect, &address))
			return false;
		*out = (Dwarf_Op){ .atom = DW_OP_addr, .number = address };
	} else if (op->atom == DW_OP_implicit_value &&
		   !dwarf_getlocation_implicit_value(attr, op, &bytes) && bytes.length <= 8) {
		memcpy(&number, bytes.data, bytes.length);
		*out = (Dwarf_Op){ .atom = DW_OP_constu, .number = number };
	}
	return true;
}

/* Follows the operations of one location. As source_locate(). */
static char *follow_location(struct sym_scope *sc, const struct scope_variable *v,
			     Dwarf_Attribute *attr, const Dwarf_Op *ops, size_t n,
			     struct sym_chain *chain, bool *memory)
{
	struct sym_chain cfa, base;
	struct dwarf_frame frame = { NULL, NULL };
	Dwarf_Op taken[OPERATIONS_MOST];
	const char *why;
	bool constant = n == 1 && ops[0].atom == DW_OP_implicit_value;

	if (n > OPERATIONS_MOST)
		return mem_strdup("is computed here, from more than one place");
	for (size_t i = 0; i < n; i++)
		if (!take_operation(attr, &ops[i], &taken[i]))
			return mem_strdup("has a malformed place in the debug information");
	if (find_cfa(sc, &cfa))
		frame.cfa = &cfa;
	if (v->block != SCOPE_GLOBAL && find_frame_base(sc, v->block, frame.cfa, &base))
		frame.base = &base;
	why = dwarf_location(taken, n, &frame, chain, memory);
	if (constant && !why)
		*memory = false;
	return why ? mem_strdup(why) : NULL;
}

/* "+12..+40" from the function's begin, or addresses. */
static char *told_range(const struct sym_scope *sc, const char *before, Dwarf_Addr begin,
			Dwarf_Addr end)
{
	uint64_t entry;

	if (source_entry(sc, &entry) && begin >= entry && begin - entry < 1u << 20)
		return mem_printf("%s%s+%llu..+%llu", before, *before ? ", " : "",
				  (unsigned long long)(begin - entry),
				  (unsigned long long)(end - entry));
	return mem_printf("%s%s0x%llx..0x%llx", before, *before ? ", " : "",
			  (unsigned long long)begin, (unsigned long long)end);
}

/* " (+16)", the distance from the function's begin. */
static const char *told_location(const struct sym_scope *sc, char here[24])
{
	uint64_t entry;

	*here = '\0';
	if (source_entry(sc, &entry) && sc->vaddr - entry < 1u << 20)
		snprintf(here, 24, " (+%u)", (unsigned)(sc->vaddr - entry));
	return here;
}

/* Goes through a variable's locations for the one at the instruction. */
static char *find_location(struct sym_scope *sc, const struct scope_variable *v,
			   Dwarf_Attribute *attr, struct sym_chain *chain, bool *memory)
{
	char *told = mem_strdup(""), *more, here[24];
	Dwarf_Addr base, begin, end;
	unsigned n_told = 0;
	ptrdiff_t at = 0;
	Dwarf_Op *ops;
	size_t n;

	for (unsigned i = 0; i < LOCATIONS_MOST; i++) {
		at = dwarf_getlocations(attr, at, &base, &begin, &end, &ops, &n);
		if (at <= 0)
			break;
		if (begin <= sc->vaddr && sc->vaddr < end) {
			free(told);
			return follow_location(sc, v, attr, ops, n, chain, memory);
		}
		if (begin >= end || !n || n_told++ >= LOCATIONS_TOLD)
			continue;
		more = told_range(sc, told, begin, end);
		free(told);
		told = more;
	}
	more = *told ? mem_printf("is optimized out here%s; it is at %s%s", told_location(sc, here),
				  told, n_told > LOCATIONS_TOLD ? ", and more" : "")
		     : mem_printf("is optimized out here%s", told_location(sc, here));
	free(told);
	return more;
}

/* --- parameters at the first instruction ------------------------------------------------------ */

/* sym_arguments_read()'s: only the function at this address is asked about. */
static bool is_entry(void *context, uint64_t vaddr)
{
	return vaddr == *(const uint64_t *)context;
}

/* DWARF's number of the register with the n-th whole number of a call. */
static uint16_t called_with(uint32_t n)
{
	static const uint8_t numbers[] = PROBE_CALLED_WITH, of_dwarf[] = PROBE_OF_DWARF;

	for (uint16_t i = 0; i < sizeof(of_dwarf); i++)
		if (of_dwarf[i] == numbers[n])
			return i;
	return 0;
}

/* Counts through the parameters, as the convention does. */
static bool convention_location(const struct prototype *p, const struct sym_arguments *a,
				const char *name, struct sym_chain *chain, bool *memory)
{
	const uint32_t most = sizeof((uint8_t[])PROBE_CALLED_WITH);
	uint32_t numbers = a->hidden, words = 0;

	for (uint32_t i = 0, k = 0; i < p->n && k < a->locations.n; i++, k++) {
		const struct prototype_value *v = &p->parameters[i];
		bool is_float = v->type == PROTOTYPE_FLOAT, in_register = numbers < most;

		if (a->locations.at[k].empty)
			continue;
		/* The convention is not known to hold. */
		if (a->locations.at[k].kind == SYM_LOCATION_NONE)
			return false;
		/* Where structures by value go is not followed, nor what stands behind them. */
		if (a->locations.at[k].words)
			return false;
		if (v->name && strlen(name) == v->name_bytes &&
		    !memcmp(v->name, name, v->name_bytes)) {
			*memory = !in_register;
			*chain = (struct sym_chain){
				.base = SYM_CHAIN_REGISTER,
				.reg = in_register ? called_with(numbers) : DWARF_SP,
				.offsets = { in_register ? 0 : PROBE_ON_STACK + WORD * words },
			};
			return !is_float;
		}
		if (!is_float)
			*(in_register ? &numbers : &words) += 1;
		i += v->members;
	}
	return false;
}

/* Code that was not optimised keeps a parameter in its frame, but has not put it there yet at its
 * first instruction: there it is where the calling convention hands it over. */
static char *parameter_at_entry(struct sym_scope *sc, const char *name, struct sym_chain *chain,
				bool *memory)
{
	struct sym_arguments_list list;
	const struct sym_arguments *a;
	struct prototype p;
	struct err ignored;
	char *text;
	bool known = false;

	if (sym_arguments_read(sc->source->m, is_entry, &sc->vaddr, 0, &list, &ignored) == 0) {
		a = sym_arguments_at(&list, sc->vaddr);
		text = a ? mem_printf("v(%s)", a->takes) : NULL;
		known = text && prototype_parse(text, &p) &&
			convention_location(&p, a, name, chain, memory);
		free(text);
		sym_arguments_free(&list);
	}
	return known ? NULL
		     : mem_strdup("is not in its place yet at the first instruction of the function: take a later one");
}

/* A list of locations says where a parameter is at each instruction; one location for all says it
 * for unoptimised code only. */
static bool is_one_location(Dwarf_Attribute *attr)
{
	unsigned form = dwarf_whatform(attr);

	return form == DW_FORM_exprloc || form == DW_FORM_block1 || form == DW_FORM_block2 ||
	       form == DW_FORM_block4 || form == DW_FORM_block;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* A value that the compiler knows. */
static bool find_constant(Dwarf_Die *die, struct sym_chain *chain)
{
	*chain = (struct sym_chain){ 0 };
	return dwarf_type_constant(die, &chain->offsets[0]);
}

/* NULL: *chain and *memory have the location; else the reason, for free(), which goes on from the
 * variable's name. */
char *source_locate(struct sym_scope *sc, const struct scope_variable *v, struct sym_chain *chain,
		    bool *memory)
{
	Dwarf_Die die = v->die;
	Dwarf_Attribute attr;
	uint64_t entry;
	char *why;

	*memory = false;
	if (!dwarf_attr_integrate(&die, DW_AT_location, &attr))
		return find_constant(&die, chain) ? NULL
						  : mem_strdup("is optimized out of this code");
	why = find_location(sc, v, &attr, chain, memory);
	if (!why && *memory && chain->base == SYM_CHAIN_REGISTER && is_one_location(&attr) &&
	    dwarf_tag(&die) == DW_TAG_formal_parameter && v->block != SCOPE_GLOBAL &&
	    sc->blocks.at[v->block].is_function && source_entry(sc, &entry) &&
	    entry == sc->vaddr)
		why = parameter_at_entry(sc, dwarf_diename(&die), chain, memory);
	if (!why && chain->base == SYM_CHAIN_REGISTER && chain->reg >= PROBE_DWARF_FLOATS)
		why = mem_strdup("is in a vector register here, which a probe does not fetch");
	return why;
}

/* Whether the variable has this name, of n characters. */
static bool is_named(const struct scope_variable *v, const char *name, size_t n)
{
	Dwarf_Die die = v->die;
	const char *is = dwarf_diename(&die);

	return is && strlen(is) == n && !memcmp(is, name, n);
}

/* A global's declaration has neither location nor value: another unit's definition is meant. */
static bool is_defined(const struct scope_variable *v)
{
	Dwarf_Die die = v->die;
	Dwarf_Attribute attr;

	return v->block != SCOPE_GLOBAL || dwarf_attr_integrate(&die, DW_AT_location, &attr) ||
	       dwarf_attr_integrate(&die, DW_AT_const_value, &attr);
}

/* Whether `a` hides `b`: inner blocks hide outer ones, these the unit's own, and those others'. */
static bool hides(const struct scope_variable *a, const struct scope_variable *b)
{
	if ((a->block == SCOPE_GLOBAL) != (b->block == SCOPE_GLOBAL))
		return b->block == SCOPE_GLOBAL;
	return a->block == SCOPE_GLOBAL ? a->own_unit && !b->own_unit : a->block > b->block;
}

/* The variable that a name means at the scope's instruction; NULL: none. It stays the scope's. */
const struct scope_variable *source_variable(struct sym_scope *sc, const char *name, size_t n)
{
	const struct scope_variable *best = NULL;

	for (size_t i = 0; i < sc->variables.n; i++) {
		const struct scope_variable *v = &sc->variables.at[i];

		if (is_named(v, name, n) && is_defined(v) && (!best || hides(v, best)))
			best = v;
	}
	return best;
}

/* Globals are left out: there are too many. */
void sym_scope_variables(struct sym_scope *sc, sym_variables *out)
{
	*out = (sym_variables){ 0 };
	for (size_t i = 0; i < sc->variables.n; i++) {
		struct scope_variable *v = &sc->variables.at[i];
		const char *name = dwarf_diename(&v->die);
		struct type_scopes scopes = { 0 };
		struct sym_chain chain;
		bool memory;

		if (v->block == SCOPE_GLOBAL || !name ||
		    source_variable(sc, name, strlen(name)) != v)
			continue;
		*vec_add(out) = (struct sym_variable){
			.name = mem_strdup(name),
			.type = type_declare(&scopes, &v->die, ""),
			.why = source_locate(sc, v, &chain, &memory),
			.parameter = dwarf_tag(&v->die) == DW_TAG_formal_parameter,
		};
	}
}

void sym_variables_free(sym_variables *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->at[i].name);
		free(v->at[i].type);
		free(v->at[i].why);
	}
	vec_free(v);
}

/* SPDX-License-Identifier: MIT */
/* Follows location expressions without a thread: each word of the machine's stack is a chain, so
 * that the agent can fetch later what the expression says. source_expression.c and
 * source_variables.c call it, on any thread; no state, no allocation. Operations are a file's:
 * their number and the stack are bounded, and what is no chain of loads is refused with a
 * reason. */
#include "sym/dwarf_location.h"

#include <dwarf.h>

#define DEEP 16
#define OPERATIONS_MOST 64u

static const char computed[] = "is computed here, from more than one place",
		  no_frame[] = "is in a frame whose place is not known here",
		  malformed[] = "has a malformed place in the debug information",
		  too_deep[] = "lies behind too many pointers";

struct location_machine {
	const struct dwarf_frame *frame;
	struct sym_chain at[DEEP];
	unsigned n;
	bool in_register, is_value; /* how the expression ended */
	const char *why;          /* NULL: all is well */
};

/* --- chains ----------------------------------------------------------------------------------- */

/* Wraps around as addresses do. */
void sym_chain_add(struct sym_chain *c, int64_t by)
{
	int64_t *last = &c->offsets[c->loads];

	*last = (int64_t)((uint64_t)*last + (uint64_t)by);
}

/* False: more loads than a fetch program is given. */
bool sym_chain_load(struct sym_chain *c)
{
	if (c->loads == SYM_CHAIN_LOADS)
		return false;
	c->offsets[++c->loads] = 0;
	return true;
}

/* A constant: no base, and nothing is loaded. */
static bool is_number(const struct sym_chain *c)
{
	return c->base == SYM_CHAIN_NUMBER && !c->loads;
}

/* --- the machine ------------------------------------------------------------------------------ */

/* The stack's depth is the expression's to choose, and bounded. */
static void location_push(struct location_machine *m, struct sym_chain c)
{
	if (m->n == DEEP)
		m->why = malformed;
	else
		m->at[m->n++] = c;
}

/* An empty stack is a malformed expression; the chain is then zeros. */
static struct sym_chain location_pop(struct location_machine *m)
{
	if (!m->n) {
		m->why = malformed;
		return (struct sym_chain){ 0 };
	}
	return m->at[--m->n];
}

static void push_number(struct location_machine *m, uint64_t v)
{
	location_push(m, (struct sym_chain){ .offsets = { (int64_t)v } });
}

/* A chain that begins with a register, or an address, and an offset. */
static void push_based(struct location_machine *m, enum sym_chain_base base, uint64_t reg,
		       uint64_t offset)
{
	if (reg > UINT16_MAX)
		m->why = malformed;
	else
		location_push(m, (struct sym_chain){ .base = (uint8_t)base, .reg = (uint16_t)reg,
						     .offsets = { (int64_t)offset } });
}

/* The frame's base, or the address that the caller's stack pointer had. */
static void push_frame(struct location_machine *m, const struct sym_chain *from, uint64_t offset)
{
	if (!from) {
		m->why = no_frame;
		return;
	}
	location_push(m, *from);
	if (!m->why)
		sym_chain_add(&m->at[m->n - 1], (int64_t)offset);
}

static void add_uconst(struct location_machine *m, uint64_t by)
{
	struct sym_chain c = location_pop(m);

	sym_chain_add(&c, (int64_t)by);
	location_push(m, c);
}

/* The word at the address on top takes its place. */
static void load_top(struct location_machine *m)
{
	struct sym_chain c = location_pop(m);

	if (!sym_chain_load(&c))
		m->why = too_deep;
	else
		location_push(m, c);
}

/* A sum of two locations is none; a location and a number are. */
static void add_two(struct location_machine *m, bool subtract)
{
	struct sym_chain b = location_pop(m), a = location_pop(m);

	if (!subtract && is_number(&a)) {
		struct sym_chain swap = a;

		a = b;
		b = swap;
	}
	if (!is_number(&b)) {
		m->why = m->why ? m->why : computed;
		return;
	}
	sym_chain_add(&a, (int64_t)(subtract ? -(uint64_t)b.offsets[0] : (uint64_t)b.offsets[0]));
	location_push(m, a);
}

/* depth 0 is the top. */
static void push_copy(struct location_machine *m, unsigned depth)
{
	if (depth >= m->n)
		m->why = malformed;
	else
		location_push(m, m->at[m->n - 1 - depth]);
}

static void swap_two(struct location_machine *m)
{
	struct sym_chain b = location_pop(m), a = location_pop(m);

	location_push(m, b);
	location_push(m, a);
}

/* --- operations ------------------------------------------------------------------------------- */

/* Why an operation is refused. */
static const char *refused_op(uint8_t op)
{
	switch (op) {
	case DW_OP_entry_value: case DW_OP_GNU_entry_value: case DW_OP_GNU_parameter_ref:
		return "is optimized out here: it had this value when the function began, which is not kept";
	case DW_OP_implicit_pointer: case DW_OP_GNU_implicit_pointer:
		return "is optimized out here: it would point to what is in no memory";
	case DW_OP_piece: case DW_OP_bit_piece: case DW_OP_implicit_value:
		return "is in pieces here, in several places";
	case DW_OP_form_tls_address: case DW_OP_GNU_push_tls_address:
		return "is thread-local, which a probe does not fetch";
	}
	return computed;
}

/* Operations on the stack alone. */
static void stack_op(struct location_machine *m, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_plus_uconst: add_uconst(m, op->number); break;
	case DW_OP_plus: add_two(m, false); break;
	case DW_OP_minus: add_two(m, true); break;
	case DW_OP_deref: load_top(m); break;
	case DW_OP_dup: push_copy(m, 0); break;
	case DW_OP_over: push_copy(m, 1); break;
	case DW_OP_pick: push_copy(m, op->number & 0xff); break;
	case DW_OP_drop: location_pop(m); break;
	case DW_OP_swap: swap_two(m); break;
	case DW_OP_nop: break;
	case DW_OP_stack_value: m->is_value = true; break;
	default: m->why = refused_op(op->atom);
	}
}

/* Operations that put something on the stack; the rest are stack_op()'s. */
static void run_op(struct location_machine *m, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_reg0 ... DW_OP_reg31:
		m->in_register = true;
		push_based(m, SYM_CHAIN_REGISTER, op->atom - DW_OP_reg0, 0);
		break;
	case DW_OP_regx:
		m->in_register = true;
		push_based(m, SYM_CHAIN_REGISTER, op->number, 0);
		break;
	case DW_OP_breg0 ... DW_OP_breg31:
		push_based(m, SYM_CHAIN_REGISTER, op->atom - DW_OP_breg0, op->number);
		break;
	case DW_OP_bregx: push_based(m, SYM_CHAIN_REGISTER, op->number, op->number2); break;
	case DW_OP_fbreg: push_frame(m, m->frame->base, op->number); break;
	case DW_OP_call_frame_cfa: push_frame(m, m->frame->cfa, 0); break;
	case DW_OP_addr: push_based(m, SYM_CHAIN_ADDRESS, 0, op->number); break;
	case DW_OP_lit0 ... DW_OP_lit31: push_number(m, op->atom - DW_OP_lit0); break;
	case DW_OP_const1u ... DW_OP_consts: push_number(m, op->number); break;
	default: stack_op(m, op);
	}
}

/* A register, and "the stack's top is the value", end an expression: behind them come pieces. */
const char *dwarf_location(const Dwarf_Op *ops, size_t n, const struct dwarf_frame *frame,
			   struct sym_chain *out, bool *memory)
{
	struct location_machine m = { .frame = frame };

	if (!n)
		return "is optimized out here";
	if (n > OPERATIONS_MOST)
		return computed;
	for (size_t i = 0; i < n && !m.why; i++)
		m.why = m.in_register || m.is_value ? refused_op(ops[i].atom)
						    : (run_op(&m, &ops[i]), m.why);
	if (!m.why)
		*out = location_pop(&m);
	*memory = !m.in_register && !m.is_value;
	return m.why;
}

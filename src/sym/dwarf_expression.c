/* SPDX-License-Identifier: MIT */
#include "sym/dwarf_expression.h"

#include <dwarf.h>

#define DEEP 32           /* the stack */
#define STEPS_MAX 512

struct machine {
	struct cursor c;
	const struct unwind_regs *regs;
	unwind_read *read;
	void *context;
	uint64_t at[DEEP];
	unsigned n;
	bool bad;
};

static void push(struct machine *m, uint64_t v)
{
	if (m->n == DEEP)
		m->bad = true;
	else
		m->at[m->n++] = v;
}

static uint64_t pop(struct machine *m)
{
	if (!m->n) {
		m->bad = true;
		return 0;
	}
	return m->at[--m->n];
}

static void push_register(struct machine *m, uint64_t number, int64_t offset)
{
	if (number < UNWIND_REGS)
		push(m, m->regs->at[number] + (uint64_t)offset);
	else
		m->bad = true;
}

static void dereference(struct machine *m)
{
	uint64_t word = 0;

	m->bad = !m->read(m->context, pop(m), &word) || m->bad;
	push(m, word);
}

static void pick(struct machine *m, uint64_t depth)
{
	if (depth < m->n)
		push(m, m->at[m->n - 1 - depth]);
	else
		m->bad = true;
}

static void skip(struct machine *m, int16_t bytes, const uint8_t *begin)
{
	if (bytes < 0 ? m->c.at - begin < -bytes : (size_t)bytes > cursor_left(&m->c))
		m->bad = true;
	else
		m->c.at += bytes;
}

static uint64_t constant(struct cursor *c, uint8_t op)
{
	switch (op) {
	case DW_OP_const1u: return cursor_u8(c);
	case DW_OP_const1s: return (uint64_t)(int8_t)cursor_u8(c);
	case DW_OP_const2u: return cursor_u16(c);
	case DW_OP_const2s: return (uint64_t)(int16_t)cursor_u16(c);
	case DW_OP_const4u: return cursor_u32(c);
	case DW_OP_const4s: return (uint64_t)(int32_t)cursor_u32(c);
	case DW_OP_constu: return cursor_uleb(c);
	case DW_OP_consts: return (uint64_t)cursor_sleb(c);
	default: return cursor_u64(c);
	}
}

static uint64_t shifted(uint64_t a, uint64_t by, uint8_t op)
{
	if (op == DW_OP_shra)
		return (uint64_t)((int64_t)a >> (by < 64 ? by : 63));
	if (by >= 64)
		return 0;
	return op == DW_OP_shl ? a << by : a >> by;
}

static void calculate(struct machine *m, uint8_t op)
{
	uint64_t b = pop(m), a = pop(m);
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case DW_OP_plus: push(m, a + b); break;
	case DW_OP_minus: push(m, a - b); break;
	case DW_OP_mul: push(m, a * b); break;
	case DW_OP_and: push(m, a & b); break;
	case DW_OP_or: push(m, a | b); break;
	case DW_OP_xor: push(m, a ^ b); break;
	case DW_OP_shl: case DW_OP_shr: case DW_OP_shra: push(m, shifted(a, b, op)); break;
	case DW_OP_eq: push(m, a == b); break;
	case DW_OP_ne: push(m, a != b); break;
	case DW_OP_ge: push(m, x >= y); break;
	case DW_OP_gt: push(m, x > y); break;
	case DW_OP_le: push(m, x <= y); break;
	case DW_OP_lt: push(m, x < y); break;
	case DW_OP_swap: push(m, b); push(m, a); break;
	default: m->bad = true;
	}
}

static void run_op(struct machine *m, uint8_t op, const uint8_t *begin)
{
	struct cursor *c = &m->c;
	int16_t by;

	switch (op) {
	case DW_OP_lit0 ... DW_OP_lit31: push(m, op - DW_OP_lit0); break;
	case DW_OP_addr: case DW_OP_const1u ... DW_OP_consts: push(m, constant(c, op)); break;
	case DW_OP_breg0 ... DW_OP_breg31: push_register(m, op - DW_OP_breg0, cursor_sleb(c)); break;
	case DW_OP_plus_uconst: push(m, pop(m) + cursor_uleb(c)); break;
	case DW_OP_neg: push(m, -pop(m)); break;
	case DW_OP_not: push(m, ~pop(m)); break;
	case DW_OP_deref: dereference(m); break;
	case DW_OP_dup: pick(m, 0); break;
	case DW_OP_over: pick(m, 1); break;
	case DW_OP_pick: pick(m, cursor_u8(c)); break;
	case DW_OP_drop: pop(m); break;
	case DW_OP_nop: break;
	case DW_OP_skip: skip(m, (int16_t)cursor_u16(c), begin); break;
	case DW_OP_bra:
		by = (int16_t)cursor_u16(c);
		if (pop(m))
			skip(m, by, begin);
		break;
	default: calculate(m, op);
	}
}

bool dwarf_expression(struct cursor c, const struct unwind_regs *regs, const uint64_t *first, unwind_read *read, void *context,
		      uint64_t *out)
{
	struct machine m = { .c = c, .regs = regs, .read = read, .context = context };
	unsigned steps = 0;

	if (first)
		push(&m, *first);
	while (cursor_left(&m.c) && !m.bad && !m.c.bad && steps++ < STEPS_MAX)
		run_op(&m, cursor_u8(&m.c), c.at);
	*out = pop(&m);
	return !m.bad && !m.c.bad && !cursor_left(&m.c);
}

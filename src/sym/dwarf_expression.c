/* SPDX-License-Identifier: MIT */
/* Evaluates DWARF expressions of call frame information on a small stack machine. unwind.c calls
 * it; no state, no allocation. The bytes are a file's: stack, steps and jumps are bounded, and
 * anything unknown gives false. Any thread. */
#include "sym/dwarf_expression.h"

#include <dwarf.h>

#define DEEP 32           /* words on the stack */
#define STEPS_MAX 512 /* loops are legal (DW_OP_bra), so steps are counted */

/* One evaluation. `bad` is set by the machine, c.bad by the cursor; either ends it. */
struct expression_machine {
	struct cursor c;
	const struct unwind_regs *regs;
	unwind_read *read;
	void *context;
	uint64_t at[DEEP];
	unsigned n;
	bool bad;
};

/* Overflow and underflow of the stack set `bad`, which ends the expression. */
static void stack_push(struct expression_machine *m, uint64_t v)
{
	if (m->n == DEEP)
		m->bad = true;
	else
		m->at[m->n++] = v;
}

/* 0 from an empty stack: the expression goes on, and is thrown away at its end. */
static uint64_t stack_pop(struct expression_machine *m)
{
	if (!m->n) {
		m->bad = true;
		return 0;
	}
	return m->at[--m->n];
}

/* Only the UNWIND_REGS general registers are known; expressions of frames use no others. */
static void push_register(struct expression_machine *m, uint64_t number, int64_t offset)
{
	if (number < UNWIND_REGS)
		stack_push(m, m->regs->at[number] + (uint64_t)offset);
	else
		m->bad = true;
}

/* Replaces an address by the word in memory there. */
static void op_dereference(struct expression_machine *m)
{
	uint64_t word = 0;

	m->bad = !m->read(m->context, stack_pop(m), &word) || m->bad;
	stack_push(m, word);
}

/* Pushes a copy of the word `depth` below the top. */
static void op_pick(struct expression_machine *m, uint64_t depth)
{
	if (depth < m->n)
		stack_push(m, m->at[m->n - 1 - depth]);
	else
		m->bad = true;
}

/* Jumps may go back, to the begin at most. */
static void op_skip(struct expression_machine *m, int16_t bytes, const uint8_t *begin)
{
	if (bytes < 0 ? m->c.at - begin < -bytes : (size_t)bytes > cursor_left(&m->c))
		m->bad = true;
	else
		m->c.at += bytes;
}

/* Reads an operand. Signed ones are extended to 64 bits. */
static uint64_t op_constant(struct cursor *c, uint8_t op)
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

/* a shifted by `by` bits; DW_OP_shra keeps the sign. */
static uint64_t op_shift(uint64_t a, uint64_t by, uint8_t op)
{
	/* Shifts by 64 or more are undefined in C; DWARF has the mathematical result. */
	if (op == DW_OP_shra)
		return (uint64_t)((int64_t)a >> (by < 64 ? by : 63));
	if (by >= 64)
		return 0;
	return op == DW_OP_shl ? a << by : a >> by;
}

/* Operators with two operands. Sums wrap: addresses are unsigned. Comparisons are signed, as DWARF
 * has it. */
static void op_calculate(struct expression_machine *m, uint8_t op)
{
	uint64_t b = stack_pop(m), a = stack_pop(m);
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case DW_OP_plus: stack_push(m, a + b); break;
	case DW_OP_minus: stack_push(m, a - b); break;
	case DW_OP_mul: stack_push(m, a * b); break;
	case DW_OP_and: stack_push(m, a & b); break;
	case DW_OP_or: stack_push(m, a | b); break;
	case DW_OP_xor: stack_push(m, a ^ b); break;
	case DW_OP_shl: case DW_OP_shr: case DW_OP_shra: stack_push(m, op_shift(a, b, op)); break;
	case DW_OP_eq: stack_push(m, a == b); break;
	case DW_OP_ne: stack_push(m, a != b); break;
	case DW_OP_ge: stack_push(m, x >= y); break;
	case DW_OP_gt: stack_push(m, x > y); break;
	case DW_OP_le: stack_push(m, x <= y); break;
	case DW_OP_lt: stack_push(m, x < y); break;
	case DW_OP_swap: stack_push(m, b); stack_push(m, a); break;
	default: m->bad = true;
	}
}

/* Opcodes of DWARF 5, 7.7.1, that call frame information may have; op_calculate() has the rest and
 * refuses unknown ones. */
static void run_op(struct expression_machine *m, uint8_t op, const uint8_t *begin)
{
	struct cursor *c = &m->c;
	int16_t by;

	switch (op) {
	case DW_OP_lit0 ... DW_OP_lit31: stack_push(m, op - DW_OP_lit0); break;
	case DW_OP_addr:
	case DW_OP_const1u ... DW_OP_consts:
		stack_push(m, op_constant(c, op));
		break;
	case DW_OP_breg0 ... DW_OP_breg31:
		push_register(m, op - DW_OP_breg0, cursor_sleb(c));
		break;
	case DW_OP_plus_uconst: stack_push(m, stack_pop(m) + cursor_uleb(c)); break;
	case DW_OP_neg: stack_push(m, -stack_pop(m)); break;
	case DW_OP_not: stack_push(m, ~stack_pop(m)); break;
	case DW_OP_deref: op_dereference(m); break;
	case DW_OP_dup: op_pick(m, 0); break;
	case DW_OP_over: op_pick(m, 1); break;
	case DW_OP_pick: op_pick(m, cursor_u8(c)); break;
	case DW_OP_drop: stack_pop(m); break;
	case DW_OP_nop: break;
	case DW_OP_skip: op_skip(m, (int16_t)cursor_u16(c), begin); break;
	case DW_OP_bra:
		by = (int16_t)cursor_u16(c);
		if (stack_pop(m))
			op_skip(m, by, begin);
		break;
	default: op_calculate(m, op);
	}
}

/* The result is the word on top. An expression that was stopped by STEPS_MAX has bytes left, and
 * fails by that. */
bool dwarf_expression(struct cursor c, const struct unwind_regs *regs, const uint64_t *first,
		      unwind_read *read, void *context, uint64_t *out)
{
	struct expression_machine m = { .c = c, .regs = regs, .read = read, .context = context };
	unsigned steps = 0;

	if (first)
		stack_push(&m, *first);
	while (cursor_left(&m.c) && !m.bad && !m.c.bad && steps++ < STEPS_MAX)
		run_op(&m, cursor_u8(&m.c), c.at);
	*out = stack_pop(&m);
	return !m.bad && !m.c.bad && !cursor_left(&m.c);
}

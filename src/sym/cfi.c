/* SPDX-License-Identifier: MIT */
/* Runs call frame instructions (DWARF 5, 6.4.2) up to one address. eh_frame.c calls it for the
 * planner and for unwinding, on any thread; no state. A table of operand shapes does the parsing;
 * the effects are four short functions. The bytes are a file's: an unknown instruction or an early
 * end is false. */
#include "sym/cfi.h"

/* Shapes of operands, and the effects of instructions. The order of the effects counts:
 * set_register() and cfi_run() compare ranges of them. */
enum operand { NONE, ULEB, SLEB, BLOCK, BYTE, HALF, WORD };
/* From OFFSET to VALUE_EXPRESSION the register is on the stack, or is computed from it. */
enum effect {
	NOTHING,
	ADVANCE,
	OFFSET,
	OFFSET_SF,
	OFFSET_NEGATIVE,
	VALUE_OFFSET,
	VALUE_OFFSET_SF,
	EXPRESSION,
	VALUE_EXPRESSION,
	UNDEFINED,
	SAME,
	RESTORE,
	OTHER,
	REMEMBER,
	RECALL,
	CFA,
	CFA_SF,
	CFA_REGISTER,
	CFA_OFFSET,
	CFA_OFFSET_SF,
	CFA_EXPRESSION,
	UNKNOWN,
};

/* An effect and the shapes of its two operands. */
struct op_shape { uint8_t effect, a, b; };

/* A number; of a block its length, and its bytes. */
struct value { uint64_t n; const uint8_t *at; };

/* Opcodes by their number, named as in DWARF 5, 7.24, without DW_CFA_. Those that GNU added stand
 * above 0x2d. */
#define KNOWN 0x36
static const struct op_shape shapes[KNOWN] = {
	[0x00] = { NOTHING },               /* nop */
	[0x01] = { UNKNOWN },               /* set_loc: no compiler makes it */
	[0x02] = { ADVANCE, BYTE },         /* advance_loc1 */
	[0x03] = { ADVANCE, HALF },
	[0x04] = { ADVANCE, WORD },
	[0x05] = { OFFSET, ULEB, ULEB },    /* offset_extended */
	[0x06] = { RESTORE, ULEB },
	[0x07] = { UNDEFINED, ULEB },
	[0x08] = { SAME, ULEB },            /* same_value */
	[0x09] = { OTHER, ULEB, ULEB },     /* register */
	[0x0a] = { REMEMBER },
	[0x0b] = { RECALL },
	[0x0c] = { CFA, ULEB, ULEB },
	[0x0d] = { CFA_REGISTER, ULEB },
	[0x0e] = { CFA_OFFSET, ULEB },
	[0x0f] = { CFA_EXPRESSION, BLOCK },
	[0x10] = { EXPRESSION, ULEB, BLOCK },
	[0x11] = { OFFSET_SF, ULEB, SLEB }, /* offset_extended_sf */
	[0x12] = { CFA_SF, ULEB, SLEB },
	[0x13] = { CFA_OFFSET_SF, SLEB },
	[0x14] = { VALUE_OFFSET, ULEB, ULEB },
	[0x15] = { VALUE_OFFSET_SF, ULEB, SLEB },
	[0x16] = { VALUE_EXPRESSION, ULEB, BLOCK },
	[0x17 ... 0x2d] = { UNKNOWN },
	[0x2e] = { NOTHING, ULEB },         /* GNU_args_size */
	[0x2f] = { OFFSET_NEGATIVE, ULEB, ULEB }, /* GNU_negative_offset_extended */
	[0x30 ... KNOWN - 1] = { UNKNOWN },
};

/* A block that leaves the cursor's bytes makes the cursor bad, and its bytes NULL. */
static struct value read_block(struct cursor *c)
{
	uint64_t n = cursor_uleb(c);

	return (struct value){ n, cursor_bytes(c, n) };
}

/* NONE reads nothing and gives 0. */
static struct value read_operand(struct cursor *c, uint8_t operand)
{
	switch (operand) {
	case ULEB: return (struct value){ cursor_uleb(c) };
	case SLEB: return (struct value){ (uint64_t)cursor_sleb(c) };
	case BLOCK: return read_block(c);
	case BYTE: return (struct value){ cursor_u8(c) };
	case HALF: return (struct value){ cursor_u16(c) };
	case WORD: return (struct value){ cursor_u32(c) };
	default: return (struct value){ 0 };
	}
}

/* The three most frequent instructions keep an operand in their low six bits. */
static struct op_shape decode_operands(struct cursor *c, struct value *a, struct value *b)
{
	uint8_t op = cursor_u8(c);
	struct op_shape s = { UNKNOWN };

	*a = (struct value){ op & 0x3f };
	*b = (struct value){ 0 };
	switch (op >> 6) {
	case 1: return (struct op_shape){ ADVANCE };
	case 2: b->n = cursor_uleb(c); return (struct op_shape){ OFFSET };
	case 3: return (struct op_shape){ RESTORE };
	}
	if (op < KNOWN)
		s = shapes[op];
	*a = read_operand(c, s.a);
	*b = read_operand(c, s.b);
	return s;
}

/* The _SF effects have factored offsets: they count in units of data_align, usually -8. */
static void set_cfa(struct cfi_machine *m, uint8_t effect, struct value a, struct value b)
{
	struct cfi_state *s = &m->state;
	/* CFA and CFA_SF have the register first, the others only the offset. */
	int64_t last = (int64_t)(effect == CFA || effect == CFA_SF ? b.n : a.n);

	if (effect == CFA_EXPRESSION) {
		s->cfa_expression = true;
		s->cfa = (struct cfi_rule){ .kind = CFI_IS_EXPRESSION,
					    .bytes = (uint32_t)a.n,
					    .expression = a.at };
		return;
	}
	if (effect == CFA || effect == CFA_SF || effect == CFA_REGISTER)
		s->cfa_register = a.n;
	if (effect == CFA_SF || effect == CFA_OFFSET_SF)
		last = (int64_t)((uint64_t)last * (uint64_t)m->data_align);
	if (effect != CFA_REGISTER)
		s->cfa_offset = last;
	s->cfa_expression = false;
}

/* The rule that the instruction gives a register. RESTORE goes back to the CIE's; without one
 * (while the CIE itself runs) to the same value. */
static struct cfi_rule rule_of(const struct cfi_machine *m, uint8_t effect, uint64_t reg,
			       struct value v)
{
	/* Unsigned, because hostile factors may overflow. */
	int64_t offset = (int64_t)(v.n * (uint64_t)m->data_align);

	switch (effect) {
	case OFFSET:
	case OFFSET_SF:
		return (struct cfi_rule){ .kind = CFI_AT_CFA, .offset = offset };
	case OFFSET_NEGATIVE:
		return (struct cfi_rule){ .kind = CFI_AT_CFA,
					  .offset = (int64_t)(0 - (uint64_t)offset) };
	case VALUE_OFFSET:
	case VALUE_OFFSET_SF:
		return (struct cfi_rule){ .kind = CFI_IS_CFA, .offset = offset };
	case EXPRESSION:
		return (struct cfi_rule){ .kind = CFI_EXPRESSION,
					  .bytes = (uint32_t)v.n,
					  .expression = v.at };
	case VALUE_EXPRESSION:
		return (struct cfi_rule){ .kind = CFI_IS_EXPRESSION,
					  .bytes = (uint32_t)v.n,
					  .expression = v.at };
	case UNDEFINED: return (struct cfi_rule){ .kind = CFI_UNDEFINED };
	case OTHER: return (struct cfi_rule){ .kind = CFI_REGISTER, .register_number = v.n };
	case RESTORE: return m->initial ? m->initial->rules[reg] : (struct cfi_rule){ 0 };
	default: return (struct cfi_rule){ .kind = CFI_SAME };
	}
}

/* Registers above CFI_RULES (vector ones) are passed over: no unwinder here needs them. The return
 * address has a flag of its own, by which the outermost frame is known. */
static void set_register(struct cfi_machine *m, uint8_t effect, uint64_t reg, struct value v)
{
	if (reg == m->ra)
		m->state.ra_undefined = effect == UNDEFINED;
	else if (effect >= OFFSET && effect <= VALUE_EXPRESSION)
		m->state.saved = true;
	if (reg < CFI_RULES)
		m->state.rules[reg] = rule_of(m, effect, reg, v);
}

/* Stops before the first ADVANCE that passes m->until; m->state then holds at that address. False:
 * the bytes make no sense. */
bool cfi_run(struct cfi_machine *m, struct cursor c)
{
	/* Deeper nesting than 8 overwrites the oldest: compilers use one level. */
	struct cfi_state remembered[8];
	size_t depth = 0;
	struct value a, b;

	while (cursor_left(&c) && !c.bad) {
		struct op_shape s = decode_operands(&c, &a, &b);
		uint64_t to = m->address + a.n * m->code_align;

		if (s.effect == UNKNOWN || c.bad)
			return false;
		if (s.effect == ADVANCE) {
			if (to > m->until)
				return true;
			m->address = to;
		} else if (s.effect == REMEMBER) {
			remembered[depth++ % 8] = m->state;
		} else if (s.effect == RECALL && depth) {
			m->state = remembered[--depth % 8];
		} else if (s.effect >= CFA) {
			set_cfa(m, s.effect, a, b);
		} else if (s.effect >= OFFSET && s.effect <= OTHER) {
			set_register(m, s.effect, a.n, b);
		}
	}
	return !c.bad;
}

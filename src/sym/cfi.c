/* A table of operand shapes does the parsing; what an instruction means is three short
 * functions, because only the CFA, the return address and "is anything saved" matter. */
#include "sym/cfi.h"

enum operand { NONE, ULEB, SLEB, BLOCK, BYTE, HALF, WORD };
enum effect {
	NOTHING, ADVANCE, SAVE, UNDEFINED, RESTORE, REMEMBER, RECALL,
	CFA, CFA_SF, CFA_REGISTER, CFA_OFFSET, CFA_OFFSET_SF, CFA_EXPRESSION,
	UNKNOWN,
};

struct shape { uint8_t effect, a, b; };

#define KNOWN 0x36
static const struct shape shapes[KNOWN] = {
	[0x00] = { NOTHING },               /* nop */
	[0x01] = { UNKNOWN },               /* set_loc: no compiler makes it */
	[0x02] = { ADVANCE, BYTE },         /* advance_loc1 */
	[0x03] = { ADVANCE, HALF },
	[0x04] = { ADVANCE, WORD },
	[0x05] = { SAVE, ULEB, ULEB },      /* offset_extended */
	[0x06] = { RESTORE, ULEB },
	[0x07] = { UNDEFINED, ULEB },
	[0x08] = { RESTORE, ULEB },         /* same_value */
	[0x09] = { NOTHING, ULEB, ULEB },   /* register */
	[0x0a] = { REMEMBER },
	[0x0b] = { RECALL },
	[0x0c] = { CFA, ULEB, ULEB },
	[0x0d] = { CFA_REGISTER, ULEB },
	[0x0e] = { CFA_OFFSET, ULEB },
	[0x0f] = { CFA_EXPRESSION, BLOCK },
	[0x10] = { SAVE, ULEB, BLOCK },     /* expression */
	[0x11] = { SAVE, ULEB, SLEB },      /* offset_extended_sf */
	[0x12] = { CFA_SF, ULEB, SLEB },
	[0x13] = { CFA_OFFSET_SF, SLEB },
	[0x14] = { SAVE, ULEB, ULEB },      /* val_offset */
	[0x15] = { SAVE, ULEB, SLEB },      /* val_offset_sf */
	[0x16] = { SAVE, ULEB, BLOCK },     /* val_expression */
	[0x17 ... 0x2d] = { UNKNOWN },
	[0x2e] = { NOTHING, ULEB },         /* GNU_args_size */
	[0x2f] = { SAVE, ULEB, ULEB },      /* GNU_negative_offset_extended */
	[0x30 ... KNOWN - 1] = { UNKNOWN },
};

static uint64_t read_operand(struct cursor *c, uint8_t operand)
{
	switch (operand) {
	case ULEB: return cursor_uleb(c);
	case SLEB: return (uint64_t)cursor_sleb(c);
	case BLOCK: cursor_bytes(c, cursor_uleb(c)); return 0;
	case BYTE: return cursor_u8(c);
	case HALF: return cursor_u16(c);
	case WORD: return cursor_u32(c);
	default: return 0;
	}
}

/* The three commonest instructions keep an operand in their low six bits. */
static struct shape decode(struct cursor *c, uint64_t *a, uint64_t *b)
{
	uint8_t op = cursor_u8(c);
	struct shape s = { UNKNOWN };

	*a = op & 0x3f;
	*b = 0;
	switch (op >> 6) {
	case 1: return (struct shape){ ADVANCE };
	case 2: *b = cursor_uleb(c); return (struct shape){ SAVE };
	case 3: return (struct shape){ RESTORE };
	}
	if (op < KNOWN)
		s = shapes[op];
	*a = read_operand(c, s.a);
	*b = read_operand(c, s.b);
	return s;
}

static void set_cfa(struct cfi_machine *m, uint8_t effect, uint64_t a, uint64_t b)
{
	struct cfi_state *s = &m->state;
	int64_t last = (int64_t)(effect == CFA || effect == CFA_SF ? b : a);

	if (effect == CFA_EXPRESSION) {
		s->cfa_expression = true;
		return;
	}
	if (effect == CFA || effect == CFA_SF || effect == CFA_REGISTER)
		s->cfa_register = a;
	if (effect == CFA_SF || effect == CFA_OFFSET_SF)
		last = (int64_t)((uint64_t)last * (uint64_t)m->data_align);
	if (effect != CFA_REGISTER)
		s->cfa_offset = last;
	s->cfa_expression = false;
}

static void set_register(struct cfi_machine *m, uint8_t effect, uint64_t reg)
{
	if (reg == m->ra)
		m->state.ra_undefined = effect == UNDEFINED;
	else if (effect == SAVE)
		m->state.saved = true;
}

bool cfi_run(struct cfi_machine *m, struct cursor c)
{
	struct cfi_state remembered[8];
	size_t depth = 0;
	uint64_t a, b;

	while (cursor_left(&c) && !c.bad) {
		struct shape s = decode(&c, &a, &b);
		uint64_t to = m->address + a * m->code_align;

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
		} else if (s.effect == SAVE || s.effect == UNDEFINED || s.effect == RESTORE) {
			set_register(m, s.effect, a);
		}
	}
	return !c.bad;
}

/* SPDX-License-Identifier: MIT */
#include "arch/x86_64/filter_code.h"

#include <string.h>

#define COMMON 8u /* the fields before: the agent fills them in for who asks */
#define RECORD_MOST 512u

struct emit {
	uint8_t *out;
	uint32_t n;
	uint32_t begins[FILTER_CODE_INSNS + 2]; /* of each instruction; of the two ends */
	uint32_t jumps[FILTER_CODE_INSNS];      /* behind the distance of each one's jump */
};

static void put(struct emit *e, const void *bytes, uint32_t n)
{
	memcpy(e->out + e->n, bytes, n);
	e->n += n;
}

static void put_u32(struct emit *e, uint32_t v)
{
	put(e, &v, sizeof(v));
}

/* size(%rdi) to %rax, as wide as 64 bits. */
static void load(struct emit *e, const struct filter_insn *i)
{
	static const struct { uint8_t size, is_signed, n, bytes[4]; } loads[] = {
		{ 1, 0, 3, { 0x0f, 0xb6, 0x87 } }, { 1, 1, 4, { 0x48, 0x0f, 0xbe, 0x87 } },
		{ 2, 0, 3, { 0x0f, 0xb7, 0x87 } }, { 2, 1, 4, { 0x48, 0x0f, 0xbf, 0x87 } },
		{ 4, 0, 2, { 0x8b, 0x87 } },       { 4, 1, 3, { 0x48, 0x63, 0x87 } },
		{ 8, 0, 3, { 0x48, 0x8b, 0x87 } }, { 8, 1, 3, { 0x48, 0x8b, 0x87 } },
	};

	for (unsigned k = 0; k < sizeof(loads) / sizeof(*loads); k++)
		if (loads[k].size == i->size && loads[k].is_signed == !!(i->flags & FILTER_SIGNED))
			put(e, loads[k].bytes, loads[k].n);
	put_u32(e, i->offset);
}

/* cmp or test of %rax with the value; by %rcx if it does not fit. */
static void compare(struct emit *e, const struct filter_insn *i)
{
	bool and = i->compare == FILTER_AND, fits = (int64_t)i->value == (int32_t)i->value;

	if (fits) {
		put(e, and ? "\x48\xa9" : "\x48\x3d", 2);
		put_u32(e, (uint32_t)i->value);
		return;
	}
	put(e, "\x48\xb9", 2);
	put(e, &i->value, 8);
	put(e, and ? "\x48\x85\xc8" : "\x48\x39\xc8", 3);
}

/* To the target, if the test holds or if it does not. */
static void jump(struct emit *e, const struct filter_insn *i)
{
	static const uint8_t conditions[FILTER_COMPARES][2] = { /* without a sign, with one */
		[FILTER_EQ] = { 0x4, 0x4 }, [FILTER_NE] = { 0x5, 0x5 }, [FILTER_LT] = { 0x2, 0xc }, [FILTER_LE] = { 0x6, 0xe },
		[FILTER_GT] = { 0x7, 0xf }, [FILTER_GE] = { 0x3, 0xd }, [FILTER_AND] = { 0x5, 0x5 },
	};
	uint8_t holds = conditions[i->compare][!!(i->flags & FILTER_SIGNED)];
	const uint8_t bytes[2] = { 0x0f, (uint8_t)(0x80 | (i->flags & FILTER_BRANCH ? holds : holds ^ 1)) };

	put(e, bytes, sizeof(bytes));
	put_u32(e, 0);
}

static void lead_jumps(struct emit *e, const struct filter_program *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		uint32_t distance = e->begins[p->at[i].target] - e->jumps[i];

		memcpy(e->out + e->jumps[i] - sizeof(distance), &distance, sizeof(distance));
	}
}

static bool is_plain(const struct filter_insn *i)
{
	return i->test == FILTER_NUMBER && i->compare < FILTER_COMPARES && i->offset >= COMMON && i->offset + i->size <= RECORD_MOST;
}

uint32_t filter_code_emit(const struct filter_program *p, uint8_t *out, uint16_t *needs)
{
	struct emit e = { .out = out };

	*needs = 0;
	if (p->n > FILTER_CODE_INSNS)
		return 0;
	for (unsigned i = 0; i < p->n; i++) {
		const struct filter_insn *insn = &p->at[i];

		if (!is_plain(insn))
			return 0;
		*needs = insn->offset + insn->size > *needs ? (uint16_t)(insn->offset + insn->size) : *needs;
		e.begins[i] = e.n;
		load(&e, insn);
		compare(&e, insn);
		jump(&e, insn);
		e.jumps[i] = e.n;
	}
	e.begins[p->n] = e.n;
	put(&e, "\xb8\x01\0\0\0\xc3", 6); /* mov $1, %eax; ret */
	e.begins[p->n + 1] = e.n;
	put(&e, "\x31\xc0\xc3", 3);       /* xor %eax, %eax; ret */
	lead_jumps(&e, p);
	return e.n;
}

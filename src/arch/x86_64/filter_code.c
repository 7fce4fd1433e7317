/* SPDX-License-Identifier: MIT */
/* Compiles filter programs to machine code. event/filter_compile.c calls it; no state. The code is
 * put behind the program, in memory that the traced program cannot write, and is called by event.S
 * (in this folder's agent) and agent/event.c. A program with tests of other kinds, or a long one,
 * gets no code and is interpreted. tests/event compare both. Any thread. */
#include "arch/filter_code.h"

#include <string.h>

#include "arch/x86_64/filter_jump.h"

/* Bytes of the common fields, which the agent fills in only for filters that are interpreted. */
#define COMMON 8u
#define RECORD_MOST 512u

struct filter_emit {
	uint8_t *out;
	uint32_t n;
	/* Offset of each instruction's code, and of the two ends. */
	uint32_t begins[FILTER_CODE_INSNS + 2];
	/* Offset after each instruction's jump, whose last four bytes are the distance. */
	uint32_t jumps[FILTER_CODE_INSNS];
};

static void emit_bytes(struct filter_emit *e, const void *bytes, uint32_t n)
{
	memcpy(e->out + e->n, bytes, n);
	e->n += n;
}

static void put_u32(struct filter_emit *e, uint32_t v)
{
	emit_bytes(e, &v, sizeof(v));
}

/* Emits a load of the field to %rax, extended to 64 bits by its sign. */
static void emit_load(struct filter_emit *e, const struct filter_insn *i)
{
	/* movzx, movsx, mov and movsxd of disp32(%rdi) to %rax, by the field's size and sign. A
	 * write to %eax clears the upper half, so that the short forms need no REX.W. */
	static const struct { uint8_t size, is_signed, n, bytes[4]; } loads[] = {
		{ 1, 0, 3, { 0x0f, 0xb6, 0x87 } }, { 1, 1, 4, { 0x48, 0x0f, 0xbe, 0x87 } },
		{ 2, 0, 3, { 0x0f, 0xb7, 0x87 } }, { 2, 1, 4, { 0x48, 0x0f, 0xbf, 0x87 } },
		{ 4, 0, 2, { 0x8b, 0x87 } },       { 4, 1, 3, { 0x48, 0x63, 0x87 } },
		{ 8, 0, 3, { 0x48, 0x8b, 0x87 } }, { 8, 1, 3, { 0x48, 0x8b, 0x87 } },
	};

	for (unsigned k = 0; k < sizeof(loads) / sizeof(*loads); k++)
		if (loads[k].size == i->size && loads[k].is_signed == !!(i->flags & FILTER_SIGNED))
			emit_bytes(e, loads[k].bytes, loads[k].n);
	put_u32(e, i->offset);
}

/* Emits cmp or test of %rax with the value; through %rcx if the value is no sign-extended 32-bit
 * immediate. */
static void emit_compare(struct filter_emit *e, const struct filter_insn *i)
{
	bool and = i->compare == FILTER_AND, fits = (int64_t)i->value == (int32_t)i->value;

	/* test or cmp with imm32; otherwise movabs to %rcx, and the same with it. */
	if (fits) {
		emit_bytes(e, and ? "\x48\xa9" : "\x48\x3d", 2);
		put_u32(e, (uint32_t)i->value);
		return;
	}
	emit_bytes(e, "\x48\xb9", 2);
	emit_bytes(e, &i->value, 8);
	emit_bytes(e, and ? "\x48\x85\xc8" : "\x48\x39\xc8", 3);
}

/* Emits a jump to the target, taken if the test holds or if it does not. The distance is filled in
 * by lead_jumps(). */
static void emit_jump(struct filter_emit *e, const struct filter_insn *i)
{
	const uint8_t bytes[2] = { 0x0f, filter_jump(i) };

	emit_bytes(e, bytes, sizeof(bytes));
	put_u32(e, 0);
}

/* Distances are from the end of the jump, as the processor counts them. Target p->n is "passes",
 * p->n + 1 "does not". */
static void lead_jumps(struct filter_emit *e, const struct filter_program *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		uint32_t distance = e->begins[p->at[i].target] - e->jumps[i];

		memcpy(e->out + e->jumps[i] - sizeof(distance), &distance, sizeof(distance));
	}
}

/* Only numbers, and only where the agent's copy of the record has them. */
static bool is_plain(const struct filter_insn *i)
{
	return i->test == FILTER_NUMBER && i->compare < FILTER_COMPARES && i->offset >= COMMON &&
	       i->offset + i->size <= RECORD_MOST;
}

uint32_t filter_code_emit(const struct filter_program *p, uint8_t *out, uint16_t *needs)
{
	struct filter_emit e = { .out = out };

	*needs = 0;
	if (p->n > FILTER_CODE_INSNS)
		return 0;
	for (unsigned i = 0; i < p->n; i++) {
		const struct filter_insn *insn = &p->at[i];

		if (!is_plain(insn))
			return 0;
		*needs = insn->offset + insn->size > *needs ? (uint16_t)(insn->offset + insn->size)
							    : *needs;
		e.begins[i] = e.n;
		emit_load(&e, insn);
		emit_compare(&e, insn);
		emit_jump(&e, insn);
		e.jumps[i] = e.n;
	}
	e.begins[p->n] = e.n;
	emit_bytes(&e, "\xb8\x01\0\0\0\xc3", 6); /* mov $1, %eax; ret */
	e.begins[p->n + 1] = e.n;
	emit_bytes(&e, "\x31\xc0\xc3", 3);       /* xor %eax, %eax; ret */
	lead_jumps(&e, p);
	return e.n;
}

/* SPDX-License-Identifier: MIT */
/* Makes machine code of a condition on a call's arguments, for the beginning of its trampoline.
 * trampoline.c calls it while a process is planned, on the plan's thread; no state.
 *
 * The filter stands here twice. The first copy is what runs until a term is met that only the agent
 * can tell. If the whole cannot hold without that term, the second copy goes on behind it as if it
 * held: what leaves the call out there leaves it out whatever the term says, and what lets it pass
 * asks the agent. So a number rejects a call without the agent, also if a string stands before
 * it. */
#include "arch/condition_code.h"

#include <errno.h>
#include <string.h>

#include "arch/x86_64/filter_jump.h"

#define JUMP 0xe9

/* Ends of a copy, as labels behind those of its instructions. */
enum { PASSES = CONDITION_CODE_INSNS, REJECTS, ASKS, LABELS };

/* One distance to be filled in: the four bytes before offset `end` lead to a label of a copy. */
struct jump { uint32_t end; uint8_t copy, label; };

struct emit {
	const struct condition_code *c;
	uint64_t at;
	uint8_t *out;
	uint32_t n;
	uint64_t labels[2][LABELS]; /* addresses */
	struct jump jumps[2 * (CONDITION_CODE_INSNS + 1) + 3];
	uint32_t n_jumps;
	bool far;                   /* something was out of reach */
};

static void put_bytes(struct emit *e, const void *bytes, uint32_t n)
{
	memcpy(e->out + e->n, bytes, n);
	e->n += n;
}

/* The distance from the end of the instruction, which has `more` bytes behind the field. */
static void put_distance(struct emit *e, uint64_t target, uint32_t more)
{
	int64_t distance = (int64_t)(target - (e->at + e->n + 4 + more));
	int32_t field = (int32_t)distance;

	e->far |= field != distance;
	put_bytes(e, &field, 4);
}

static void put_jump(struct emit *e, unsigned copy, unsigned label)
{
	put_bytes(e, "\0\0\0\0", 4);
	e->jumps[e->n_jumps++] = (struct jump){ e->n, (uint8_t)copy, (uint8_t)label };
}

/* True if comparing as many bits as the field has gives what comparing 64 gives. */
static bool value_fits(const struct filter_insn *i)
{
	unsigned unused = 64 - 8u * i->size;
	uint64_t zero = i->value << unused >> unused;
	uint64_t sign = (uint64_t)((int64_t)(i->value << unused) >> unused);

	if (i->compare == FILTER_AND)
		return i->value == zero || (i->flags & FILTER_SIGNED && i->value == sign);
	return i->value == (i->flags & FILTER_SIGNED ? sign : zero);
}

static bool is_compared(const struct condition_code *c, unsigned i)
{
	const struct filter_insn *insn = &c->filter->at[i];

	return c->registers[i] != CONDITION_NO_REGISTER && insn->test == FILTER_NUMBER &&
	       insn->compare < FILTER_COMPARES && value_fits(insn);
}

/* cmp or test of the register, as wide as the field, with an immediate; of 64 bits that no
 * immediate has, with the value in the filter. */
static void emit_compare(struct emit *e, unsigned i)
{
	const struct filter_insn *insn = &e->c->filter->at[i];
	bool and = insn->compare == FILTER_AND, wide = insn->size == 8, byte = insn->size == 1;
	uint8_t r = e->c->registers[i], low = r & 7, high = r >> 3;

	if (wide && (int64_t)insn->value != (int32_t)insn->value) {
		const uint8_t code[3] = { (uint8_t)(0x48 | high << 2), and ? 0x85 : 0x3b,
					  (uint8_t)(low << 3 | 5) };

		put_bytes(e, code, sizeof(code));
		put_distance(e, e->c->filter_at + ((uintptr_t)&insn->value -
						   (uintptr_t)e->c->filter), 0);
		return;
	}
	if (insn->size == 2)
		put_bytes(e, "\x66", 1);
	/* The prefix is always there: it makes %sil of what would be %dh. */
	put_bytes(e, (const uint8_t[3]){ (uint8_t)(0x40 | wide << 3 | high),
					 (uint8_t)((and ? 0xf6 : 0x80) | !byte),
					 (uint8_t)(0xc0 | (and ? 0 : 7) << 3 | low) }, 3);
	put_bytes(e, &insn->value, insn->size < 4 ? insn->size : 4);
}

/* The label of a filter's target. */
static unsigned label_of(const struct condition_code *c, unsigned target)
{
	return target < c->filter->n ? target : target == c->filter->n ? PASSES : REJECTS;
}

/* A term for the agent. If one of its answers rejects, the second copy goes on as if it had given
 * the other. */
static void emit_asked(struct emit *e, unsigned i)
{
	bool rejects = label_of(e->c, e->c->filter->at[i].target) == REJECTS;

	put_bytes(e, &(const uint8_t){ JUMP }, 1);
	put_jump(e, 1, rejects ? label_of(e->c, i + 1) : ASKS);
}

static void emit_copy(struct emit *e, unsigned copy)
{
	unsigned n = e->c->filter->n;

	for (unsigned i = 0; i < n; i++) {
		e->labels[copy][i] = e->at + e->n;
		if (!is_compared(e->c, i)) {
			emit_asked(e, i);
			continue;
		}
		emit_compare(e, i);
		put_bytes(e, (const uint8_t[2]){ 0x0f, filter_jump(&e->c->filter->at[i]) }, 2);
		put_jump(e, copy, label_of(e->c, e->c->filter->at[i].target));
	}
	put_bytes(e, &(const uint8_t){ JUMP }, 1);
	put_jump(e, copy, PASSES);
}

/* A rejected call may be inside of a graph, which the agent tells unless the thread has no live
 * call: where the fork guard is closed, the thread may have no thread pointer. It may be a signal's
 * handler, by its third argument, which follows the return address: the agent corrects what that
 * one sees of a fault. */
static void emit_rejected(struct emit *e, const struct condition_ends *ends)
{
	if (e->c->begins) {
		put_bytes(e, "\x83\x3d", 2);                 /* cmpl $0, guard(%rip) */
		put_distance(e, ends->fork_guard, 1);
		put_bytes(e, "\0\x0f\x84", 3);               /* je */
		put_jump(e, 1, ASKS);
		put_bytes(e, "\x64\x48\x83\x3c\x25", 5);     /* cmpq $0, %fs:top */
		put_bytes(e, &ends->top, 4);
		put_bytes(e, "\0\x0f\x85", 3);               /* jne */
		put_jump(e, 1, ASKS);
	}
	/* lea -8(%rdx), %rdx; cmp %rsp, %rdx; lea 8(%rdx), %rdx; je */
	put_bytes(e, "\x48\x8d\x52\xf8\x48\x39\xe2\x48\x8d\x52\x08\x0f\x84", 13);
	put_jump(e, 1, ASKS);
	put_bytes(e, &(const uint8_t){ JUMP }, 1);
	put_distance(e, ends->rejects, 0);
}

static void lead_jumps(struct emit *e)
{
	for (uint32_t k = 0; k < e->n_jumps; k++) {
		const struct jump *j = &e->jumps[k];
		int64_t distance = (int64_t)(e->labels[j->copy][j->label] - (e->at + j->end));
		int32_t field = (int32_t)distance;

		e->far |= field != distance;
		memcpy(e->out + j->end - 4, &field, 4);
	}
}

static bool has_code(const struct condition_code *c)
{
	unsigned compared = 0;

	for (unsigned i = 0; c->filter->n <= CONDITION_CODE_INSNS && i < c->filter->n; i++)
		compared += is_compared(c, i);
	return compared;
}

static bool needs_agent(const struct condition_code *c)
{
	for (unsigned i = 0; i < c->filter->n; i++)
		if (!is_compared(c, i))
			return true;
	return false;
}

static void emit_all(struct emit *e, const struct condition_ends *ends)
{
	emit_copy(e, 0);
	if (needs_agent(e->c))
		emit_copy(e, 1);
	e->labels[0][PASSES] = ends->passes;
	e->labels[1][PASSES] = e->labels[0][ASKS] = e->labels[1][ASKS] = ends->asks;
	e->labels[0][REJECTS] = e->labels[1][REJECTS] = e->at + e->n;
	emit_rejected(e, ends);
	lead_jumps(e);
}

uint32_t condition_code_bytes(const struct condition_code *c)
{
	uint8_t ignored[CONDITION_CODE_MAX];
	struct emit e = { .c = c, .out = ignored };

	if (has_code(c))
		emit_all(&e, &(const struct condition_ends){ 0 });
	return e.n;
}

int condition_code_emit(const struct condition_code *c, const struct condition_ends *ends,
			uint64_t at, uint8_t *out)
{
	struct emit e = { .c = c, .at = at, .out = out };

	if (has_code(c))
		emit_all(&e, ends);
	return e.far ? -ERANGE : 0;
}

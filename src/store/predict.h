/* SPDX-License-Identifier: MIT */
/* The predictor that both directions of columns.h step through, so that only its failures are
 * stored. A record (its low 24 bits) follows from the two before it. Where a call returns to
 * follows from what its caller did last before the call, which a stack keeps. Encoder and decoder
 * must take the same steps: a change here is a new file format. */
#pragma once
#include <stdint.h>

#define PREDICT_BITS_MIN 8
#define PREDICT_BITS_MAX 14
/* of the stack; deeper calls, and those after a longjmp, are only predicted worse */
#define PREDICT_DEPTH 1024
#define PREDICT_ANY_EXIT 2u  /* in next[]: an exit, to the site that the stack says */
#define PREDICT_PAYLOAD_BITS 12

struct predictor {
	uint32_t next[1 << PREDICT_BITS_MAX];  /* by the last two records: the next one */
	uint32_t exits[1 << PREDICT_BITS_MAX]; /* by the state at the entry: the exit */
	uint64_t payload[1 << PREDICT_PAYLOAD_BITS]; /* by the last two payload words: the next */
	/* index into exits of each open call; behind it what is not kept (predict_hit()) */
	uint32_t stack[PREDICT_DEPTH + 1];
	unsigned depth, bits;
	uint32_t last[2];
	uint64_t last_payload[2];
	/* the slots that belong to the record being predicted */
	uint32_t *next_slot, *exit_slot;
	uint64_t *payload_slot;
};

/* Returns the upper `bits` bits, 1 to 32, of a mix of both: an index into a table of that size. */
static inline uint32_t predict_hash(uint64_t a, uint64_t b, unsigned bits)
{
	return (uint32_t)((a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xd6e8feb86659fd93)) >>
			  (64 - bits));
}

/* log2 of the tables' size: larger tables cost more to clear than a short packet takes to code. */
static inline unsigned predict_bits(uint32_t words)
{
	unsigned bits = PREDICT_BITS_MIN;

	while (bits < PREDICT_BITS_MAX && (4u << bits) < words)
		bits++;
	return bits;
}

/* Empties the predictor: every packet starts with the same one. bits: from predict_bits(), or a
 * packet's, which a reader has checked. */
void predict_reset(struct predictor *p, unsigned bits);

/* The guess for the next record. Call predict_learn if it fails, then predict_step. */
static inline uint32_t predict_record(struct predictor *p)
{
	uint32_t guess;

	p->next_slot = &p->next[predict_hash(p->last[0], p->last[1], p->bits)];
	p->exit_slot = &p->exits[p->stack[p->depth % PREDICT_DEPTH]];
	guess = *p->next_slot;
	return guess == PREDICT_ANY_EXIT ? *p->exit_slot : guess;
}

/* Replaces a guess that failed by `record`. (record & 3) == 2 is RECORD_EXIT. */
static inline void predict_learn(struct predictor *p, uint32_t record)
{
	if ((record & 3) == 2) {
		*p->exit_slot = record;
		*p->next_slot = PREDICT_ANY_EXIT;
	} else {
		*p->next_slot = record;
	}
}

/* Moves on behind `record`. (record & 3) == 1 is RECORD_ENTRY. */
static inline void predict_step(struct predictor *p, uint32_t record)
{
	if ((record & 3) == 1)
		p->stack[++p->depth % PREDICT_DEPTH] = predict_hash(p->last[0], record, p->bits);
	else if ((record & 3) == 2)
		p->depth--;
	p->last[1] = p->last[0];
	p->last[0] = record;
}

/* The part of the predictor that changes with each record. */
struct predict_state { uint64_t last, before; unsigned depth; };

/* Begins a run of guesses that are known to be right: returns the state that they change. */
static inline struct predict_state predict_begin_hits(const struct predictor *p)
{
	return (struct predict_state){ p->last[0], p->last[1], p->depth };
}

/* Ends it: the predictor goes on from there. */
static inline void predict_end_hits(struct predictor *p, const struct predict_state *s)
{
	p->last[0] = (uint32_t)s->last;
	p->last[1] = (uint32_t)s->before;
	p->depth = s->depth;
}

/* predict_record() between the two, for guesses that are known to be right. Without branches, which
 * a processor cannot foresee where calls are irregular. */
static inline uint32_t predict_hit(const struct predictor *p, const struct predict_state *s)
{
	const uint32_t guess = p->next[predict_hash(s->last, s->before, p->bits)];
	const uint32_t exit = p->exits[p->stack[s->depth % PREDICT_DEPTH]];

	return guess ^ ((guess ^ exit) & -(uint32_t)(guess == PREDICT_ANY_EXIT));
}

/* predict_learn() between the two, of a guess that was not asked for. */
static inline void predict_miss(struct predictor *p, const struct predict_state *s, uint32_t record)
{
	const uint32_t leaves = -(uint32_t)((record & 3) == 2);
	uint32_t *exit = &p->exits[p->stack[s->depth % PREDICT_DEPTH]];

	*exit ^= (*exit ^ record) & leaves;
	p->next[predict_hash(s->last, s->before, p->bits)] =
		record ^ ((record ^ PREDICT_ANY_EXIT) & leaves);
}

/* predict_step() between the two. */
static inline void predict_step_hit(struct predictor *p, struct predict_state *s, uint32_t record)
{
	const unsigned enters = (record & 3) == 1, leaves = (record & 3) == 2;
	const unsigned keep = -enters;

	s->depth += enters - leaves;
	p->stack[(s->depth % PREDICT_DEPTH & keep) | (PREDICT_DEPTH & ~keep)] =
		predict_hash(s->last, record, p->bits);
	s->before = s->last;
	s->last = record;
}

/* The guess for payload word `index` of the current record. Call predict_step_payload next. */
static inline uint64_t predict_payload(struct predictor *p, unsigned index)
{
	p->payload_slot = &p->payload[predict_hash(p->last_payload[0] + index, p->last_payload[1],
						   PREDICT_PAYLOAD_BITS)];
	return *p->payload_slot;
}

/* Learns the payload word, guessed or not, and moves on behind it. */
static inline void predict_step_payload(struct predictor *p, uint64_t word)
{
	*p->payload_slot = word;
	p->last_payload[1] = p->last_payload[0];
	p->last_payload[0] = word;
}

/* SPDX-License-Identifier: MIT */
/* The predictor that both directions of columns.h step through, so that only its failures are
 * stored. What a record is (its low 24 bits) follows from the two before it; where a call
 * returns to follows from what its caller did last before calling, which a stack keeps. */
#pragma once
#include <stdint.h>

#define PREDICT_BITS_MIN 8
#define PREDICT_BITS_MAX 14
#define PREDICT_DEPTH 1024   /* of the stack; deeper, and after a longjmp, it only predicts worse */
#define PREDICT_ANY_EXIT 2u  /* in next[]: an exit, to where the stack says */
#define PREDICT_PAYLOAD_BITS 12

struct predictor {
	uint32_t next[1 << PREDICT_BITS_MAX];  /* by the last two records: the next one */
	uint32_t exits[1 << PREDICT_BITS_MAX]; /* by the state at the entry: the exit */
	uint64_t payload[1 << PREDICT_PAYLOAD_BITS]; /* by the last two payload words: the next */
	uint32_t stack[PREDICT_DEPTH];         /* index into exits of each open call */
	unsigned depth, bits;
	uint32_t last[2];
	uint64_t last_payload[2];
	/* the slots that the record being predicted looks at */
	uint32_t *next_slot, *exit_slot;
	uint64_t *payload_slot;
};

static inline uint32_t predict_hash(uint64_t a, uint64_t b, unsigned bits)
{
	return (uint32_t)((a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xd6e8feb86659fd93)) >>
			  (64 - bits));
}

/* Bigger tables cost more to clear than a short chunk takes to code. */
static inline unsigned predict_bits(uint32_t words)
{
	unsigned bits = PREDICT_BITS_MIN;

	while (bits < PREDICT_BITS_MAX && (4u << bits) < words)
		bits++;
	return bits;
}

void predictor_reset(struct predictor *p, unsigned bits);

static inline uint32_t predict_record(struct predictor *p)
{
	uint32_t guess;

	p->next_slot = &p->next[predict_hash(p->last[0], p->last[1], p->bits)];
	p->exit_slot = &p->exits[p->stack[p->depth % PREDICT_DEPTH]];
	guess = *p->next_slot;
	return guess == PREDICT_ANY_EXIT ? *p->exit_slot : guess;
}

/* The guess was wrong: it was `record`. */
static inline void predict_learn(struct predictor *p, uint32_t record)
{
	if ((record & 3) == 2) {
		*p->exit_slot = record;
		*p->next_slot = PREDICT_ANY_EXIT;
	} else {
		*p->next_slot = record;
	}
}

static inline void predict_step(struct predictor *p, uint32_t record)
{
	if ((record & 3) == 1)
		p->stack[++p->depth % PREDICT_DEPTH] = predict_hash(p->last[0], record, p->bits);
	else if ((record & 3) == 2)
		p->depth--;
	p->last[1] = p->last[0];
	p->last[0] = record;
}

static inline uint64_t predict_payload(struct predictor *p, unsigned index)
{
	p->payload_slot = &p->payload[predict_hash(p->last_payload[0] + index, p->last_payload[1],
						   PREDICT_PAYLOAD_BITS)];
	return *p->payload_slot;
}

static inline void predict_step_payload(struct predictor *p, uint64_t word)
{
	*p->payload_slot = word;
	p->last_payload[1] = p->last_payload[0];
	p->last_payload[0] = word;
}

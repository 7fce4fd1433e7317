/* SPDX-License-Identifier: MIT */
/* The copy of its stack that a thread left for the record that follows (shared/stack.h). unpack
 * puts the pieces together. */
#pragma once
#include <stdbool.h>

#include "shared/stack.h"

struct stack_copy {
	bool coming;             /* pieces have come, and their record has not */
	/* the last event that was unpacked is the record that the copy is for */
	bool told;
	uint32_t event;          /* the record it is for: an event's index, or STACK_OF_CALL */
	struct stack_regs regs;
	bool returns;            /* regs.pc is where the thread returns to */
	uint64_t at;             /* address of words[0] */
	uint32_t n;
	uint64_t words[STACK_WORDS_MAX];
};

/* Adds a piece, n payload words of its record. */
void stack_copy_add(struct stack_copy *s, const uint64_t *payload, unsigned n);
struct event;
/* Called for each unpacked event: sets s->told if the copy is for it. */
void stack_copy_tell(struct stack_copy *s, const struct event *e);

/* SPDX-License-Identifier: MIT */
/* What a thread left of its stack for the record that follows (shared/stack.h): unpack puts the pieces together. */
#pragma once
#include <stdbool.h>

#include "shared/stack.h"

struct stack_copy {
	bool coming;             /* pieces were there, and their record was not */
	bool told;               /* the last event that was unpacked is the record */
	uint32_t event;          /* what it is for: the event's index, or STACK_OF_CALL */
	struct stack_regs regs;
	bool returns;            /* regs.rip is where the thread returns to */
	uint64_t at;             /* address of words[0] */
	uint32_t n;
	uint64_t words[STACK_WORDS_MAX];
};

/* A piece, as its record has it. */
void stack_copy_add(struct stack_copy *s, const uint64_t *payload, unsigned n);
struct event;
/* The event was unpacked: is the copy for it? */
void stack_copy_tell(struct stack_copy *s, const struct event *e);

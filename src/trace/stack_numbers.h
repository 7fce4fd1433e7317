/* SPDX-License-Identifier: MIT */
/* Numbers for the stacks that steps of calls lie on: 0, 1, ... in the order in which they are asked
 * for. A thread's own stack has one, and each coroutine of a process. One reader's own. */
#pragma once
#include "base/number_map.h"
#include "trace/calls.h"

struct stack_numbers {
	VEC(uint32_t) threads;        /* 1 + the number of the thread's own stack; 0: not seen */
	struct number_map coroutines; /* process and track -> number */
	uint32_t n;
};

/* All zero is an empty one. The number of the stack that the step lies on; *n grows by one for each
 * stack that is new. */
uint32_t stack_number(struct stack_numbers *n, const struct trace_info *info,
		      const struct call_step *s);
void stack_numbers_free(struct stack_numbers *n);

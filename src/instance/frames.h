/* SPDX-License-Identifier: MIT */
/* The calls that stood on a thread's stack, from the copy that it left of it (trace/stack_copy.h). */
#pragma once
#include "trace/stack_copy.h"
#include "trace/trace_info.h"

struct frames;
struct frames *frames_new(void);
void frames_free(struct frames *f); /* NULL is fine */

/* Innermost first: where the thread stood, then return addresses; up to where the copy ends, or a file says no more, or
 * max of them. As many as there are, at least one. */
size_t frames_walk(struct frames *f, const struct trace_info *info, uint32_t image, uint64_t tsc, const struct stack_copy *s,
		   uint64_t *to, size_t max);

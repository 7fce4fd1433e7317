/* SPDX-License-Identifier: MIT */
/* Walks a thread's stack from the copy that the agent took of it (trace/stack_copy.h), by the
 * unwind tables of the files that its image had mapped. */
#pragma once
#include "trace/stack_copy.h"
#include "trace/trace_info.h"

struct frames;
/* info must outlive it. Reads nothing yet: files are opened as addresses in them come. Modules may
 * be added to info, for code that programs make (made_names.h). */
struct frames *frames_new(struct trace_info *info);
void frames_free(struct frames *f); /* NULL is fine */

/* Writes at most max addresses, innermost first: where the thread stood, then return addresses.
 * Stops where the copy ends or a file has no unwind table for the address; in a program that tells
 * which code it makes, where frame pointers lead nowhere, either. Returns their number, at least
 * one unless the pc or max is 0. Pointers into info->modules may become invalid. */
size_t frames_walk(struct frames *f, uint32_t image, uint64_t tsc, const struct stack_copy *s,
		   uint64_t *to, size_t max);

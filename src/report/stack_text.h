/* SPDX-License-Identifier: MIT */
/* Stacks as the kernel prints its own and those of user programs: a line for each frame. Pure: no
 * state. */
#pragma once
#include <traceevent/event-parse.h>

#include "trace/event.h"

/* The function of a frame of e's stack, and its module; NULL: the frame is in none. */
const struct trace_function *stack_text_function(const struct trace_info *info,
						 const struct event *e, uint64_t address,
						 const struct trace_module **module);
/* Appends "FUNCTION+0xOFFSET/0xSIZE" of an address in e's process; where no function is known, the
 * module and the offset in it, or the number. */
void stack_text_symbol(const struct trace_info *info, const struct event *e, uint64_t address,
		       struct trace_seq *to);
/* Appends the stack of e, an ftrace:kernel_stack or (user) ftrace:user_stack of at least
 * STACK_TEXT_LEAST bytes. The options sym-offset and sym-addr, or sym-userobj and sym-addr, apply.
 * No newline at its end. */
#define STACK_TEXT_LEAST 16u
void stack_text(const struct trace_info *info, const struct event *e, bool user, uint64_t options,
		struct trace_seq *to);

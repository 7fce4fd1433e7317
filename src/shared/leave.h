/* SPDX-License-Identifier: MIT */
/* Calls after which a thread may go on elsewhere than behind them: docs/nesting.md. */
#pragma once
#include <stdint.h>

/* How a call may leave its stack other than by returning; in an id word, too. */
enum leave_kind {
	LEAVE_NOT,
	LEAVE_SOMEWHERE,         /* not known where to */
	LEAVE_BY_JMP_BUF,        /* to where its first argument, a jmp_buf, says, for good */
	LEAVE_BY_CONTEXT,        /* the same with a ucontext_t */
	LEAVE_BY_SECOND_CONTEXT, /* its second argument is one: may come back */
	LEAVE_BY_UNWINDING,      /* up this stack; what it passes is told by itself */
	LEAVE_MARK,              /* it does not, but control may come back to where it returns */
	LEAVE_LENDING,           /* it does not, but makes a child that may run with its thread pointer */
	LEAVE_KINDS
};
#define LEAVE_SHIFT 26
#define LEAVE_MASK 7u
#define LEAVE_SILENT (1u << 29) /* the call itself is not to be recorded */

/* Stands in the trampoline of such a function. */
struct leave_about {
	uint32_t id_word, size;  /* size of the function in bytes */
	int32_t from;            /* from the end of this to the function */
};

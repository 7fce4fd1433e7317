/* SPDX-License-Identifier: MIT */
/* The recording of a function's arguments: what its trampoline tells the agent. The tracer writes
 * the site in front of the trampoline, in memory that the program cannot write. */
#pragma once
#include "shared/fetch.h"

struct arguments_site {
	uint32_t function;       /* id */
	uint32_t begins;         /* 1: it may begin a graph (STATE_GRAPH_FUNCTION) */
	uint32_t program_bytes, pad;
	/* Makes the record from its second word on; the first value is at ARGUMENTS_FIRST. */
	struct fetch_program program;
};
#define ARGUMENTS_FIRST 16u      /* behind the record's header and the function's id */

/* Registers at the function's first instruction, as arch/x86_64/agent/arguments.S leaves them. */
struct arguments_regs { uint64_t at[FETCH_REGS]; uint64_t floats[FETCH_FLOATS]; };

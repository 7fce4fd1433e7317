/* SPDX-License-Identifier: MIT */
/* A function's arguments, to be recorded or compared: what its trampoline tells the agent. The
 * tracer writes the site in front of the trampoline, in memory that the program cannot write. */
#pragma once
#include "shared/fetch.h"

struct arguments_site {
	uint32_t function;       /* id */
	uint32_t begins;         /* 1: it may begin a graph (STATE_GRAPH_FUNCTION) */
	uint32_t program_bytes;  /* 0: its arguments are not recorded */
	uint32_t condition;      /* bytes from here to a struct call_condition; 0: there is none */
	/* Makes the record from its second word on; the first value is at ARGUMENTS_FIRST. */
	struct fetch_program program;
};

/* Decides about a call by its arguments, before anything of it is recorded. Behind the program of
 * the values lies the filter (shared/filter.h), whose record has them from ARGUMENTS_FIRST on. */
struct call_condition {
	uint32_t fetch_bytes, filter_bytes;
	uint32_t begins;         /* 1: it decides whether the call begins a graph; not within one */
	uint32_t pad;
	struct fetch_program fetch;
};
#define CONDITION_VALUES 24u     /* that a condition's record may have, 8 bytes each */
#define ARGUMENTS_FIRST 16u      /* behind the record's header and the function's id */

/* Registers at the function's first instruction, as arch/x86_64/agent/arguments.S leaves them. */
struct arguments_regs { uint64_t at[FETCH_REGS]; uint64_t floats[2 * FETCH_FLOATS]; };

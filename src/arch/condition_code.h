/* SPDX-License-Identifier: MIT */
/* Machine code at the beginning of a trampoline (arch/trampoline.h) that decides about a call by
 * numbers in registers: a comparison and a jump for each term of the condition. The agent is asked
 * only where a term of another kind decides. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arch/machine.h"
#include "shared/filter.h"

#define CONDITION_CODE_INSNS 16u /* longer conditions have none */
/* The machine's part has CONDITION_CODE_MAX, an upper bound of condition_code_bytes(). */
#include MACHINE_HEADER(condition_code.h)
#define CONDITION_NO_REGISTER 0xff

struct condition_code {
	const struct filter_program *filter;
	uint64_t filter_at;   /* its address in the process, in reach of the code, which reads it */
	/* By instruction of the filter: the register, by its number in instructions, whose lowest
	 * bytes it compares; CONDITION_NO_REGISTER: only the agent can tell. */
	uint8_t registers[CONDITION_CODE_INSNS];
	bool begins;          /* the agent is asked before a call is left out inside of another */
};

/* Addresses in the process that the code goes to, and, with `begins`, reads: the region's fork
 * guard, and the displacement of agent_tls.top_sp from the thread pointer. */
struct condition_ends {
	uint64_t passes, asks, rejects;
	uint64_t fork_guard;
	int32_t top;
};

/* Returns the bytes of a condition's code, at most CONDITION_CODE_MAX; 0: it has none, since its
 * filter compares no register or is too long. The filter must be one that filter_verify()
 * accepts. */
uint32_t condition_code_bytes(const struct condition_code *c);

/* Writes the code, which comes to one of the ends, for runtime address `at`. All registers come out
 * as they went in, flags do not; no memory is written. A call that may be a signal handler's is
 * never rejected, but asked about. Returns 0, or -ERANGE: something is out of reach. */
int condition_code_emit(const struct condition_code *c, const struct condition_ends *ends,
			uint64_t at, uint8_t *out);

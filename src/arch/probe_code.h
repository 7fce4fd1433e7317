/* SPDX-License-Identifier: MIT */
/* The code that a probed instruction's jump leads to:
 *
 *   lead | step over what a function may keep below the stack pointer; call the agent; say which
 *   site this is; step back | rest, and back
 *
 * The agent (probe.S in the machine's folder) keeps every register and the flags. Where the site is
 * said, the agent finds the address of its struct probe_site. */
#pragma once
#include "arch/relocate.h"

struct probe_code {
	const struct relocate_recipe *lead, *rest;
	const uint8_t *original;  /* bytes of the window: the lead's, then the rest's */
	uint64_t vaddr;           /* file address of the probed instruction */
	uint64_t ip;              /* its address in the process */
	uint64_t agent;           /* address of the word that holds the agent's address */
	uint64_t site;            /* address of the struct probe_site */
	/* Address to go on at instead of the rest: another hook of the same bytes; 0 = none. */
	uint64_t then;
};

/* The machine's part has PROBE_CODE_MAX_BYTES, an upper bound of probe_code_emit()'s. */
#include MACHINE_HEADER(probe_code.h)

/* Offsets in the code: where the stack pointer has stepped down, and where it is back. */
struct probe_code_steps { uint8_t down, back; };

/* Writes the code for address `at`. Returns the bytes written, and where it steps; or -ERANGE.
 * `out` has PROBE_CODE_MAX_BYTES bytes. */
int probe_code_emit(const struct probe_code *p, uint64_t at, uint8_t *out,
		    struct probe_code_steps *steps);

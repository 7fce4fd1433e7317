/* SPDX-License-Identifier: MIT */
/* A number of a stopped thread, as a probe can fetch it: registers, and loads through each
 * other. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYM_CHAIN_LOADS 12u /* of 8 bytes, one through the other */

/* A number of a stopped thread: what `base` says, plus offsets[0]; then, for each load, the word
 * there plus the next offset. ADDRESS: offsets[0] is one of the file, which the loader moves. */
enum sym_chain_base { SYM_CHAIN_NUMBER, SYM_CHAIN_REGISTER, SYM_CHAIN_ADDRESS, SYM_CHAIN_RESULT };
struct sym_chain {
	uint8_t base, loads;
	uint16_t reg;             /* DWARF's number */
	int64_t offsets[SYM_CHAIN_LOADS + 1];
};

/* Adds to the number. */
void sym_chain_add(struct sym_chain *c, int64_t by);
/* The number becomes the word at it. False: it has as many loads as there may be. */
bool sym_chain_load(struct sym_chain *c);

/* SPDX-License-Identifier: MIT */
/* The bytes between functions that are never executed, and which hook has taken which of them.
 * Private to src/hook. */
#pragma once
#include "hook/sweep.h"

struct padding {
	const struct sweep *s;
	uint64_t *end;       /* for each function: the end of it and of all functions before it */
	uint64_t *free_from; /* for each function: the bytes after it are given away up to here */
	uint64_t *island;    /* for each function: its first island after it; 0 = none */
};

/* Starts with all padding free; padding_free() frees the arrays. */
void padding_init(const struct sweep *s, struct padding *out);
void padding_free(struct padding *p);

/* Gives function i the bytes [from, to), after an instruction of its own that execution never
 * passes. False: they are not free. */
bool padding_extend(struct padding *p, uint32_t i, uint64_t from, uint64_t to);

/* Takes room for an island, which holds a jump, within reach of a short jump at `from` in function
 * i. Returns its address; 0: there is none. */
uint64_t padding_island(struct padding *p, uint32_t i, uint64_t from);

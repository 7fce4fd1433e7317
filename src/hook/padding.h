/* SPDX-License-Identifier: MIT */
/* The bytes between functions that are never executed: who has taken which of them. Private
 * to src/hook. */
#pragma once
#include "hook/sweep.h"

struct padding {
	const struct sweep *s;
	uint64_t *end;       /* of each function: where it and all functions before it end */
	uint64_t *free_from; /* of each function: the bytes behind it are given away up to here */
};

void padding_init(const struct sweep *s, struct padding *out);
void padding_free(struct padding *p);

/* Gives function i the bytes [from, to): unused ones, behind an instruction of its own that
 * execution never passes. False: they are not free. */
bool padding_extend(struct padding *p, uint32_t i, uint64_t from, uint64_t to);

/* Room for an island of 5 bytes that a 2-byte jump at `from`, in function i, reaches; 0 = none. */
uint64_t padding_island(struct padding *p, uint32_t i, uint64_t from);

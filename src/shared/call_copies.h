/* SPDX-License-Identifier: MIT */
/* Copies of what the arguments of a system call lead to, at the end of its record. The agent makes
 * them; like fetch.h, this file needs nothing of it. */
#pragma once
#include "shared/calls.h"
#include "shared/record.h"

#define CALL_RECORD_WORDS (1u + RECORD_PAYLOAD_MAX)

/* A call, and the way to read its memory. */
struct call_values {
	const uint64_t *arguments; /* CALL_ARGUMENTS of them */
	uint64_t result;           /* 0 before the call */
	/* Copies up to n bytes from an address that may lead anywhere; returns the number of bytes
	 * that could be read, counted from the first. */
	uint32_t (*read)(uint64_t address, void *to, uint32_t n);
};

/* Appends the copies that the event wants to a record of n words (at most 8), which has room for
 * CALL_RECORD_WORDS; returns its words then. Memory that is not there is no copy. */
unsigned call_copies_add(const struct call_event *e, uint64_t *words, unsigned n,
			 const struct call_values *v);

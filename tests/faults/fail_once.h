/* The state that a driver of fault injection (faults.py) shares with every process of brace in a
 * run (fail_once.c): a file of FAIL_ONCE_SIZE bytes, mapped by all. The driver writes the header's
 * first fields before a run and reads the rest after it.
 *
 * A place is a call of brace's: the function's name, and the chain of callers that are in brace's
 * own text. Chains, not numbers, tell the calls apart: how often a thread asks for something
 * depends on the time, who asks does not. */
#pragma once
#include <stdint.h>

enum { FAIL_ONCE_PLACES = 8192, FAIL_ONCE_DEPTH = 24 };

struct fail_once_place {
	uint64_t key;   /* of name and chain; 0: none */
	uint32_t calls; /* in this run */
	uint32_t depth;
	char name[32];
	uint64_t chain[FAIL_ONCE_DEPTH]; /* return addresses, from brace's first byte on; innermost first */
};

struct fail_once {
	uint64_t key;    /* driver: which place is to fail; 0: none, the run is counted */
	uint32_t nth;    /* driver: its how-manieth call, from 1 on */
	uint32_t calls;  /* of that place, so far */
	int32_t failed;  /* the process that saw the failure; 0: it did not come to that */
	uint32_t lost;   /* places that found no room */
	struct fail_once_place places[FAIL_ONCE_PLACES];
};

/* SPDX-License-Identifier: MIT */
/* One pass over all code of a module: where control may arrive but by falling in, and what
 * each function does that forbids or restricts a hook. Private to src/hook. */
#pragma once
#include "hook/address_set.h"

/* Of a function. */
#define FACT_MCOUNT 1           /* calls a compiler's entry hook */
#define FACT_READS_CALLER 2     /* reads the return address on its stack */
#define FACT_ODD_ENTRY 4        /* entered with something else than a return address on top */
#define FACT_RETURNS_FLAGS 8    /* some caller reads the flags it returns */
#define FACT_READ_AS_DATA 16    /* some instruction loads from its first bytes */
#define FACT_READS_FLAGS 32     /* reads the flags before it writes them */
#define FACT_LEAVES_STACK 64    /* sets its stack pointer to what it did not get from it */
#define FACT_STARTS_THREADS 128 /* makes the system call clone, or clone3 */
#define FACT_LENDS_THREAD 256   /* makes a child that may have its thread pointer: vfork, clone, clone3 */
#define FACT_HOLDS_DATA 512     /* some instruction loads from its bytes */
#define FACT_NAMED 1024         /* some instruction takes its address */

/* By their indices: the first one jumps to the second one's entry. */
struct tail_call { uint32_t from, to; };

struct sweep {
	const struct sym_module *m;
	struct address_set targets; /* code: something jumps there, or may */
	struct address_set stops;   /* code: behind an instruction that control does not pass */
	uint16_t *facts;            /* FACT_* of each function */
	VEC(struct tail_call) tails;
};

/* Entry hooks: their code, and the GOT slots that lead there. */
struct sweep_hooks { VEC(uint64_t) functions, slots; };

void sweep_run(const struct sym_module *m, const struct sweep_hooks *hooks, struct sweep *out);
void sweep_free(struct sweep *s);

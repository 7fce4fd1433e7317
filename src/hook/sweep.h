/* SPDX-License-Identifier: MIT */
/* One pass over all code of a module: the addresses where control may arrive other than by falling
 * in, and the facts of each function that forbid or restrict a hook. Private to src/hook. */
#pragma once
#include "hook/address_set.h"

/* Facts of a function. */
#define FACT_MCOUNT 1           /* calls a compiler's entry hook */
#define FACT_READS_CALLER 2     /* reads the return address on its stack */
/* Entered with something other than a return address on top of the stack. */
#define FACT_UNUSUAL_ENTRY 4
#define FACT_RETURNS_FLAGS 8    /* some caller reads the flags it returns */
#define FACT_READ_AS_DATA 16    /* some instruction loads from its first bytes */
#define FACT_READS_FLAGS 32     /* reads the flags before it writes them */
#define FACT_LEAVES_STACK 64    /* sets its stack pointer to a value that did not come from it */
#define FACT_STARTS_THREADS 128 /* makes the system call clone, or clone3, with its own memory */
#define FACT_LENDS_THREAD 256   /* makes a child that may share its thread pointer: vfork, clone */
#define FACT_HOLDS_DATA 512     /* some instruction loads from its bytes */
#define FACT_NAMED 1024         /* some instruction takes its address */

/* Indices of two functions: the first jumps to the second's entry. */
struct tail_call { uint32_t from, to; };

struct sweep {
	const struct sym_module *m;
	struct address_set targets; /* addresses in code that something jumps to, or may */
	/* Addresses in code after an instruction that control does not pass. */
	struct address_set stops;
	uint16_t *facts;            /* FACT_* of each function */
	VEC(struct tail_call) tails;
};

/* Compilers' entry hooks: their code, and the GOT slots that lead there. */
struct sweep_hooks { VEC(uint64_t) functions, slots; };
struct insn;
/* Whether the instruction calls one of the hooks, directly or through its slot. */
bool sweep_hooks_called(const struct sweep_hooks *h, const struct insn *in);

/* Sweeps the module; sweep_free() frees the result. */
void sweep_run(const struct sym_module *m, const struct sweep_hooks *hooks, struct sweep *out);
void sweep_free(struct sweep *s);

/* SPDX-License-Identifier: MIT */
/* A walk over one function's code along its control flow, with the stack pointer followed on each
 * path: what it calls, where it ends, and whether its bytes can be a function at all. Private to
 * src/sym. */
#pragma once
#include "arch/walk.h"
#include "sym/code_set.h"

/* One path through the code, at its next instruction. */
struct body_path {
	uint64_t at;
	struct walk_stack stack;
	bool after_call;  /* nothing but a call leads here, which perhaps does not return */
	uint32_t entries; /* of a jump table, by what was last compared with */
	uint64_t table;   /* the address last taken; 0: none */
};

/* Instructions, by the addresses of their first and of their other bytes. */
struct body_marks { struct code_set first, inside; };

struct body {
	const struct elf_view *v;
	const struct code_set *starts; /* known functions: a path ends where it meets another */
	struct body_marks all; /* of every function that was kept */
	uint64_t work;         /* instructions that may still be decoded; at 0 each walk fails */
	/* The last walk. */
	uint64_t start, limit;
	struct body_marks own;
	VEC(uint64_t) insns;   /* addresses, in the order of the walk */
	VEC(uint64_t) calls;   /* targets of direct calls */
	VEC(struct body_path) branches, returns; /* still to be walked; returns: behind calls */
	VEC(uint64_t) names;   /* code whose addresses are taken */
	bool ends;             /* a return or a tail call was met, with the stack as at entry */
	bool balanced;         /* a return was, with a stack that was followed all the way */
	bool stops;            /* a trap was met, or a call that does not seem to return */
	bool doubtful;         /* a part behind a call was left out */
	bool unaligned;        /* a call was met with a stack that is not as the ABI has it there */
	bool faulty;           /* the part now walked contradicts itself */
};

/* Prepares for walks in v's code; body_free() frees. starts stays the caller's. */
void body_init(struct body *b, const struct elf_view *v, const struct code_set *starts);
void body_free(struct body *b);
/* Walks the code from start, which is code, within [start, limit). True: the bytes up to the first
 * calls are sound instructions that keep their stack. A part behind a call that is not sound is
 * left out, as if the call did not return. */
bool body_walk(struct body *b, uint64_t start, uint64_t limit);
/* Keeps the instructions of the last walk: later walks fail if theirs overlap them. */
void body_keep(struct body *b);
/* Returns the end of the instructions of the last walk that lie together, from its start on. */
uint64_t body_end(const struct body *b);
/* True if the bytes before vaddr are padding, or may be the end of another function. */
bool body_may_begin(const struct elf_view *v, uint64_t vaddr);

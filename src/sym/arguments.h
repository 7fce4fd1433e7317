/* SPDX-License-Identifier: MIT */
/* Parameters and results of functions, as far as they can be recorded, and where each parameter is
 * at the function's first instruction: from the debug information. */
#pragma once
#include "sym/module.h"
#include "base/prototype.h"

/* Where a parameter is at the first instruction. ABI: where the calling convention puts it.
 * REGISTER: DWARF's number. PIECES: of two words, the numbers of both. STACK: bytes above the
 * return address. NONE: the compiler left it out, and its type is "?". */
enum sym_location_kind {
	SYM_LOCATION_ABI, SYM_LOCATION_REGISTER, SYM_LOCATION_STACK, SYM_LOCATION_NONE,
	SYM_LOCATION_PIECES
};
struct sym_location {
	uint8_t kind;
	int32_t at, second;
	/* of a structure by value: how many words of 8 bytes it has, whether the convention passes
	 * it on the stack, and else which words are in vector registers (bits). 0 words: of none */
	uint8_t words, floats;
	bool memory;
	/* all its words are in one vector register; on the stack it begins at a multiple of two
	 * words */
	bool vector, aligned;
	/* whether it is in one vector register, or on the stack, is not known */
	bool unsure;
	/* a class with nothing in it: the convention has no place for it */
	bool empty;
	/* it points to the structure that was asked for, or to a class derived from it, in which it
	 * lies so many bytes further on */
	bool object;
	int32_t object_at;
	/* it points to a base of the structure instead: -object_at bytes further on in it, if it is
	 * one's base */
	bool base;
};

/* A base of a class, so many bytes from its beginning. */
struct sym_base { char *name; int32_t at; };

struct sym_arguments {
	uint64_t vaddr;
	char *returns;            /* `returned` of prototype.h */
	char *takes;              /* parameters of prototype.h, without the parentheses */
	/* what is returned has its address passed as the first argument */
	bool hidden;
	bool gives;               /* it returns a pointer to the structure that was asked for */
	/* words of numbers so far, at most; behind a parameter that is `unsure`, what the
	 * convention has in other registers, or on the stack, is not known */
	uint32_t numbers;
	bool unsure;
	uint32_t values;          /* of its prototype, members of structures included */
	VEC(struct sym_location) locations; /* one for each parameter of `takes` but "..." */
};

struct sym_arguments_list {
	bool has_dwarf;           /* false: nothing can be known */
	char *left_out;           /* as struct sym_inlined's */
	uint32_t inlined;         /* sym_arguments_taking(): functions that have inlined copies */
	VEC(struct sym_arguments) at; /* by vaddr, one for an address */
};

/* Reads those of the functions with code at addresses that `wanted` confirms. Takes as long as
 * sym_inlined_find(). Returns 0, or -errno and *err as sym_signatures_read().
 * sym_arguments_free() frees the list. depth 1: members of
 * structures that are passed by their address are told, too. */
typedef bool sym_wanted(void *context, uint64_t vaddr);
int sym_arguments_read(const struct sym_module *m, sym_wanted *wanted, void *context,
		       unsigned depth, struct sym_arguments_list *out, struct err *err);
/* Works like sym_arguments_read(), for the functions with a parameter that points or refers to the
 * structure or typedef of this name, to a class derived from it, or to one of these bases of it,
 * wherever it is: `locations` says which are. */
int sym_arguments_taking(const struct sym_module *m, const char *structure,
			 const struct sym_base *bases, uint32_t n_bases,
			 struct sym_arguments_list *out, struct err *err);
/* The entry of the function at a vaddr; NULL: not known. */
const struct sym_arguments *sym_arguments_at(const struct sym_arguments_list *l, uint64_t vaddr);
void sym_arguments_free(struct sym_arguments_list *l);

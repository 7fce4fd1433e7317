/* SPDX-License-Identifier: MIT */
/* A set of code addresses: one bit for each byte of the executable parts. Cheaper than sorting for
 * addresses that come in hundreds of thousands (jump tables, relocations), and asked once for each
 * byte when text is searched. Private to src/sym. */
#pragma once
#include "sym/elf_view.h"

struct code_range { uint64_t vaddr, size; uint64_t *bits; };
struct code_set { VEC(struct code_range) ranges; };

/* Returns an empty set over v's code areas; areas that nearly touch share a range, gap included. */
struct code_set code_set_new(const struct elf_view *v);
void code_set_free(struct code_set *s);

/* Whether the range has the byte at `into`, which is below its size. */
static inline bool code_range_has(const struct code_range *r, uint64_t into)
{
	return r->bits[into / 64] >> (into % 64) & 1;
}

/* Adds an address; one outside of the ranges is ignored, and code_set_has() is false for it. */
void code_set_add(struct code_set *s, uint64_t vaddr);
/* Takes an address out of the set. */
void code_set_remove(struct code_set *s, uint64_t vaddr);
bool code_set_has(const struct code_set *s, uint64_t vaddr);
size_t code_set_count(const struct code_set *s);
/* Writes all addresses in ascending order to out (code_set_count() of them). */
void code_set_list(const struct code_set *s, uint64_t *out);
/* Adds b's addresses to a; both must be of the same view. */
void code_set_join(struct code_set *a, const struct code_set *b);

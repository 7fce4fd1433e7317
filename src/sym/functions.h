/* SPDX-License-Identifier: MIT */
/* The functions of a file, gathered from every source and merged by address. Private to
 * src/sym. */
#pragma once
#include "sym/eh_frame.h"

/* One thing a source says. name points into a file that stays mapped until the merge. */
struct found {
	uint64_t vaddr, size;
	const char *name;      /* NULL = none */
	uint32_t name_n; /* bytes that count: versions (@...) are not part of it; > 0 if name */
	uint8_t source;        /* enum sym_source */
	bool local, ifunc;
};
/* A PLT entry without a symbol: its ifunc's resolver is all that is known. */
struct found_resolver { uint64_t plt, resolver; };
struct found_list {
	VEC(struct found) list;
	VEC(struct found_resolver) resolvers;
	size_t debug_bytes; /* of a debug file that names are of */
	struct elf_symtab symtab, dynsym;
};

/* Each adds what its source knows. */
void found_symbols(const struct elf_view *v, const struct elf_symtab *t, uint8_t source,
		   struct found_list *out);
void found_fdes(const struct elf_view *v, const struct eh_frame *f, bool patchable,
		struct found_list *out);
void found_entries(const struct elf_view *v, struct found_list *out);
bool found_go(const struct elf_view *v, struct found_list *out); /* is it a Go program? */
void found_plt(const struct elf_view *v, struct found_list *out);
void found_set_name(struct found *f, const char *name);

/* Instead of what is in the list: code that m's functions, whose sizes are not bounded yet, leave unknown, and in which stacks
 * are switched. Sorted by address. */
void found_switches(const struct sym_module *m, const struct elf_view *v, const struct eh_frame *frame, struct found_list *out);

bool plt_section(const struct elf_section *s);

/* Sorts and merges into m->functions and m->strings. */
void functions_merge(struct sym_module *m, const struct elf_view *v, const struct eh_frame *f,
		     struct found_list *found);
/* Marks the cold fragments among m's functions. refs: code addresses that data names;
 * pads: landing pads. */
void functions_mark_cold(struct sym_module *m, const struct elf_view *v, const struct eh_frame *f,
			 const struct code_set *refs, const struct code_set *pads);

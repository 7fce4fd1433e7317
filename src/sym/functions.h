/* SPDX-License-Identifier: MIT */
/* The functions of a file, gathered from every source and merged by address. Private to src/sym. */
#pragma once
#include "sym/eh_frame.h"

/* One function as one source has it. name points into a file that stays in memory until the
 * merge. */
struct found {
	uint64_t vaddr, size;
	const char *name;      /* NULL = none */
	uint32_t name_n; /* length of the name without its version (@...); > 0 if name */
	uint8_t source;        /* enum sym_source */
	bool local, ifunc;
};
/* A PLT entry without a symbol: only its ifunc's resolver is known. */
struct found_resolver { uint64_t plt, resolver; };
struct found_list {
	VEC(struct found) list;
	VEC(struct found_resolver) resolvers;
	size_t debug_bytes; /* bytes of the debug file that has the names */
	struct elf_symtab symtab, dynsym;
};

/* Each adds the functions of its source. */
void found_symbols(const struct elf_view *v, const struct elf_symtab *t, uint8_t source,
		   struct found_list *out);
void found_fdes(const struct elf_view *v, const struct eh_frame *f, bool patchable,
		struct found_list *out);
void found_entries(const struct elf_view *v, struct found_list *out);
/* Adds Go's functions. Returns true if it is a Go program. */
bool gopclntab_find(const struct elf_view *v, struct found_list *out);
void plt_find(const struct elf_view *v, struct found_list *out);
/* Sets the name without its @VERSION; the string is not copied. */
void found_set_name(struct found *f, const char *name);

/* Replaces the list by code that m's functions (whose sizes are not bounded yet) leave unknown, and
 * in which stacks are switched. Sorted by address. */
void stack_switches_find(const struct sym_module *m, const struct elf_view *v,
			 const struct eh_frame *frame, struct found_list *out);

/* True for a section of PLT entries, by its name. */
bool plt_section(const struct elf_section *s);

/* Sorts and merges into m->functions and m->strings. */
void functions_merge(struct sym_module *m, const struct elf_view *v, const struct eh_frame *f,
		     struct found_list *found);
/* Marks the cold fragments among m's functions. refs: code addresses that data names; pads: landing
 * pads. */
void functions_mark_cold(struct sym_module *m, const struct elf_view *v, const struct eh_frame *f,
			 const struct code_set *refs, const struct code_set *pads);

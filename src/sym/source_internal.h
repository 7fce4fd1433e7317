/* SPDX-License-Identifier: MIT */
/* Types and functions that the files of source.h share. Private to them. */
#pragma once
#include "sym/dwarf_walk.h"
#include "sym/eh_frame.h"
#include "sym/elf_view.h"
#include "sym/source.h"

struct sym_source_info {
	const struct sym_module *m;
	struct dwarf_file file;
	/* call frame information, read when a variable needs it */
	struct elf_view view;
	struct eh_frame frame;
	bool frame_read, has_frame;
};

/* A part of a function, or a function: what holds it comes before it. */
struct scope_block { Dwarf_Die die; bool is_function; };
/* block: index of the one that holds it; GLOBAL: it is a unit's. */
#define SCOPE_GLOBAL UINT32_MAX
struct scope_variable { Dwarf_Die die; uint32_t block; bool own_unit; };

struct sym_scope {
	struct sym_source_info *source;
	uint64_t vaddr;
	VEC(struct scope_block) blocks;
	VEC(struct scope_variable) variables; /* in the file's order */
	Dwarf_Die unit;           /* the one around; addr NULL: none */
};

struct sym_structure { Dwarf_Die die; };

/* Walks the debug information; -EBADMSG, or -EFBIG: it is not all looked at, and *err. */
int source_walk(struct sym_source_info *s, const struct dwarf_visitor *visitor, struct err *err);
/* True if `path` ends in `tail`, which begins at one of its names. */
bool source_is_file(const char *path, const char *tail);
/* The path as seen from where the compiler ran; the caller frees it. */
char *source_whole_path(Dwarf_Die *unit, const char *path);
/* True if the function, copy or declaration has the name, in the source or for the linker. */
bool source_has_name(Dwarf_Die *die, const char *name);
/* The function's first instruction, of the innermost function of the scope. False: none. */
bool source_entry(const struct sym_scope *sc, uint64_t *entry);

/* Finds where a variable is at the scope's instruction. Returns NULL, or why it is not to be had,
 * the end of a sentence, which the caller frees. */
char *source_locate(struct sym_scope *sc, const struct scope_variable *v, struct sym_chain *chain,
		    bool *memory);
/* The variable that a name means, n characters; NULL: none. */
const struct scope_variable *source_variable(struct sym_scope *sc, const char *name, size_t n);

/* SPDX-License-Identifier: MIT */
/* A module's debug information, open in elfutils. Private to src/sym. */
#pragma once
#include <elfutils/libdw.h>

#include "sym/debug_file.h"
#include "sym/module.h"

struct dwarf_file {
	/* The debug file, when the module's own file has no debug information. */
	struct debug_file separate;
	int fd;                     /* -1: in memory */
	Elf *elf;
	Dwarf *dwarf;               /* NULL: no debug information, or it is left out */
	/* The file to which dwz moved parts of this one; NULL: none, or elfutils finds it. */
	struct dwarf_file *alternate;
	char *left_out; /* why it is not read: a sentence without its end; NULL: it is read */
	uint64_t bytes;             /* size of the debug information, inflated */
};

/* Opens the debug information of the very file that m was read from. Returns 0 (also when there is
 * none, or it is larger than makes sense), or -errno and *err: -EBADMSG when it is malformed,
 * -ESTALE when another file stands at the path by now. */
int dwarf_file_open(const struct sym_module *m, struct dwarf_file *out, struct err *err);
/* True if elfutils may open a file that the debug information names, relative to dir (NULL: none)
 * or to the file's own directory. Not if it is no regular file, or larger than makes sense; a
 * missing file is harmless. */
bool dwarf_file_may_open(const struct dwarf_file *f, const char *dir, const char *name);
/* Returns .debug_line of a file whose debug information is open; NULL: there is none.
 * dwarf_file_line_bytes(): size of the table at an offset there; UINT64_MAX: there is none. */
const Elf_Data *dwarf_file_lines(Elf *elf);
uint64_t dwarf_file_line_bytes(const Elf_Data *lines, uint64_t at);
void dwarf_file_close(struct dwarf_file *f);

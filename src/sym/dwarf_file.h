/* SPDX-License-Identifier: MIT */
/* The debug information of a module, open in elfutils. Private to src/sym. */
#pragma once
#include <elfutils/libdw.h>

#include "sym/debug_file.h"
#include "sym/module.h"

struct dwarf_file {
	struct debug_file separate; /* when the module's own file has none */
	int fd;                     /* -1: in memory */
	Elf *elf;
	Dwarf *dwarf;               /* NULL: there is no debug information at all, or it is left out */
	struct dwarf_file *alternate; /* what dwz took out of this and other files; NULL: none, or elfutils finds it */
	char *left_out;             /* why it is not read: a sentence without its end; NULL: nothing is left out */
	uint64_t bytes;             /* of it, inflated */
};

/* Opens the debug information of the very file that m was read from. 0 (also when there is none, or it is larger than makes
 * sense), or -errno and *err: -EBADMSG when it is malformed, -ESTALE when another file stands at the path by now. */
int dwarf_file_open(const struct sym_module *m, struct dwarf_file *out, struct err *err);
/* May elfutils open a file that the debug information names, relative to dir (NULL: none) or to the file's own directory? Not what
 * is no regular file, or larger than makes sense. What is not there may. */
bool dwarf_file_may_open(const struct dwarf_file *f, const char *dir, const char *name);
/* .debug_line of a file whose debug information is open; NULL: there is none. Bytes of the table at an offset there;
 * UINT64_MAX: there is none. */
const Elf_Data *dwarf_file_lines(Elf *elf);
uint64_t dwarf_file_line_bytes(const Elf_Data *lines, uint64_t at);
void dwarf_file_close(struct dwarf_file *f);

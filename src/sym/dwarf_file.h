/* The debug information of a module, open in elfutils. Private to src/sym. */
#pragma once
#include <elfutils/libdw.h>

#include "sym/debug_file.h"
#include "sym/module.h"

struct dwarf_file {
	struct debug_file separate; /* when the module's own file has none */
	int fd;                     /* -1: in memory */
	Elf *elf;
	Dwarf *dwarf;               /* NULL: there is no debug information at all */
};

/* 0 (also when there is none), or -EBADMSG and *err when it is malformed. */
int dwarf_file_open(const struct sym_module *m, struct dwarf_file *out, struct err *err);
void dwarf_file_close(struct dwarf_file *f);

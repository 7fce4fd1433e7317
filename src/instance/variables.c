/* SPDX-License-Identifier: MIT */
/* target.c calls on the thread of a reader of kallsyms, without locks. Symbol tables are read anew
 * for each reader: no trace has them, and few readers come. Nothing fails: what cannot be read is
 * left out. */
#include "instance/variables.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "instance/module_file.h"
#include "sym/globals.h"

/* Readers take each address up to the next line for the last symbol's. Where the file's code begins
 * right behind its constants, the first function's line ends them. */
static void end_last(const struct address_module *f, const struct sym_globals *g, struct out *out)
{
	const struct sym_global *last = &g->at.at[g->at.n - 1];
	uint64_t end = f->base + last->vaddr + last->size;

	if (end < f->first || end >= f->end)
		out_printf(out, "%016lx r [unknown]\n", end);
}

/* A line's name ends at a blank, and a hostile file's would be more lines, or words for a
 * terminal. */
static bool is_plain(const char *name)
{
	const size_t n = strlen(name);

	return escape_line_run(name, n) == n && !memchr(name, ' ', n);
}

static void print_file(const struct address_module *f, struct out *out)
{
	struct sym_globals g;
	char *module;
	int fd = module_file_open(f->pid, &f->is);

	if (fd < 0)
		return;
	sym_globals_find(fd, f->is.path, "", SYM_AS_LINKED, &g);
	close(fd);
	module = escape_line(f->is.name);
	for (size_t i = 0; i < g.at.n; i++) {
		const struct sym_global *at = &g.at.at[i];
		const char *name = g.strings.at + at->name;

		if (!is_plain(name))
			continue;
		out_printf(out, "%016lx %c %s", f->base + at->vaddr, at->letter, name);
		out_printf(out, f->program ? "\n" : "\t[%s]\n", module);
	}
	if (g.at.n)
		end_last(f, &g, out);
	sym_globals_free(&g);
	free(module);
}

void variables_print(const address_module_list *files, struct out *out)
{
	for (size_t i = 0; i < files->n; i++)
		print_file(&files->at[i], out);
}

/* SPDX-License-Identifier: MIT */
/* Finds functions and other symbols of the session's programs, for kprobe_events. The tree
 * calls, on the thread that writes a definition. Which files are mapped is copied under
 * pump_lock; they are read without a lock. A file that cannot be read has no symbols. */
#include <stdlib.h>
#include <string.h>

#include "instance/internal.h"
#include "instance/symbols.h"
#include "instance/refusal.h"
#include "sym/module.h"
#include "sym/usdt.h"

/* Counts functions of that name, the last of which is at *vaddr. Aliases are one function. */
static unsigned count_functions(const struct sym_module *m, const char *symbol, uint64_t *vaddr)
{
	unsigned n = 0;

	for (size_t i = 0; i < m->functions.n; i++) {
		const struct sym_function *f = &m->functions.at[i];
		const char *name = f->plt || f->cold ? NULL : sym_name(m, f);

		if (!name || strcmp(name, symbol) != 0)
			continue;
		*vaddr = f->vaddr;
		n++;
	}
	return n ? n : sym_object(m, symbol, strlen(symbol), vaddr);
}

/* Looks into one file; as probe_symbols.find(). */
static unsigned find_in(const char *path, const char *symbol, uint64_t more,
			struct symbol_match *out)
{
	struct sym_module *m;
	struct err ignored;
	uint64_t vaddr, offset;
	unsigned n;

	if (sym_open(path, &m, &ignored) < 0)
		return 0;
	n = count_functions(m, symbol, &vaddr);
	if (n && !sym_code_offset(m, vaddr + more, &offset))
		n = 0;
	if (n && !out->path)
		*out = (struct symbol_match){ mem_strdup(path), offset, vaddr + more,
					     sym_at(m, vaddr + more) != NULL };
	sym_close(m);
	return n;
}

/* Looks into all files of programs, or of libraries, that the module's name fits. */
static unsigned find_in_all(const refusal_files *files, bool programs, const char *module,
			    const char *symbol, uint64_t more, struct symbol_match *out)
{
	unsigned n = 0;

	for (size_t i = 0; i < files->n; i++) {
		const struct refusal_file *f = &files->at[i];

		if (f->program == programs && (!module || function_module_match(module, f->path)))
			n += find_in(f->path, symbol, more, out);
	}
	return n;
}

/* A program's own functions come before those of libraries. */
unsigned symbols_find(void *arg, const char *module, const char *symbol, uint64_t more,
		      struct symbol_match *out)
{
	struct instances *l = ((struct trace_array *)arg)->instances;
	refusal_files files;
	unsigned n;

	*out = (struct symbol_match){ 0 };
	refusal_files_find(pump_lock(l->pump), &files);
	pump_unlock(l->pump);
	n = find_in_all(&files, true, module, symbol, more, out);
	if (!n)
		n = find_in_all(&files, false, module, symbol, more, out);
	refusal_files_free(&files);
	return n;
}

/* Where the address lies, by kallsyms: the path of its file, which the caller frees, and *vaddr.
 * NULL: in no file. */
static char *file_of(struct instances *l, uint64_t address, uint64_t *vaddr)
{
	const struct trace_info *info = instances_lock(l);
	const struct trace_module *m;
	const struct trace_function *f;
	uint64_t begin, end;
	char *path = NULL;

	if (addresses_symbol(&l->addresses, info, address, &begin, &end, &m, &f)) {
		*vaddr = address - begin + (f ? f->vaddr : 0);
		path = mem_strdup(m->path);
	}
	pump_unlock(l->pump);
	return path;
}

bool symbols_at(void *arg, uint64_t address, struct symbol_match *out)
{
	struct sym_module *m;
	struct err ignored;
	uint64_t vaddr, offset;
	char *path = file_of(((struct trace_array *)arg)->instances, address, &vaddr);
	bool found = false;

	if (path && sym_open(path, &m, &ignored) >= 0) {
		found = sym_code_offset(m, vaddr, &offset);
		if (found)
			*out = (struct symbol_match){ mem_strdup(path), offset, vaddr,
						     sym_at(m, vaddr) != NULL };
		sym_close(m);
	}
	free(path);
	return found;
}

bool symbols_object(void *arg, const struct symbol_match *place, const char *name, size_t n,
		    uint64_t *vaddr)
{
	struct sym_module *m;
	struct err ignored;
	bool found;

	if (sym_open(place->path, &m, &ignored) < 0)
		return false;
	found = sym_object(m, name, n, vaddr);
	sym_close(m);
	return found;
}

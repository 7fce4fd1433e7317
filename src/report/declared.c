/* SPDX-License-Identifier: MIT */
/* Called by regroup.c and by exports, on brace's only thread, before anything is counted. A file
 * that cannot be read has no declarations: that is no error. */
#include "report/declared.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "excerpt/locations.h"
#include "sym/source.h"

/* One file, whatever number of images has it; all: by address. */
struct declared_file { const struct trace_module *module; sym_source_declarations all; };

struct declared { VEC(struct declared_file) files; };

struct declared *declared_new(void)
{
	return mem_zalloc(sizeof(struct declared));
}

void declared_free(struct declared *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->files.n; i++)
		sym_source_declarations_free(&d->files.at[i].all);
	vec_free(&d->files);
	free(d);
}

static int by_address(const void *a, const void *b)
{
	const struct sym_source_declaration *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* A file without debug information has none, which is no fault: the trace is shown without
 * lines. */
static void read_declarations(const struct sym_module *now, sym_source_declarations *out)
{
	struct sym_source_info *s;
	struct err ignored;

	if (sym_source_open(now, &s, &ignored))
		return;
	if (sym_source_declared(s, out, &ignored)) {
		sym_source_declarations_free(out);
		*out = (sym_source_declarations){ 0 };
	}
	sym_source_close(s);
	if (out->n)
		qsort(out->at, out->n, sizeof(*out->at), by_address);
}

/* Only if it is still the file that was traced: lines of a newer build would point at the wrong
 * code. */
static void read_file(struct declared_file *f)
{
	struct sym_module *now;
	struct err ignored;

	if (*f->module->path != '/' || sym_open(f->module->path, &now, &ignored))
		return;
	if (excerpt_locations_is_same(f->module, now))
		read_declarations(now, &f->all);
	sym_close(now);
}

/* Each file is read once, when a function of it is first asked for, whatever comes of it. */
static const struct declared_file *file_of(struct declared *d, const struct trace_module *m)
{
	struct declared_file *f;

	for (size_t i = d->files.n; i-- > 0;)
		if (d->files.at[i].module == m || !strcmp(d->files.at[i].module->path, m->path))
			return &d->files.at[i];
	f = vec_add(&d->files);
	*f = (struct declared_file){ .module = m };
	read_file(f);
	return f;
}

/* *line is set only with a path. NULL: it is not known. */
const char *declared_of(struct declared *d, const struct trace_module *m,
			const struct trace_function *f, uint32_t *line)
{
	const struct declared_file *file = file_of(d, m);
	const struct sym_source_declaration want = { .vaddr = f->vaddr }, *found;

	found = file->all.n ? bsearch(&want, file->all.at, file->all.n, sizeof(want), by_address)
			    : NULL;
	if (!found || !found->path)
		return NULL;
	*line = found->line;
	return found->path;
}

/* SPDX-License-Identifier: MIT */
/* Called by regroup.c and by exports, on brace's only thread, before anything is counted. A file
 * that is not there any more has no declarations, which is no error; one that this computer fails
 * to read is told by declared_failure(). */
#include "report/declared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "excerpt/locations.h"
#include "sym/source.h"

/* One file, whatever number of images has it; all: by address. */
struct declared_file { const struct trace_module *module; sym_source_declarations all; };

struct declared { VEC(struct declared_file) files; struct err failure; };

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

/* A file without debug information has no declarations, which is no failure: the trace is shown
 * without lines. *err is set by each error, and is 0 without one. */
static void read_declarations(const struct sym_module *now, sym_source_declarations *out,
			      struct err *err)
{
	struct sym_source_info *s;

	if (sym_source_open(now, &s, err))
		return;
	if (sym_source_declared(s, out, err)) {
		sym_source_declarations_free(out);
		*out = (sym_source_declarations){ 0 };
	}
	sym_source_close(s);
	if (out->n)
		qsort(out->at, out->n, sizeof(*out->at), by_address);
}

/* Only if it is still the file that was traced: lines of a newer build would point at the wrong
 * code. */
static void read_file(struct declared_file *f, struct err *err)
{
	struct sym_module *now;

	if (*f->module->path != '/' || sym_open(f->module->path, &now, err))
		return;
	if (excerpt_locations_is_same(f->module, now))
		read_declarations(now, &f->all, err);
	sym_close(now);
}

/* Whether the error is the computer's at this moment, and says nothing of the file. */
static bool is_failure(const struct err *err)
{
	static const int codes[] = { EIO, ENOMEM, EMFILE, ENFILE };

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (err->code == codes[i])
			return true;
	return false;
}

/* Each file is read once, when a function of it is first asked for, whatever comes of it. */
static const struct declared_file *file_of(struct declared *d, const struct trace_module *m)
{
	struct err err = { 0 };
	struct declared_file *f;

	for (size_t i = d->files.n; i-- > 0;)
		if (d->files.at[i].module == m || !strcmp(d->files.at[i].module->path, m->path))
			return &d->files.at[i];
	f = vec_add(&d->files);
	*f = (struct declared_file){ .module = m };
	read_file(f, &err);
	if (!d->failure.code && is_failure(&err))
		d->failure = err;
	return f;
}

int declared_failure(const struct declared *d, struct err *err)
{
	if (d->failure.code)
		*err = d->failure;
	return -d->failure.code;
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

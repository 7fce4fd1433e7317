/* SPDX-License-Identifier: MIT */
/* Called by the graph's printer for brace replay --source, on brace's only thread. A file is read
 * when the first of its calls is printed: all places that the trace has of it in one walk, because
 * a walk over debug information takes long. Paths are the compiler's and not trusted: what is
 * printed is their last component, escaped. Nothing fails but the reading of a file, which is
 * kept. */
#include "report/source_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "excerpt/locations.h"
#include "report/declared.h"
#include "report/location.h"
#include "sym/source.h"

/* The places of calls in one file, by address, whatever number of images has it. */
struct source_file {
	const struct trace_module *module;
	VEC(struct sym_source_position) sites;
};

struct source_text {
	const struct trace_info *info;
	struct declared *declared;
	VEC(struct source_file) files;
	/* the file of each module, so far as it was asked for; UINT32_MAX: not yet */
	VEC(uint32_t) of_module;
};

struct source_text *source_text_new(const struct trace_info *info)
{
	struct source_text *t = mem_zalloc(sizeof(*t));

	t->info = info;
	t->declared = declared_new();
	return t;
}

void source_text_free(struct source_text *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->files.n; i++) {
		for (size_t k = 0; k < t->files.at[i].sites.n; k++)
			free(t->files.at[i].sites.at[k].path);
		vec_free(&t->files.at[i].sites);
	}
	vec_free(&t->files);
	vec_free(&t->of_module);
	declared_free(t->declared);
	free(t);
}

int source_text_failure(const struct source_text *t, struct err *err)
{
	return declared_failure(t->declared, err);
}

/* --- files ------------------------------------------------------------------------------------ */

static int by_address(const void *a, const void *b)
{
	const struct sym_source_position *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* The calls of one image in the module. A site is the address behind the call: the byte before is
 * part of it. Addresses are made relative to the file (m->base): then all images that map it
 * agree. */
static void add_sites(const struct source_text *t, const struct trace_module *m,
		      struct source_file *f)
{
	/* A damaged file may name an image that it does not have. */
	const struct trace_image *image =
		m->image < t->info->images.n ? &t->info->images.at[m->image] : NULL;

	for (size_t i = 0; image && i < image->sites.n; i++) {
		const uint64_t address = image->sites.at[i];

		if (address > m->start && address <= m->end)
			*vec_add(&f->sites) =
				(struct sym_source_position){ .vaddr = address - 1 - m->base };
	}
}

/* Images that share a file have the same places often. Sorted for bsearch() in place_of_site(),
 * too. */
static void sort_sites(struct source_file *f)
{
	size_t kept = 0;

	if (f->sites.n)
		qsort(f->sites.at, f->sites.n, sizeof(*f->sites.at), by_address);
	for (size_t i = 0; i < f->sites.n; i++)
		if (!kept || f->sites.at[kept - 1].vaddr != f->sites.at[i].vaddr)
			f->sites.at[kept++] = f->sites.at[i];
	f->sites.n = kept;
}

/* Without debug information, and of a newer build, no place has a line. Paths that do not begin
 * with / are no files ([vdso]). A file that was built anew since the recording would tell wrong
 * lines: it is compared first, and then nothing is told. Errors are ignored: the line is printed
 * without a place. */
static void read_lines(struct source_file *f)
{
	struct sym_source_info *s;
	struct sym_module *now;
	struct err ignored;

	if (*f->module->path != '/' || !f->sites.n || sym_open(f->module->path, &now, &ignored))
		return;
	if (excerpt_locations_is_same(f->module, now) && !sym_source_open(now, &s, &ignored)) {
		sym_source_positions_find(s, f->sites.at, f->sites.n, &ignored);
		sym_source_close(s);
	}
	sym_close(now);
}

static uint32_t add_file(struct source_text *t, const struct trace_module *m)
{
	struct source_file *f = vec_add(&t->files);

	*f = (struct source_file){ .module = m };
	for (size_t i = 0; i < t->info->modules.n; i++)
		if (!strcmp(t->info->modules.at[i].path, m->path))
			add_sites(t, &t->info->modules.at[i], f);
	sort_sites(f);
	read_lines(f);
	return (uint32_t)t->files.n - 1;
}

/* Modules of one path share a row: processes and execs have a module each. The pointer is good
 * until the next file is added. */
static const struct source_file *file_of(struct source_text *t, const struct trace_module *m)
{
	const size_t number = (size_t)(m - t->info->modules.at);
	uint32_t row = UINT32_MAX;

	while (t->of_module.n <= number)
		*vec_add(&t->of_module) = UINT32_MAX;
	for (uint32_t i = 0; t->of_module.at[number] == UINT32_MAX && i < t->files.n; i++)
		if (!strcmp(t->files.at[i].module->path, m->path))
			t->of_module.at[number] = i;
	row = t->of_module.at[number];
	if (row == UINT32_MAX)
		t->of_module.at[number] = row = add_file(t, m);
	return &t->files.at[row];
}

/* --- text ------------------------------------------------------------------------------------- */

/* NULL: the place has no line. */
static const struct sym_source_position *place_of_site(struct source_text *t, uint32_t image,
						       uint32_t site, uint64_t tsc)
{
	const uint64_t address = trace_info_site(t->info, image, site);
	const struct trace_module *m =
		address ? trace_info_module_at(t->info, image, address - 1, tsc) : NULL;
	const struct source_file *f = m ? file_of(t, m) : NULL;
	const struct sym_source_position *found;
	struct sym_source_position want = { 0 };

	if (!f || !f->sites.n)
		return NULL;
	want.vaddr = address - 1 - m->base;
	found = bsearch(&want, f->sites.at, f->sites.n, sizeof(want), by_address);
	return found && found->line && found->path ? found : NULL;
}

static void print_place(struct out *out, const char *before, const char *path, uint32_t line)
{
	out_str(out, before);
	out_foreign(out, path_file_name(path), SIZE_MAX);
	out_printf(out, ":%u", line);
}

/* out NULL: only asks whether there is something to print. `site` is the place of the call, `fn`
 * what was called: the one has a line of the caller, the other one of the declaration. */
bool source_text_print(struct source_text *t, struct out *out, uint32_t image, uint32_t fn,
		       uint32_t site, uint64_t tsc)
{
	const struct trace_module *m = NULL;
	const struct trace_function *f = trace_info_function(t->info, image, fn, &m);
	uint32_t line = 0;
	const char *path = f ? declared_of(t->declared, m, f, &line) : NULL;
	const struct sym_source_position *from = site ? place_of_site(t, image, site, tsc) : NULL;

	if (path && out)
		print_place(out, " ", path, line);
	if (from && out)
		print_place(out, " <-", from->path, from->line);
	return path || from;
}

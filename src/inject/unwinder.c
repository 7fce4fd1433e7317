/* SPDX-License-Identifier: MIT */
/* Called by detach.c before the process is stopped: only reads mappings and files. A module that
 * cannot be read has no unwinder. One thread: the caller's, which has its modules for itself. */
#include "inject/unwinder.h"

#include <string.h>

#include "hook/cache.h"
#include "image/modules.h"

/* Lists the text of libgcc_s and libunwind. */
static void find_library(const struct maps *maps, struct stopped_unwinder *out)
{
	for (size_t i = 0; i < maps->at.n && out->n < sizeof(out->ranges) / sizeof(out->ranges[0]);
	     i++) {
		const struct map *m = &maps->at.at[i];

		if (m->exec &&
		    (strstr(m->path, "/libgcc_s.so") || strstr(m->path, "/libunwind.so")))
			out->ranges[out->n++] = (struct stopped_range){ m->start, m->end };
	}
}

/* between two functions of that name the unwinder's files leave no more: others of its own stand
 * there */
#define BESIDE UINT64_C(0x4000)

/* Adds a range, or widens one that is near. */
static void add_range(struct stopped_unwinder *out, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < out->n; i++) {
		struct stopped_range *r = &out->ranges[i];

		if (from >= r->to + BESIDE || to + BESIDE <= r->from)
			continue;
		r->from = from < r->from ? from : r->from;
		r->to = to > r->to ? to : r->to;
		return;
	}
	if (out->n < sizeof(out->ranges) / sizeof(out->ranges[0]))
		out->ranges[out->n++] = (struct stopped_range){ from, to };
}

/* A linked-in unwinder's functions stand side by side, except their cold parts (.cold), which stand
 * far off among other functions' cold parts. */
static void find_in_module(const struct module *mod, struct stopped_unwinder *out)
{
	for (uint32_t k = 0; mod->hooks && k < mod->hooks->n; k++) {
		const struct hook_function *f = &mod->hooks->functions[k];

		if (f->name && !f->plt &&
		    strncmp(mod->hooks->strings + f->name, "_Unwind_", 8) == 0)
			add_range(out, mod->base + f->vaddr, mod->base + f->vaddr + f->size);
	}
}

void unwinder_find(pid_t pid, const struct maps *maps, struct stopped_unwinder *out)
{
	struct modules modules = { 0 };

	memset(out, 0, sizeof(*out));
	find_library(maps, out);
	if (out->n)
		return;
	/* Only a static program contains it: a dynamic one would use the library. */
	modules_load_all(pid, maps, &modules);
	out->in_program = modules.at.n == 1;
	for (size_t i = 0; i < modules.at.n && out->in_program; i++)
		find_in_module(&modules.at.at[i], out);
	modules_free(&modules);
}

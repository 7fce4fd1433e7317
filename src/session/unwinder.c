#include "session/unwinder.h"

#include <string.h>

#include "hook/cache.h"
#include "session/modules.h"

static void find_library(const struct maps *maps, struct held_unwinder *out)
{
	for (size_t i = 0; i < maps->at.n && out->n < sizeof(out->ranges) / sizeof(out->ranges[0]); i++)
		if (maps->at.at[i].exec && strstr(maps->at.at[i].path, "/libgcc_s.so"))
			out->ranges[out->n++] = (struct held_range){ maps->at.at[i].start, maps->at.at[i].end };
}

/* Linked in, its functions stand side by side: from the first of that name to the last. */
static void find_in_module(const struct module *mod, struct held_unwinder *out)
{
	struct held_range r = { UINT64_MAX, 0 };

	for (uint32_t k = 0; mod->hooks && k < mod->hooks->n; k++) {
		const struct hook_function *f = &mod->hooks->functions[k];

		if (!f->name || f->plt || strncmp(mod->hooks->strings + f->name, "_Unwind_", 8) != 0)
			continue;
		if (mod->base + f->vaddr < r.from)
			r.from = mod->base + f->vaddr;
		if (mod->base + f->vaddr + f->size > r.to)
			r.to = mod->base + f->vaddr + f->size;
	}
	if (r.to)
		out->ranges[out->n++] = r;
}

void unwinder_find(const struct maps *maps, struct held_unwinder *out)
{
	struct modules modules = { 0 };

	memset(out, 0, sizeof(*out));
	find_library(maps, out);
	if (out->n)
		return;
	modules_load_all(maps, &modules);
	out->in_program = modules.at.n == 1;
	for (size_t i = 0; i < modules.at.n && out->in_program; i++)
		find_in_module(&modules.at.at[i], out);
	modules_free(&modules);
}

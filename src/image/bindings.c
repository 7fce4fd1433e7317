/* SPDX-License-Identifier: MIT */
/* Reads the symbol tables of all mapped files, once for all wanted names. Called by image_prepare()
 * for each plan, on its thread; all state is the caller's struct modules. */
#include "image/bindings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/mapped_file.h"
#include "sym/exports.h"

#define SEVERAL UINT32_MAX

/* Symbols that PLT entries call, and their definers: 1 + index of the library, 0 for none, or
 * SEVERAL. */
struct wanted_symbol {
	VEC(const char *) names; /* sorted, each once */
	uint32_t *library;
	bool *by_exe; /* the executable defines it: other definers do not matter */
};

static int compare_binding_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The name that PLT entry i calls; NULL: it is no PLT entry. */
static const char *plt_name(const struct hook_module *h, uint32_t i)
{
	return h->functions[i].plt && h->functions[i].name ? h->strings + h->functions[i].name
							   : NULL;
}

/* Lists the names that PLT entries of opened modules call. */
static void collect_wanted(const struct modules *m, struct wanted_symbol *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->at.n; i++) {
		const struct hook_module *h =
			m->at.at[i].choice == MODULE_OPEN ? m->at.at[i].hooks : NULL;

		for (uint32_t k = 0; h && k < h->n; k++)
			if (plt_name(h, k))
				*vec_add(&w->names) = plt_name(h, k);
	}
	if (w->names.n)
		qsort(w->names.at, w->names.n, sizeof(*w->names.at), compare_binding_names);
	for (size_t i = 0; i < w->names.n; i++)
		if (!kept || strcmp(w->names.at[kept - 1], w->names.at[i]))
			w->names.at[kept++] = w->names.at[i];
	w->names.n = kept;
	w->library = mem_zalloc((kept + 1) * sizeof(*w->library));
	w->by_exe = mem_zalloc((kept + 1) * sizeof(*w->by_exe));
}

/* A file has several mappings; its symbols are read once. */
static bool bindings_have_file(const struct modules *m, const struct map *map)
{
	for (size_t i = 0; i < m->libraries.n; i++)
		if (strcmp(m->libraries.at[i].path, map->path) == 0)
			return true;
	return false;
}

/* The executable comes first in the loader's order; the order of the others is not known. */
static void define_symbols(struct modules *m, const struct map *map, struct wanted_symbol *w,
			   bool is_exe)
{
	bool *found = mem_zalloc(w->names.n);
	struct err ignored;
	int fd = mapped_file_open(m->pid, m->root, map, &ignored);

	if (fd >= 0) {
		sym_exports_find(fd, map->path, w->names.at, w->names.n, found);
		close(fd);
	}
	/* The first definer is noted; a second one makes the answer unknown, unless the executable
	 * was the first. */
	for (size_t i = 0; i < w->names.n; i++)
		if (found[i] && !w->library[i])
			w->library[i] = (uint32_t)m->libraries.n;
		else if (found[i] && !w->by_exe[i])
			w->library[i] = SEVERAL;
	if (is_exe)
		memcpy(w->by_exe, found, w->names.n * sizeof(*found));
	free(found);
}

/* The name is the file's own, without the note that it was deleted. */
static void add_library(struct modules *m, const struct map *map, struct wanted_symbol *w,
			bool is_exe)
{
	const char *slash = strrchr(map->path, '/');
	char *name = mem_strndup(slash + 1, mapped_file_path(slash + 1));

	*vec_add(&m->libraries) = (struct library){ mem_strdup(map->path), name };
	define_symbols(m, map, w, is_exe);
}

/* Any executable file mapping but the agent's own. */
static bool is_library(const struct map *map, const char *agent)
{
	size_t n = mapped_file_path(map->path);

	return map->exec && map->path[0] == '/' &&
	       (strlen(agent) != n || strncmp(map->path, agent, n));
}

/* The executable first: define_symbols() depends on it. */
static void look_everywhere(const struct maps *maps, const char *exe, const char *agent,
			    struct modules *m, struct wanted_symbol *w)
{
	for (int exes = 1; exes >= 0; exes--) /* the executable first */
		for (size_t i = 0; i < maps->at.n; i++) {
			const struct map *map = &maps->at.at[i];

			if (is_library(map, agent) && (strcmp(map->path, exe) == 0) == exes &&
			    !bindings_have_file(m, map))
				add_library(m, map, w, exes);
		}
}

/* Notes each PLT entry's library. Several definers count as none: the loader's choice is not
 * known. */
static void bind_all(struct modules *m, const struct wanted_symbol *w)
{
	for (size_t i = 0; i < m->at.n; i++) {
		struct module *mod = &m->at.at[i];
		const struct hook_module *h = mod->choice == MODULE_OPEN ? mod->hooks : NULL;

		if (h)
			mod->bound = mem_zalloc((h->n + 1) * sizeof(*mod->bound));
		for (uint32_t k = 0; h && k < h->n; k++) {
			const char *name = plt_name(h, k);
			const char **at = name ? bsearch(&name, w->names.at, w->names.n,
							 sizeof(name), compare_binding_names)
					       : NULL;
			uint32_t library = at ? w->library[at - w->names.at] : 0;

			mod->bound[k] = library == SEVERAL ? 0 : library;
		}
	}
}

/* The library that each PLT entry leads to, as ld.so would resolve it. Nothing fails: an entry that
 * cannot be told stays without a library. */
void bindings_find(const struct maps *maps, const char *exe, const char *agent, struct modules *m)
{
	struct wanted_symbol w = { 0 };

	collect_wanted(m, &w);
	if (w.names.n) {
		look_everywhere(maps, exe, agent, m, &w);
		bind_all(m, &w);
	}
	vec_free(&w.names);
	free(w.library);
	free(w.by_exe);
}

/* NULL: it is none, or not known. */
const char *bindings_library(const struct modules *m, const struct module *mod, uint32_t i)
{
	return mod->bound && mod->bound[i] ? m->libraries.at[mod->bound[i] - 1].name : NULL;
}

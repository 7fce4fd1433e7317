/* SPDX-License-Identifier: MIT */
/* Loads a module: from its cached block, or by reading and planning the file. Either way
 * it points into one block. */
#include "hook/cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "hook/cache_place.h"

/* What hook_module_free needs to know besides. */
struct loaded {
	struct hook_module module;
	char *path;
	const char **needed;
	uint8_t *block;
	size_t n_block;
};

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct hook_module *finish(struct loaded *l, const char *path, const char *needed)
{
	l->path = mem_strdup(path);
	l->module.name = last_component(l->path);
	l->needed = mem_zalloc((l->module.n_needed + 1) * sizeof(*l->needed));
	for (uint32_t i = 0; i < l->module.n_needed; i++, needed += strlen(needed) + 1)
		l->needed[i] = needed;
	l->module.needed = l->needed;
	return &l->module;
}

static bool load_cached(struct loaded *l, const struct cache_key *key, const char **needed)
{
	l->block = cache_fetch(key, &l->n_block);
	if (!l->block)
		return false;
	if (cache_file_read(l->block, l->n_block, key, &l->module, needed)) {
		l->module.cached = true;
		return true;
	}
	free(l->block);
	l->block = NULL;
	return false;
}

static bool is_of(const struct cache_key *key, const struct stat *st)
{
	struct file_id id = file_id_of(st);

	return memcmp(&id, &key->file.file, sizeof(id)) == 0;
}

static int load_file(struct loaded *l, int fd, const char *path, const char *root, const struct cache_key *key, bool store,
		     const char **needed, struct err *err)
{
	struct hook_plan *plan = NULL;
	struct sym_module *m;
	int r = sym_open_fd(fd, path, root, &m, err);

	if (r < 0)
		return r;
	r = hook_plan(m, &plan, err);
	if (r == 0) {
		l->block = cache_file_make(m, plan, key, &l->n_block);
		if (!cache_file_read(l->block, l->n_block, key, &l->module, needed))
			r = err_set(err, EINVAL,
				    "the plan of %s contradicts itself: please report this", path);
		else if (store && is_of(key, &m->file.is)) /* it may have changed since the key was made */
			cache_store(key, l->block, l->n_block);
	}
	hook_plan_free(plan);
	sym_close(m);
	return r;
}

int hook_module_load_fd(int fd, const char *path, const char *root, struct hook_module **out, struct err *err)
{
	struct loaded *l = mem_zalloc(sizeof(*l));
	struct cache_key key;
	bool known = cache_key_of(fd, path, root, &key);
	const char *needed = NULL;
	int r = 0;

	if (!known || !load_cached(l, &key, &needed))
		r = load_file(l, fd, path, root, &key, known, &needed, err);
	if (r < 0) {
		free(l->block);
		free(l);
		return r;
	}
	*out = finish(l, path, needed);
	return 0;
}

int hook_module_load(const char *path, struct hook_module **out, struct err *err)
{
	int fd = file_open(path, err), r;

	if (fd < 0)
		return fd;
	r = hook_module_load_fd(fd, path, "", out, err);
	close(fd);
	return r;
}

void hook_module_free(struct hook_module *m)
{
	struct loaded *l = (struct loaded *)m;

	if (!m)
		return;
	free(l->block);
	free(l->needed);
	free(l->path);
	free(l);
}

void hook_function_name(const struct hook_module *m, uint32_t i, char *out, size_t n)
{
	const struct hook_function *f = &m->functions[i];

	if (f->name && !memccpy(out, m->strings + f->name, 0, n)) /* for each of many functions: not by snprintf */
		out[n - 1] = 0;
	if (!f->name)
		snprintf(out, n, "%s+0x%llx", m->name, (unsigned long long)f->vaddr);
}

bool hook_module_has(const struct hook_module *m, const char *name)
{
	for (uint32_t i = 0; i < m->n; i++) {
		const struct hook_function *f = &m->functions[i];

		if (f->name && !f->plt && m->entries[i].reason != REASON_COLD &&
		    strcmp(m->strings + f->name, name) == 0)
			return true;
	}
	return false;
}

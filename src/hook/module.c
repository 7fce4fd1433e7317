/* SPDX-License-Identifier: MIT */
/* Loads a module: from its cached block, or by reading and planning the file; either way it
 * points into one block. Planners call it on their threads, through module_cache.c; ui and tree
 * call it directly. Changes of entries are undone by hook_module_restore(). The only errors are
 * those of the file. */
#include "hook/cache.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "hook/cache_path.h"

/* A hook_module and the memory behind it, which hook_module_free() frees. */
struct loaded {
	struct hook_module module;
	char *path;
	const char **needed;
	uint8_t *block;
	size_t n_block;
};

/* Completes a loaded module: its path, and the list of needed names, which point into the block. */
static struct hook_module *finish_load(struct loaded *l, const char *path, const char *needed)
{
	l->path = mem_strdup(path);
	l->module.name = path_file_name(l->path);
	l->needed = mem_zalloc(((size_t)l->module.n_needed + 1) * sizeof(*l->needed));
	for (uint32_t i = 0; i < l->module.n_needed; i++, needed += strlen(needed) + 1)
		l->needed[i] = needed;
	l->module.needed = l->needed;
	return &l->module;
}

/* Takes the block from the cache. False: there is none, or it is not sound. */
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

/* True if the key was made of the file that was read. */
static bool is_of(const struct cache_key *key, const struct stat *st)
{
	struct file_id id = file_id_of(st);

	return memcmp(&id, &key->file.file, sizeof(id)) == 0;
}

/* Reads and plans the file. `store`: the block goes to the cache. */
static int load_file(struct loaded *l, int fd, const char *path, const char *root,
		     const struct cache_key *key, bool store, const char **needed, struct err *err)
{
	struct hook_plan *plan = NULL;
	struct sym_module *m;
	int r = sym_open_fd(fd, path, root, &m, err);

	if (r < 0)
		return r;
	r = hook_plan(m, &plan, err);
	if (r == 0) {
		l->block = cache_file_make(m, plan, key, &l->n_block);
		/* The block is read back at once: every check of a stored plan also holds for a new
		 * one. */
		if (!cache_file_read(l->block, l->n_block, key, &l->module, needed))
			r = err_set(err, EINVAL,
				    "the plan of %s contradicts itself: please report this", path);
		/* Only if the file has not changed since the key was made. */
		else if (store && is_of(key, &m->file.is))
			cache_store(key, l->block, l->n_block);
	}
	hook_plan_free(plan);
	sym_close(m);
	return r;
}

/* NULL: the cache has no sound block for this key. The path is only kept: the key alone names the
 * file. */
struct hook_module *hook_module_load_cached(const struct cache_key *key, const char *path)
{
	struct loaded *l = mem_zalloc(sizeof(*l));
	const char *needed = NULL;

	if (load_cached(l, key, &needed))
		return finish_load(l, path, needed);
	free(l);
	return NULL;
}

int hook_module_load_fd(int fd, const char *path, const char *root, struct hook_module **out,
			struct err *err)
{
	struct cache_key key;
	bool known = cache_key_of(fd, path, root, &key);
	const char *needed = NULL;
	struct loaded *l;
	int r;

	*out = known ? hook_module_load_cached(&key, path) : NULL;
	if (*out)
		return 0;
	l = mem_zalloc(sizeof(*l));
	r = load_file(l, fd, path, root, &key, known, &needed, err);
	if (r < 0) {
		free(l->block);
		free(l);
		return r;
	}
	*out = finish_load(l, path, needed);
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

struct hook_plan_entry *hook_module_entry(struct hook_module *m, uint32_t i)
{
	*vec_add(&m->planned) = m->entries[i];
	return (struct hook_plan_entry *)&m->entries[i]; /* the block is this module's own memory */
}

/* The latest first, so that an entry that was changed twice is as it was at first. */
void hook_module_restore(struct hook_module *m)
{
	while (m->planned.n) {
		const struct hook_plan_entry *was = &m->planned.at[--m->planned.n];

		*(struct hook_plan_entry *)&m->entries[was->function] = *was;
	}
	vec_free(&m->planned);
}

void hook_module_free(struct hook_module *m)
{
	struct loaded *l = (struct loaded *)m;

	if (!m)
		return;
	vec_free(&m->planned);
	free(l->block);
	free(l->needed);
	free(l->path);
	free(l);
}

/* "nginx+0x4a3f0". A file's name has NAME_MAX bytes at most. */
static void name_unnamed(const char *module, uint64_t vaddr, char *out)
{
	/* Hexadecimal digits of vaddr, rounded up from its bits. */
	unsigned digits = vaddr ? (67 - (unsigned)__builtin_clzll(vaddr)) / 4 : 1;
	char *at = memccpy(out, module, 0, NAME_MAX);

	at = at ? at - 1 : out + NAME_MAX;
	at = mempcpy(at, "+0x", 3);
	at[digits] = 0;
	for (; digits; vaddr >>= 4)
		at[--digits] = "0123456789abcdef"[vaddr & 15];
}

void hook_function_name(const struct hook_module *m, uint32_t i, char *out, size_t n)
{
	const struct hook_function *f = &m->functions[i];

	char own[NAME_MAX + sizeof("+0x0123456789abcdef")];
	const char *name = f->name ? m->strings + f->name : own;

	/* Not by snprintf: names are made for each of many functions. */
	if (!f->name)
		name_unnamed(m->name, f->vaddr, own);
	if (!memccpy(out, name, 0, n))
		out[n - 1] = 0;
}

/* Whether the user may name the function so: parts of functions and PLT entries do not count. */
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

/* SPDX-License-Identifier: MIT */
/* Modules in memory, for the next process that uses the same file. A module in use belongs to one
 * user alone; one that is given back waits here, with its entries as they were planned. Two threads
 * that use the same file at once have two modules, except that a module which is being loaded ahead
 * is waited for. The number and size of waiting modules are bounded; the one that waits longest
 * goes first. image/modules.c and session/ahead.c take modules here, on any thread; one lock. A
 * module that is not kept is loaded again; a file that cannot be loaded is -errno and a
 * sentence. */
#include "hook/module_cache.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "hook/cache_path.h"

#define KEPT_MAX 64u
#define KEPT_BYTES ((size_t)64 << 20)

struct kept {
	struct kept *next;          /* in its list: used, waiting or ahead; the newest first */
	struct cache_key key;
	char *path;
	struct hook_module *module; /* NULL: being loaded ahead */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Signalled when a load ahead has ended, well or not. */
static pthread_cond_t loaded = PTHREAD_COND_INITIALIZER;
static struct kept *used, *waiting, *ahead;

/* An estimate of its memory: the large arrays. */
static size_t bytes_of(const struct kept *k)
{
	const struct hook_module *m = k->module;

	return m->n * (sizeof(*m->entries) + sizeof(*m->functions) + sizeof(*m->bytes)) +
	       m->n_strings;
}

static void free_kept(struct kept *k)
{
	hook_module_free(k->module);
	free(k->path);
	free(k);
}

static void free_all(struct kept *k)
{
	while (k) {
		struct kept *next = k->next;

		free_kept(k);
		k = next;
	}
}

static void add_module(struct kept **list, struct kept *k)
{
	k->next = *list;
	*list = k;
}

/* All functions from here to cut_list() need the lock. */
static bool has_module(const struct kept *list, const struct cache_key *key, const char *path)
{
	for (; list; list = list->next)
		if (memcmp(&list->key, key, sizeof(*key)) == 0 && strcmp(list->path, path) == 0)
			return true;
	return false;
}

/* Moves a waiting module of that file to `used`; NULL: none waits. */
static struct kept *take_module(const struct cache_key *key, const char *path)
{
	for (struct kept **at = &waiting; *at; at = &(*at)->next) {
		struct kept *k = *at;

		if (memcmp(&k->key, key, sizeof(*key)) != 0 || strcmp(k->path, path) != 0)
			continue;
		*at = k->next;
		add_module(&used, k);
		return k;
	}
	return NULL;
}

/* Takes k out of its list. */
static void leave_list(struct kept **list, const struct kept *k)
{
	while (*list != k)
		list = &(*list)->next;
	*list = k->next;
}

/* Takes the module from `used`. NULL: it is not one of ours. */
static struct kept *of_module(const struct hook_module *m)
{
	struct kept *k = used;

	while (k && k->module != m)
		k = k->next;
	if (k)
		leave_list(&used, k);
	return k;
}

/* Cuts off the modules beyond the limits and returns them; the caller frees them without the
 * lock. */
static struct kept *cut_list(void)
{
	struct kept **at = &waiting, *rest;
	size_t bytes = 0;

	for (unsigned n = 0; *at && n < KEPT_MAX && (bytes += bytes_of(*at)) <= KEPT_BYTES; n++)
		at = &(*at)->next;
	rest = *at;
	*at = NULL;
	return rest;
}

/* Returns an entry of no list yet. */
static struct kept *new_kept(const struct cache_key *key, const char *path, struct hook_module *m)
{
	struct kept *k = mem_zalloc(sizeof(*k));

	k->key = *key;
	k->path = mem_strdup(path);
	k->module = m;
	return k;
}

/* Enters the file in `ahead`, unless it is there or waits already. NULL: nothing to load. */
static struct kept *announce_load(int fd, const char *path)
{
	struct cache_key key;
	struct kept *k = NULL;

	if (!cache_key_of(fd, path, "", &key))
		return NULL;
	pthread_mutex_lock(&lock);
	if (!has_module(ahead, &key, path) && !has_module(waiting, &key, path)) {
		k = new_kept(&key, path, NULL);
		add_module(&ahead, k);
	}
	pthread_mutex_unlock(&lock);
	return k;
}

/* Loads an announced file if it is in the cache; planning it is left to its first user. */
static void load_ahead(struct kept *k)
{
	struct kept *rest = NULL;

	/* Without the lock: milliseconds. */
	k->module = hook_module_load_cached(&k->key, k->path);
	pthread_mutex_lock(&lock);
	leave_list(&ahead, k);
	if (k->module) {
		add_module(&waiting, k);
		rest = cut_list();
	}
	pthread_cond_broadcast(&loaded);
	pthread_mutex_unlock(&lock);
	if (!k->module)
		free_kept(k);
	free_all(rest);
}

void module_cache_ahead(const char *path)
{
	struct err ignored;
	int fd = file_open(path, &ignored);
	struct kept *k = fd < 0 ? NULL : announce_load(fd, path);

	if (k)
		load_ahead(k);
	if (fd >= 0)
		close(fd);
}

int module_cache_load(int fd, const char *path, const char *root, struct hook_module **out,
		      struct err *err)
{
	struct cache_key key, then;
	bool known = cache_key_of(fd, path, root, &key);
	struct kept *k = NULL;
	int r;

	if (known) {
		pthread_mutex_lock(&lock);
		while (has_module(ahead, &key, path))
			pthread_cond_wait(&loaded, &lock);
		k = take_module(&key, path);
		pthread_mutex_unlock(&lock);
	}
	if (k) {
		*out = k->module;
		return 0;
	}
	r = hook_module_load_fd(fd, path, root, out, err);
	/* The key is made again after the load, so the module is that of this very file. */
	if (r == 0 && known && cache_key_of(fd, path, root, &then) &&
	    memcmp(&key, &then, sizeof(key)) == 0) {
		pthread_mutex_lock(&lock);
		add_module(&used, new_kept(&key, path, *out));
		pthread_mutex_unlock(&lock);
	}
	return r;
}

void module_cache_free(struct hook_module *m)
{
	struct kept *k, *rest = NULL;

	if (!m)
		return;
	pthread_mutex_lock(&lock);
	k = of_module(m);
	pthread_mutex_unlock(&lock);
	if (!k) {
		hook_module_free(m);
		return;
	}
	/* Without the lock: the module is in no list now, so nobody else finds it. */
	hook_module_restore(m);
	pthread_mutex_lock(&lock);
	add_module(&waiting, k);
	rest = cut_list();
	pthread_mutex_unlock(&lock);
	free_all(rest);
}

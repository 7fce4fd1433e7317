/* SPDX-License-Identifier: MIT */
/* A module in use is its user's alone; one that is given back waits here, with its entries as they were planned. Two who
 * use the same file at the same time have two. What waits is bounded, and the first to go is what waits longest. Nothing
 * here fails: what cannot be kept is loaded again. */
#include "hook/kept.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "hook/cache_place.h"

#define KEPT_MAX 64u
#define KEPT_BYTES ((size_t)64 << 20)

struct kept {
	struct kept *next;               /* in use, or waiting; the newest first */
	struct cache_key key;
	char *path;
	struct hook_module *module;
	struct hook_plan_entry *entries; /* as planned */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *used, *waiting;

static size_t bytes_of(const struct kept *k)
{
	const struct hook_module *m = k->module;

	return m->n * (2 * sizeof(*m->entries) + sizeof(*m->functions) + sizeof(*m->bytes)) + m->n_strings;
}

static void free_kept(struct kept *k)
{
	hook_module_free(k->module);
	free(k->entries);
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

static void add(struct kept **list, struct kept *k)
{
	k->next = *list;
	*list = k;
}

/* Lock held. */
static struct kept *take(const struct cache_key *key, const char *path)
{
	for (struct kept **at = &waiting; *at; at = &(*at)->next) {
		struct kept *k = *at;

		if (memcmp(&k->key, key, sizeof(*key)) != 0 || strcmp(k->path, path) != 0)
			continue;
		*at = k->next;
		add(&used, k);
		return k;
	}
	return NULL;
}

/* Lock held. NULL: it is not one of ours. */
static struct kept *of_module(const struct hook_module *m)
{
	for (struct kept **at = &used; *at; at = &(*at)->next) {
		struct kept *k = *at;

		if (k->module != m)
			continue;
		*at = k->next;
		return k;
	}
	return NULL;
}

/* Those beyond the limits, which are cut off. Lock held. */
static struct kept *cut(void)
{
	struct kept **at = &waiting, *rest;
	size_t bytes = 0;

	for (unsigned n = 0; *at && n < KEPT_MAX && (bytes += bytes_of(*at)) <= KEPT_BYTES; n++)
		at = &(*at)->next;
	rest = *at;
	*at = NULL;
	return rest;
}

static void keep(const struct cache_key *key, const char *path, struct hook_module *m)
{
	struct kept *k = mem_zalloc(sizeof(*k));

	k->key = *key;
	k->path = mem_strdup(path);
	k->module = m;
	k->entries = mem_realloc(NULL, m->n + 1, sizeof(*k->entries));
	memcpy(k->entries, m->entries, m->n * sizeof(*k->entries));
	pthread_mutex_lock(&lock);
	add(&used, k);
	pthread_mutex_unlock(&lock);
}

int hook_kept_load(int fd, const char *path, const char *root, struct hook_module **out, struct err *err)
{
	struct cache_key key, then;
	bool known = cache_key_of(fd, path, root, &key);
	struct kept *k = NULL;
	int r;

	if (known) {
		pthread_mutex_lock(&lock);
		k = take(&key, path);
		pthread_mutex_unlock(&lock);
	}
	if (k) {
		*out = k->module;
		return 0;
	}
	r = hook_module_load_fd(fd, path, root, out, err);
	if (r == 0 && known && cache_key_of(fd, path, root, &then) && memcmp(&key, &then, sizeof(key)) == 0)
		keep(&key, path, *out); /* it was this file all the time */
	return r;
}

void hook_kept_free(struct hook_module *m)
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
	memcpy(m->entries, k->entries, m->n * sizeof(*k->entries));
	pthread_mutex_lock(&lock);
	add(&waiting, k);
	rest = cut();
	pthread_mutex_unlock(&lock);
	free_all(rest);
}

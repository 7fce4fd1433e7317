/* SPDX-License-Identifier: MIT */
/* The thread that loads plans ahead. Every program needs three: its own, libc's and ld.so's; the
 * latter two are most often those that brace itself runs with. The session begins and ends it
 * around a launch. A wrong guess costs time of an idle processor, and nothing else. Nothing fails:
 * what could not be loaded a planner loads, and tells its error. */
#include "session/ahead.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/aside.h"
#include "base/mem.h"
#include "base/vec.h"
#include "hook/module_cache.h"
#include "tracee/tracee.h"

struct ahead {
	pthread_t thread;
	VEC(char *) paths;
};

/* Links resolved: the mappings of the program will name the file so. */
static void add_path(struct ahead *a, const char *path)
{
	char *real = realpath(path, NULL);

	if (real)
		*vec_add(&a->paths) = real;
}

/* dl_iterate_phdr's callback: takes libc and ld.so of brace itself. */
static int add_library(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (slash && (strncmp(slash, "/libc.so", 8) == 0 || strncmp(slash, "/ld-linux", 9) == 0))
		add_path(context, info->dlpi_name);
	return 0;
}

/* The thread: makes the plans, or reads them from the cache, and keeps them for the planners. */
static void *load_modules(void *context)
{
	struct ahead *a = context;

	aside_until(tracee_given_up());
	for (size_t i = 0; i < a->paths.n; i++)
		module_cache_ahead(a->paths.at[i]);
	return NULL;
}

static void free_ahead(struct ahead *a)
{
	for (size_t i = 0; i < a->paths.n; i++)
		free(a->paths.at[i]);
	vec_free(&a->paths);
	free(a);
}

/* NULL: there is no thread for it, and plans are made when they are asked for. brace's own
 * libraries are most often the program's, too. */
struct ahead *ahead_begin(const char *path)
{
	struct ahead *a = mem_zalloc(sizeof(*a));
	sigset_t all, before;
	int e;

	add_path(a, path);
	dl_iterate_phdr(add_library, a);
	/* Signals are for the session's own threads, which wait for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&a->thread, NULL, load_modules, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (e == 0)
		return a;
	free_ahead(a);
	return NULL;
}

/* NULL is nothing. Waits for the module that is being read. */
void ahead_end(struct ahead *a)
{
	if (!a)
		return;
	pthread_join(a->thread, NULL);
	free_ahead(a);
}

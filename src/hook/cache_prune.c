/* SPDX-License-Identifier: MIT */
/* Keeps the plan cache below half a gigabyte. cache_path.c calls it after each store; files are
 * removed by the time of their last use (atime). Several processes may prune at once: an unlink
 * that fails is another's. Errors are ignored. Any thread. */
#include "hook/cache_prune.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

#define MOST (512ll << 20)

struct stored { char *name; long long size; struct timespec used; };

/* The longest unused first. */
static int by_use(const void *a, const void *b)
{
	const struct stored *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

void cache_prune(int dir)
{
	VEC(struct stored) files = { 0 };
	/* A descriptor of its own: closedir() closes it, and the caller keeps dir. */
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	long long total = 0;

	while (d && (e = readdir(d))) {
		struct stat st;

		if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		*vec_add(&files) = (struct stored){ mem_strdup(e->d_name), st.st_size, st.st_atim };
		total += st.st_size;
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	if (files.n && total > MOST)
		qsort(files.at, files.n, sizeof(*files.at), by_use);
	for (size_t i = 0; i < files.n; i++) {
		if (total > MOST && unlinkat(dir, files.at[i].name, 0) == 0)
			total -= files.at[i].size;
		free(files.at[i].name);
	}
	vec_free(&files);
}

/* SPDX-License-Identifier: MIT */
/* Opens what others named. First by O_PATH, which does nothing to what stands there; that is looked at, and the very same is
 * opened again. Everybody who reads a file of the traced program's calls it. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int refuse(const char *path, mode_t mode, struct err *err)
{
	return err_set(err, S_ISDIR(mode) ? EISDIR : ENOEXEC, "%s is %s, not a program", path,
		       S_ISDIR(mode) ? "a directory" : "not a regular file");
}

/* O_NONBLOCK: who holds a lease on the file is not waited for. */
static int open_again(int place, const char *path, struct err *err)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? err_set(err, errno, "cannot open %s: %s", path, strerror(errno)) : fd;
}

int file_open(const char *path, struct err *err)
{
	int place = open(path, O_PATH | O_CLOEXEC), r;
	struct stat st;

	if (place < 0)
		return err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	if (fstat(place, &st))
		r = err_set(err, errno, "cannot examine %s: %s", path, strerror(errno));
	else
		r = S_ISREG(st.st_mode) ? open_again(place, path, err) : refuse(path, st.st_mode, err);
	close(place);
	return r;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool file_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       is_same_time(&a->st_mtim, &b->st_mtim) && is_same_time(&a->st_ctim, &b->st_ctim);
}

/* SPDX-License-Identifier: MIT */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct wish { const char *path, *what; };

static int cannot(const struct wish *w, const char *verb, struct err *err)
{
	int code = errno;

	return err_set(err, code, "cannot %s %s %s: %s", verb, w->what, w->path, strerror(code));
}

static int create(const struct wish *w)
{
	return open(w->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* 0 when the name is free now. */
static int remove_old(const struct wish *w, const struct stat *st, struct err *err)
{
	if (st->st_uid != geteuid())
		return err_set(err, EPERM, "cannot replace %s %s: it belongs to another user; remove it or name another file with -o",
			       w->what, w->path);
	if (unlink(w->path) && errno != ENOENT)
		return cannot(w, "replace", err);
	return 0;
}

static int replace(const struct wish *w, const struct stat *st, struct err *err)
{
	int e = remove_old(w, st, err), fd;

	if (e)
		return e;
	fd = create(w);
	return fd < 0 ? cannot(w, "create", err) : fd;
}

static int open_existing(const struct wish *w, bool *is_ours, struct err *err)
{
	struct stat st;
	int fd;

	if (lstat(w->path, &st))
		return cannot(w, "create", err);
	if (S_ISLNK(st.st_mode))
		return err_set(err, ELOOP, "cannot write %s %s: it is a symbolic link; name the file itself with -o", w->what, w->path);
	*is_ours = S_ISREG(st.st_mode);
	if (*is_ours)
		return replace(w, &st, err);
	fd = open(w->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	return fd < 0 ? cannot(w, "write", err) : fd;
}

int new_file(const char *path, const char *what, bool *is_ours, struct err *err)
{
	const struct wish w = { path, what };
	int fd = create(&w);

	*is_ours = true;
	if (fd >= 0)
		return fd;
	return errno == EEXIST ? open_existing(&w, is_ours, err) : cannot(&w, "create", err);
}

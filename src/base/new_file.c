/* SPDX-License-Identifier: MIT */
/* Creation of output files. The directory may be /tmp, where another user can put a link or a FIFO
 * of that name: nothing is followed, and O_EXCL decides who made a file. The trace file
 * (store/output.c) and -o of reports (ui/screen.c) are made here. */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pending_file { const char *path, *what; };

static int err_cannot(const struct pending_file *w, const char *verb, struct err *err)
{
	int code = errno;

	return err_set(err, code, "cannot %s %s %s: %s", verb, w->what, w->path, strerror(code));
}

static int create_temporary(const struct pending_file *w)
{
	return open(w->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Frees the name. Another user's file is left alone even where the directory would let us remove
 * it. */
static int remove_old(const struct pending_file *w, const struct stat *st, struct err *err)
{
	if (st->st_uid != geteuid())
		return err_set(
			err, EPERM,
			"cannot replace %s %s: it belongs to another user; remove it or name another file with -o",
			w->what, w->path);
	if (unlink(w->path) && errno != ENOENT)
		return err_cannot(w, "replace", err);
	return 0;
}

static int replace_file(const struct pending_file *w, const struct stat *st, struct err *err)
{
	int e = remove_old(w, st, err), fd;

	if (e)
		return e;
	/* O_EXCL once more: a file that somebody makes in between is an error, not an output. */
	fd = create_temporary(w);
	return fd < 0 ? err_cannot(w, "create", err) : fd;
}

static int open_existing(const struct pending_file *w, bool *is_ours, struct err *err)
{
	struct stat st;
	int fd;

	if (lstat(w->path, &st))
		return err_cannot(w, "create", err);
	if (S_ISLNK(st.st_mode))
		return err_set(
			err, ELOOP,
			"cannot write %s %s: it is a symbolic link; name the file itself with -o",
			w->what, w->path);
	*is_ours = S_ISREG(st.st_mode);
	if (*is_ours)
		return replace_file(w, &st, err);
	/* A device, FIFO or socket, such as /dev/null: it is written, and never removed. */
	fd = open(w->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	return fd < 0 ? err_cannot(w, "write", err) : fd;
}

int new_file(const char *path, const char *what, bool *is_ours, struct err *err)
{
	const struct pending_file w = { path, what };
	int fd = create_temporary(&w);

	*is_ours = true;
	if (fd >= 0)
		return fd;
	return errno == EEXIST ? open_existing(&w, is_ours, err) : err_cannot(&w, "create", err);
}

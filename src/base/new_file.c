/* SPDX-License-Identifier: MIT */
/* Creation of output files. The directory may be /tmp, where another user can put a link or a FIFO
 * of that name: nothing is followed, and O_EXCL decides who made a file. The trace file
 * (store/output.c), -o of reports and that of exports (ui/screen.c) are made here. Any thread. A
 * file that cannot be made is -errno and a sentence with its name. */
#include "base/new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

struct pending_file { const char *path, *what; };

/* Takes errno, so that nothing may be called between the failure and this. */
static int err_cannot(const struct pending_file *w, const char *verb, struct err *err)
{
	int code = errno;

	return err_set(err, code, "cannot %s %s %s: %s", verb, w->what, w->path, strerror(code));
}

/* O_NOFOLLOW and O_EXCL: in a directory that others may write to, a name that is there already
 * may lead anywhere. */
static int create_temporary(const struct pending_file *w)
{
	return open(w->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Another user's file is left alone even where the directory would let us remove it. */
static int check_owner(const struct pending_file *w, const struct stat *st, struct err *err)
{
	if (st->st_uid == geteuid())
		return 0;
	return err_set(
		err, EPERM,
		"cannot replace %s %s: it belongs to another user; remove it or name another file with -o",
		w->what, w->path);
}

/* Frees the name. */
static int remove_old(const struct pending_file *w, const struct stat *st, struct err *err)
{
	int e = check_owner(w, st, err);

	if (e)
		return e;
	if (unlink(w->path) && errno != ENOENT)
		return err_cannot(w, "replace", err);
	return 0;
}

/* The old file is removed, not written over: a process that still has it mapped would see it
 * change. */
static int replace_file(const struct pending_file *w, const struct stat *st, struct err *err)
{
	int e = remove_old(w, st, err), fd;

	if (e)
		return e;
	/* O_EXCL once more: a file that somebody makes in between is an error, not an output. */
	fd = create_temporary(w);
	return fd < 0 ? err_cannot(w, "create", err) : fd;
}

/* A link is never followed: as root it would let its owner choose which file is overwritten. */
static int err_link(const struct pending_file *w, struct err *err)
{
	return err_set(err, ELOOP,
		       "cannot write %s %s: it is a symbolic link; name the file itself with -o",
		       w->what, w->path);
}

/* A device, FIFO or socket, such as /dev/null: it is written, and never removed. */
static int open_special(const struct pending_file *w, struct err *err)
{
	int fd = open(w->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);

	return fd < 0 ? err_cannot(w, "write", err) : fd;
}

/* is_ours: it is a plain file, which the caller may remove if it fails. A device or a FIFO is
 * not. */
static int open_existing(const struct pending_file *w, bool *is_ours, struct err *err)
{
	struct stat st;

	if (lstat(w->path, &st))
		return err_cannot(w, "create", err);
	if (S_ISLNK(st.st_mode))
		return err_link(w, err);
	*is_ours = S_ISREG(st.st_mode);
	return *is_ours ? replace_file(w, &st, err) : open_special(w, err);
}

/* The descriptor, or -errno and *err. */
int new_file(const char *path, const char *what, bool *is_ours, struct err *err)
{
	const struct pending_file w = { path, what };
	int fd = create_temporary(&w);

	*is_ours = true;
	if (fd >= 0)
		return fd;
	return errno == EEXIST ? open_existing(&w, is_ours, err) : err_cannot(&w, "create", err);
}

/* Where TMPDIR's file system has no nameless files, memory takes their place. Neither has seals:
 * the file grows as long as it is used, and a file system has none. A program of the same user, who
 * can write to it, can end the query or the export that uses it, and nothing else. The descriptor,
 * or -1 and errno. */
int new_file_nameless(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("brace", MFD_CLOEXEC);
}

/* --- lack of memory ----------------------------------------------------------------------- */

/* Brace ends then without a word to its callers (base/mem.h). The act that removes a file has its
 * temporary name with it. */
struct unfinished_file { struct mem_last_act last; char name[]; };

static bool remove_unfinished(struct mem_last_act *self)
{
	const struct unfinished_file *u =
		(const void *)((const char *)self - offsetof(struct unfinished_file, last));

	/* A directory's files stay: to list them takes memory. */
	if (unlink(u->name) && errno == EISDIR)
		rmdir(u->name);
	return false;
}

/* Returns the place for a temporary name beside the path, `XXXXXX` at its end. */
static char *temporary_beside(const char *path)
{
	const size_t n = strlen(path) + sizeof(".XXXXXX");
	struct unfinished_file *u = mem_zalloc(sizeof(*u) + n);

	u->last.act = remove_unfinished;
	snprintf(u->name, n, "%s.XXXXXX", path);
	return u->name;
}

static struct unfinished_file *unfinished_of(char *temporary)
{
	return (void *)(temporary - offsetof(struct unfinished_file, name));
}

/* If memory runs out before the file is whole, the process's last act removes it. */
static void remember_temporary(char *temporary)
{
	mem_last_act_add(&unfinished_of(temporary)->last);
}

/* Frees the temporary name, which is nobody's any more. */
static void forget_temporary(struct whole_file *f)
{
	if (!f->temporary)
		return;
	mem_last_act_remove(&unfinished_of(f->temporary)->last);
	free(unfinished_of(f->temporary));
	f->temporary = NULL;
}

/* --- whole files and directories ---------------------------------------------------------- */

/* Looks whether the name may be taken. *special: it is written as it is. */
static int check_target(const struct pending_file *w, bool *special, struct err *err)
{
	struct stat st;

	*special = false;
	if (lstat(w->path, &st))
		return errno == ENOENT ? 0 : err_cannot(w, "create", err);
	if (S_ISLNK(st.st_mode))
		return err_link(w, err);
	if (S_ISDIR(st.st_mode))
		return err_set(err, EISDIR, "cannot write %s %s: it is a directory", w->what, w->path);
	*special = !S_ISREG(st.st_mode);
	return *special ? 0 : check_owner(w, &st, err);
}

/* The descriptor, or -errno and *err. A temporary name beside the target, so that the rename
 * stays within one file system. */
int new_file_begin(struct whole_file *f, const char *path, const char *what, struct err *err)
{
	const struct pending_file w = { path, what };
	bool special;
	int e = check_target(&w, &special, err);

	*f = (struct whole_file){ .path = path, .what = what, .fd = -1 };
	if (e)
		return e;
	if (special)
		return f->fd = open_special(&w, err);
	f->temporary = temporary_beside(path);
	f->fd = mkostemp(f->temporary, O_CLOEXEC);
	if (f->fd >= 0) {
		remember_temporary(f->temporary);
		return f->fd;
	}
	e = err_cannot(&w, "create", err);
	forget_temporary(f);
	return e;
}

/* From here on the file has its own name, though it is not whole: for output that others read
 * while it grows. Where the rename fails, new_file_end() tries again and tells. */
void new_file_name(struct whole_file *f)
{
	if (!f->temporary || renameat(AT_FDCWD, f->temporary, AT_FDCWD, f->path))
		return;
	forget_temporary(f);
}

/* keep false: whatever stood at the path before stays. */
int new_file_end(struct whole_file *f, bool keep, struct err *err)
{
	const struct pending_file w = { f->path, f->what };
	int e = 0;

	if (f->fd >= 0 && close(f->fd))
		e = err_cannot(&w, "write", err);
	if (f->temporary && keep && !e && renameat(AT_FDCWD, f->temporary, AT_FDCWD, f->path))
		e = err_cannot(&w, "create", err);
	if (f->temporary && (!keep || e))
		unlink(f->temporary);
	forget_temporary(f);
	*f = (struct whole_file){ .fd = -1 };
	return e;
}

/* Only an empty directory may be there already. */
int new_directory_begin(struct whole_file *f, const char *path, const char *what, struct err *err)
{
	const struct pending_file w = { path, what };
	struct stat st;

	*f = (struct whole_file){ .path = path, .what = what, .fd = -1 };
	if (!lstat(path, &st) && (!S_ISDIR(st.st_mode) || (rmdir(path) && errno != ENOENT)))
		return err_set(err, EEXIST,
			       "cannot make %s %s: something of that name is there; remove it or name another one with -o",
			       what, path);
	f->temporary = temporary_beside(path);
	if (mkdtemp(f->temporary)) {
		remember_temporary(f->temporary);
		return 0;
	}
	err_cannot(&w, "make", err);
	forget_temporary(f);
	return -err->code;
}

/* Removes what an open directory has, down to `levels` of directories in it; closes it. */
static void remove_entries(int fd, unsigned levels)
{
	DIR *d = fdopendir(fd);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		int inner;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (!unlinkat(fd, e->d_name, 0) || !levels)
			continue;
		inner = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (inner >= 0)
			remove_entries(inner, levels - 1);
		unlinkat(fd, e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
	else
		close(fd);
}

/* Removes the directory and what is in it, NEW_DIRECTORY_LEVELS deep. A deeper directory stays, and
 * so do those that it is in. */
void new_directory_remove(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0)
		remove_entries(fd, NEW_DIRECTORY_LEVELS);
	rmdir(path);
}

/* keep false: nothing is left of it. rename() replaces no directory that has files. */
int new_directory_end(struct whole_file *f, bool keep, struct err *err)
{
	const struct pending_file w = { f->path, f->what };
	int e = 0;

	if (keep && renameat(AT_FDCWD, f->temporary, AT_FDCWD, f->path))
		e = err_cannot(&w, "make", err);
	if (!keep || e)
		new_directory_remove(f->temporary);
	forget_temporary(f);
	*f = (struct whole_file){ .fd = -1 };
	return e;
}

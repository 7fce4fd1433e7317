/* SPDX-License-Identifier: MIT */
/* Finds and protects the directory of background sessions. A directory in /tmp could have been made
 * by somebody else: it is used only if it is really a directory, ours, and closed to others
 * (check_own). Called by clients and by the session; no state. A directory that is not so, or a
 * name that is taken, is -errno and a sentence. */
#include "daemon/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* A session's name has no dot (check_name), so that the lock of one cannot be the socket of
 * another. */
#define LOCK ".lock"

/* Whether /run/user/UID is there: in cron, or where no login manager runs, it is not. */
static bool is_dir(const char *path)
{
	struct stat st;

	return *path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Whether the path is another user's. After su XDG_RUNTIME_DIR still names the other user's
 * directory, and files made there by root would be in that user's way. */
static bool is_others(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_uid != geteuid();
}

/* XDG_RUNTIME_DIR, else its usual place (after su or in cron the variable is missing), else /tmp.
 * Client and session must come to the same answer. The caller frees it. */
static char *directory_name(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char usual[64];

	snprintf(usual, sizeof(usual), "/run/user/%u", (unsigned)geteuid());
	if (runtime && *runtime == '/' && !is_others(runtime))
		return mem_printf("%s/brace", runtime);
	if (is_dir(usual))
		return mem_printf("%s/brace", usual);
	return mem_printf("/tmp/brace-%u", (unsigned)geteuid());
}

/* In /tmp anybody could have made it before us, and would then own the sockets through which a
 * session takes its orders. */
static int check_own(const char *path, struct err *err)
{
	struct stat st;

	/* lstat: a symbolic link is not ours, wherever it leads. */
	if (lstat(path, &st))
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		return err_set(
			err, EPERM,
			"%s must be a directory that is yours alone (mode 0700): brace keeps its sessions there",
			path);
	return 0;
}

/* Returns the directory, creating it if need be; free() it. NULL and *err if it cannot be used. */
static char *make_directory(struct err *err)
{
	char *path = directory_name();
	int e = mkdir(path, 0700) && errno != EEXIST
			? err_set(err, errno, "cannot make %s, for sessions in the background: %s",
				  path, strerror(errno))
			: check_own(path, err);

	if (!e)
		return path;
	free(path);
	return NULL;
}

/* The name becomes a file's name and a word that a shell shows: no slash, no dot, no blank. 32
 * leave room in sun_path (108 bytes) for the directory. */
static int check_name(const char *name, struct err *err)
{
	size_t good =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	if (!*name || name[good] || good > 32)
		return err_at(err, EINVAL, name, name[good] ? good : 0,
			      "a session's name has 1 to 32 letters, digits, - and _");
	return 0;
}

/* The directory is made when it is missing. A socket's name has 108 bytes at most: a deep
 * XDG_RUNTIME_DIR makes it too long. */
int run_dir_prepare(const char *name, struct sockaddr_un *out, struct err *err)
{
	int e = check_name(name, err);
	char *dir = e ? NULL : make_directory(err);
	int n;

	if (!dir)
		return -err->code;
	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(out->sun_path, sizeof(out->sun_path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(out->sun_path))
		e = err_set(err, ENAMETOOLONG, "%s/%s is too long for a socket's name", dir, name);
	free(dir);
	return e;
}

/* O_NOFOLLOW: the lock must be a file in our own directory. */
static int open_lock(const char *dir, const char *name, int flags)
{
	char *path = mem_printf("%s/%s" LOCK, dir, name);
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);

	free(path);
	return fd;
}

/* flock() and not a file with a pid: the kernel releases it however the session ends, and no pid
 * can be mistaken. */
int run_dir_lock(const char *name, struct err *err)
{
	int e = check_name(name, err), fd;
	char *dir = e ? NULL : make_directory(err);

	if (!dir)
		return -err->code;
	fd = open_lock(dir, name, O_CREAT);
	if (fd < 0)
		e = err_set(err, errno, "cannot make a lock in %s: %s", dir, strerror(errno));
	else if (flock(fd, LOCK_EX | LOCK_NB))
		e = err_set(
			err, EBUSY,
			"a session named %s runs already: `brace reset` ends it, --session gives another a name",
			name);
	free(dir);
	if (e && fd >= 0)
		close(fd);
	return e ? e : fd;
}

/* Whether a process holds the session's lock. Asking for a shared lock does not disturb a
 * holder. */
static bool session_runs(const char *dir, const char *name)
{
	int fd = open_lock(dir, name, 0);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return held;
}

/* readdir() gives no order, and `brace sessions` should print one. */
static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends the names of the sessions that run, in order; the caller frees each. A socket that a
 * killed session left is passed over, since nobody holds its lock. */
int run_dir_list(name_list *out, struct err *err)
{
	char *dir = make_directory(err);
	DIR *d = dir ? opendir(dir) : NULL;
	struct dirent *entry;

	if (!d) {
		int e = dir ? err_set(err, errno, "%s: %s", dir, strerror(errno)) : -err->code;

		free(dir);
		return e;
	}
	while ((entry = readdir(d)))
		/* Names with a dot are lock files. */
		if (*entry->d_name != '.' && !strchr(entry->d_name, '.') &&
		    session_runs(dir, entry->d_name))
			*vec_add(out) = mem_strdup(entry->d_name);
	closedir(d);
	free(dir);
	if (out->n)
		qsort(out->at, out->n, sizeof(out->at[0]), compare_names);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Checks and unmounts mount points, for `brace mount`, `umount` and the watchdog, in one thread.
 * Root unmounts by umount2; other users need fusermount3, which is set-uid. Both are tried in this
 * order. Dead mounts answer every path operation with ENOTCONN, hence the care with realpath. What
 * cannot be mounted or unmounted is -errno and a sentence. fuse_mount.c, unmount_watchdog.c and
 * cmd/mount.c call it. */
#include "tree/mount_point.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tree/stderr_capture.h"

#define FUSERMOUNT "fusermount3"

/* --- /proc/self/mountinfo -------------------------------------------------------------- */

/* Reads the next field of a line, with \ooo decoded; `at` moves behind it. False: there is none, or
 * it is too long. */
static bool next_field(const char **at, char *out, size_t size)
{
	size_t n = 0;

	while (**at == ' ')
		++*at;
	for (; **at && **at != ' ' && **at != '\n'; ++*at) {
		unsigned char c = (unsigned char)**at;
		unsigned octal;

		if (c == '\\' && sscanf(*at + 1, "%3o", &octal) == 1 && strnlen(*at, 4) == 4) {
			c = (unsigned char)octal;
			*at += 3;
		}
		if (n + 1 >= size)
			return false;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return n;
}

/* Parses "36 35 98:0 / PATH options [optional]... - TYPE SOURCE superoptions". The number of
 * optional fields varies, hence the search for "-". */
static bool parse_line(const char *at, const char *path, char type[64], char source[64])
{
	char field[PATH_MAX];

	for (int i = 0; i < 5; i++)
		if (!next_field(&at, field, sizeof(field)))
			return false;
	if (strcmp(field, path))
		return false;
	while (next_field(&at, field, sizeof(field)))
		if (!strcmp(field, "-"))
			return next_field(&at, type, 64) && next_field(&at, source, 64);
	return false;
}

/* The begin of the next line; "" behind the last. */
static const char *field_behind(const char *line)
{
	const char *newline = strchr(line, '\n');

	return newline ? newline + 1 : "";
}

/* The last entry counts: later mounts on a path cover earlier ones. */
bool mount_point_find(const char *mountinfo, const char *path, char type[64], char source[64])
{
	char found_type[64], found_source[64];
	bool there = false;

	for (const char *line = mountinfo; *line; line = field_behind(line)) {
		if (!parse_line(line, path, found_type, found_source))
			continue;
		memcpy(type, found_type, 64);
		memcpy(source, found_source, 64);
		there = true;
	}
	return there;
}

/* "" if it cannot be read: then nothing is known to be mounted. */
static char *read_mountinfo(void)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	size_t size = 0;
	char *text = NULL;

	if (!file)
		return mem_strdup("");
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = mem_strdup("");
	}
	fclose(file);
	return text;
}

/* The uppermost mount at a path: none, a tree of brace's, or some other file system. */
enum mounted { NOTHING, OURS, ANOTHER };

static enum mounted mounted_on(const char *path)
{
	char *text = read_mountinfo(), type[64], source[64];
	bool there = mount_point_find(text, path, type, source);

	free(text);
	if (!there)
		return NOTHING;
	return !strcmp(type, MOUNT_TYPE) && !strcmp(source, MOUNT_SOURCE) ? OURS : ANOTHER;
}

/* Looks at every entry, because a tree that something else covers is still mounted and serves. */
bool mount_point_is_mounted(const char *path)
{
	char *text = read_mountinfo(), type[64], source[64];
	bool there = false;

	for (const char *line = text; *line && !there; line = field_behind(line))
		there = parse_line(line, path, type, source) && !strcmp(type, MOUNT_TYPE) &&
			!strcmp(source, MOUNT_SOURCE);
	free(text);
	return there;
}

/* ECONNABORTED: the server ended while it was asked. */
bool mount_point_is_dead(const char *path)
{
	struct stat st;

	return stat(path, &st) && (errno == ENOTCONN || errno == ECONNABORTED) &&
	       mounted_on(path) == OURS;
}

/* --- unmounting --------------------------------------------------------------------- */

/* Unmounts as an ordinary user: fusermount3 is set-uid root. */
static int run_fusermount(const char *path, bool lazy)
{
	char *const argv[] = { FUSERMOUNT, "-u", lazy ? "-qz" : "-q", "--", (char *)path, NULL };
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* After fork only exec: standard error is the captured file. */
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!status)
		return 0;
	/* 127 is _exit's after a failed exec. */
	return WIFEXITED(status) && WEXITSTATUS(status) == 127 ? -ENOENT : -EBUSY;
}

static int no_fusermount(struct err *err)
{
	return err_set(
		err, ENOENT,
		"there is no %s, which an ordinary user needs to mount and unmount: install fuse3",
		FUSERMOUNT);
}

/* EPERM is the only answer that fusermount3 could improve: the others concern the mount, not the
 * caller. Its own sentence is shown, since its status says only that it failed. */
int mount_point_release(const char *path, bool lazy, struct err *err)
{
	struct stderr_capture c;
	char said[256];
	int e;

	/* UMOUNT_NOFOLLOW: the path was made absolute before, and must not be redirected since. */
	if (!umount2(path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)))
		return 0;
	if (errno != EPERM)
		return err_set(err, errno, "cannot unmount %s: %s", path, strerror(errno));
	stderr_capture_begin(&c);
	e = run_fusermount(path, lazy);
	stderr_capture_end(&c, said, sizeof(said));
	if (e == -ENOENT)
		return no_fusermount(err);
	return e ? err_set(err, -e, "cannot unmount %s: %s", path, *said ? said : "it is in use")
		 : 0;
}

/* --- paths -------------------------------------------------------------------------- */

/* Makes dir absolute like realpath, but does not look into a dead mount at its end. */
static int absolute_path(const char *dir, char **path, struct err *err)
{
	char *above = mem_strdup(dir), *name = mem_strdup(dir), *real;

	*path = realpath(dir, NULL);
	if (!*path && errno == ENOTCONN) {
		real = realpath(dirname(above), NULL);
		*path = real ? mem_printf("%s/%s", strcmp(real, "/") ? real : "", basename(name))
			     : NULL;
		free(real);
	}
	free(above);
	free(name);
	return *path ? 0
		     : err_set(err, errno,
			       errno == ENOENT ? "there is no directory %s" : "cannot use %s: %s",
			       dir, strerror(errno));
}

/* The kernel would mount over files without a word; a user who did not mean that would miss
 * them. */
static int check_empty(const char *path, struct err *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	unsigned n = 0;

	if (!dir && errno == ENOTDIR)
		return err_set(err, ENOTDIR, "%s is not a directory", path);
	if (!dir)
		return err_set(err, errno, "cannot look into %s: %s", path, strerror(errno));
	/* "." and ".." and one more are enough to know. */
	while ((entry = readdir(dir)) && n < 3)
		n++;
	closedir(dir);
	return n > 2 ? err_set(err, ENOTEMPTY,
			       "%s is not empty: what is in it would be hidden; name an empty directory",
			       path)
		     : 0;
}

/* A dead tree is unmounted here, so that `brace mount` works again after a crash. A lazy unmount is
 * enough: nobody is served by it. */
static int check_free(const char *path, struct err *err)
{
	enum mounted there = mounted_on(path);

	if (there == OURS && mount_point_is_dead(path)) { /* brace and its watchdog were killed */
		int e = mount_point_release(path, true, err);

		if (e)
			return e;
		there = mounted_on(path);
	}
	if (there == OURS)
		return err_set(err, EBUSY,
			       "there is a tree on %s already; `brace umount %s` takes it away",
			       path, path);
	return there == ANOTHER ? err_set(err, EBUSY, "something else is mounted on %s", path) : 0;
}

/* Errors of open("/dev/fuse"): no node, no driver behind it, or (in containers) no permission. */
int mount_point_no_device(int code, struct err *err)
{
	if (code == ENOENT || code == ENODEV || code == ENXIO)
		return err_set(
			err, code,
			"this system has no FUSE: there is no device /dev/fuse (`modprobe fuse` loads it)");
	return err_set(err, code,
		       "/dev/fuse cannot be opened: %s; in a container it must be passed in",
		       strerror(code));
}

/* Asked before anything is started, for the better sentence; the mount itself opens the device
 * again. */
static int check_device(struct err *err)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return mount_point_no_device(errno, err);
	close(fd);
	return 0;
}

/* The user's own mistakes come first, then what the system lacks. Distributions have fusermount3 in
 * one of the three directories; root needs none. */
int mount_point_take(const char *dir, char **path, struct err *err)
{
	int e = absolute_path(dir, path, err);

	if (e)
		return e;
	e = check_free(*path, err);
	if (!e)
		e = check_empty(*path, err);
	if (!e)
		e = check_device(err);
	if (!e && geteuid() && access("/bin/" FUSERMOUNT, X_OK) &&
	    access("/usr/bin/" FUSERMOUNT, X_OK) && access("/usr/local/bin/" FUSERMOUNT, X_OK))
		e = no_fusermount(err);
	if (e)
		free(*path);
	return e;
}

/* --- who is in the way -------------------------------------------------------------- */

/* Whether the link's target is path, or below it. */
static bool leads_into(const char *link, const char *path)
{
	char target[PATH_MAX];
	size_t length = strlen(path);
	ssize_t n = readlink(link, target, sizeof(target) - 1);

	if (n < (ssize_t)length)
		return false;
	target[n] = '\0';
	return !strncmp(target, path, length) && (!target[length] || target[length] == '/');
}

/* Whether the process's working directory or an open file lies in path. Links of other users'
 * processes cannot be read: those count as not using it. */
static bool process_uses(const char *pid, const char *path)
{
	char name[300];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(name, sizeof(name), "/proc/%s/cwd", pid);
	if (leads_into(name, path))
		return true;
	snprintf(name, sizeof(name), "/proc/%s/fd", pid);
	dir = opendir(name);
	while (dir && !found && (entry = readdir(dir))) {
		snprintf(name, sizeof(name), "/proc/%s/fd/%.20s", pid, entry->d_name);
		found = leads_into(name, path);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Finds the first process that has a file of it open or is in it: "cat (1234)". False: none that we
 * may see. */
static bool find_user(const char *path, char *out, size_t size)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	while (proc && !found && (entry = readdir(proc))) {
		char name[300], comm[32] = "?";
		FILE *file;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    !process_uses(entry->d_name, path))
			continue;
		found = true;
		snprintf(name, sizeof(name), "/proc/%s/comm", entry->d_name);
		file = fopen(name, "re");
		if (file && fgets(comm, sizeof(comm), file))
			comm[strcspn(comm, "\n")] = '\0';
		if (file)
			fclose(file);
		snprintf(out, size, "%s (%.20s)", comm, entry->d_name);
	}
	if (proc)
		closedir(proc);
	return found;
}

int mount_point_leave(const char *dir, bool lazy, struct err *err)
{
	char *path, user[64];
	int e = absolute_path(dir, &path, err);

	if (e)
		return e;
	if (mounted_on(path) != OURS)
		e = err_set(err, EINVAL, "there is no tree of brace's on %s", path);
	else
		e = mount_point_release(path, lazy || mount_point_is_dead(path), err);
	/* The kernel only says EBUSY; name somebody who can be asked. */
	if (e == -EBUSY && find_user(path, user, sizeof(user)))
		err_set(err, EBUSY,
			"%s is in use by %s; `brace umount --lazy` does not wait for it", path,
			user);
	free(path);
	return e;
}

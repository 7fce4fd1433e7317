/* SPDX-License-Identifier: MIT */
/* Builds the namespace of `brace shell` in the child process that will become the shell. The order
 * matters: namespaces, private propagation, a scratch tmpfs at VIEW_DIRECTORY in which replacement
 * files are made and bound over the originals, and the tree on top of it, which hides the scratch.
 * Any failure ends the command before the shell starts. cmd/shell.c calls it, and the child has one
 * thread. */
#include "tree/view.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "tree/mount_point.h"
#include "tree/view_sysctl.h"

/* --- namespaces --------------------------------------------------------------------- */

/* One write(2), because the kernel takes each of these files whole. 0 or -errno. */
static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), e = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		e = -errno;
	close(fd);
	return e;
}

/* Maps the same user and group as outside, so that programs see no difference. setgroups must be
 * denied first: the kernel requires it of an ordinary user. */
static int map_ids(uid_t uid, gid_t gid)
{
	char line[64];
	int e = write_text("/proc/self/setgroups", "deny");

	snprintf(line, sizeof(line), "%u %u 1\n", uid, uid);
	e = e ? e : write_text("/proc/self/uid_map", line);
	snprintf(line, sizeof(line), "%u %u 1\n", gid, gid);
	return e ? e : write_text("/proc/self/gid_map", line);
}

/* Explains why the kernel refuses an ordinary user, as far as it can be known. */
static int no_namespace(int code, struct err *err)
{
	if (code == ENOSPC || code == EUSERS)
		return err_set(
			err, code,
			"no namespace of our own can be made: /proc/sys/user/max_user_namespaces or "
			"max_mnt_namespaces is reached");
	return err_set(
		err, code,
		"no namespace of our own can be made (%s): this system or container forbids user "
		"namespaces; root on the host may use `brace shell`, anybody `brace mount`",
		strerror(code));
}

/* Makes mounts of this namespace invisible to others. In a chroot / is no mount: then the two
 * directories that have all our mounts are made private. */
static int make_private(struct err *err)
{
	if (!mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 0;
	if (errno != EINVAL)
		return no_namespace(errno, err);
	if (mount("", "/sys", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("", "/proc", NULL, MS_REC | MS_PRIVATE, NULL))
		return err_set(
			err, errno,
			"in this changed root /sys and /proc are not mounted: mount them, or `brace shell` outside");
	return 0;
}

static int enter_namespaces(struct err *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int e;

	/* Root needs no user namespace, and would lose rights in one. */
	if (unshare(CLONE_NEWNS)) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			return no_namespace(errno, err);
		e = map_ids(uid, gid);
		if (e)
			return no_namespace(-e, err);
	}
	return make_private(err);
}

/* --- files over others' ------------------------------------------------------------- */

/* Mounts a file system of our own for replacement files, at the place where the tree will be. */
static int lay_scratch(struct err *err)
{
	struct stat st;

	if (stat(VIEW_DIRECTORY, &st))
		return err_set(err, ENOENT,
			       "there is no directory " VIEW_DIRECTORY
			       " on which the tree could stand: this "
			       "kernel has no ftrace, or the container hides it");
	if (mount("none", VIEW_DIRECTORY, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755"))
		return err_set(err, errno, "cannot mount on " VIEW_DIRECTORY ": %s",
			       strerror(errno));
	return 0;
}

/* Returns a descriptor to close, or -errno and *err. The file stands on the scratch tmpfs. */
static int make_file(const char *name, const char *text, mode_t mode, struct err *err)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), VIEW_DIRECTORY "/%s", name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return err_set(err, errno, "cannot make %s: %s", path, strerror(errno));
	return fd;
}

/* Binds the file `name` over `path`. open_tree and move_mount do not follow a symbolic link at the
 * target: /proc/mounts is one, and would lead into one process's files. */
static int lay_over(const char *name, const char *path, struct err *err)
{
	char from[128];
	int fd, e = 0;

	snprintf(from, sizeof(from), VIEW_DIRECTORY "/%s", name);
	fd = (int)syscall(SYS_open_tree, AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (fd < 0 || syscall(SYS_move_mount, fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH))
		e = err_set(err, errno, "cannot lay a file over %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return e;
}

/* A write to the replacement changes the replacement, and it ends with the namespace. */
static int replace_file(const char *name, const char *path, const char *text, struct err *err)
{
	struct stat st;
	int fd;

	if (stat(path, &st))
		return 0; /* kernels may lack it, and tools know that */
	fd = make_file(name, text, 0644, err);
	if (fd < 0)
		return -err->code;
	close(fd);
	return lay_over(name, path, err);
}

/* Replaces switches that tools write: ftrace as a whole, and addresses in kallsyms. The kernel's
 * own must not change. */
static int replace_settings(struct err *err)
{
	static const char *const files[][2] = {
		{ "ftrace_enabled", "1\n" }, { "kptr_restrict", "0\n" },
	};
	int e = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !e; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/sys/kernel/%s", files[i][0]);
		e = replace_file(files[i][0], path, files[i][1], err);
	}
	return e;
}

/* --- /proc/mounts ------------------------------------------------------------------- */

/* Whether the field of the line (0: device, 1: path, 2: type) is this word. */
static bool field_is(const char *line, int field, const char *word)
{
	for (; field; field--) {
		line += strcspn(line, " \n");
		line += *line == ' ';
	}
	return strcspn(line, " \n") == strlen(word) && !strncmp(line, word, strlen(word));
}

/* The begin of the next line; the text's end behind the last. */
static const char *field_behind(const char *line)
{
	const char *newline = strchr(line, '\n');

	return newline ? newline + 1 : line + strlen(line);
}

/* Whether the tree's line is the first one of type tracefs, which libtracefs takes, and the first
 * one that contains the word, which ftracetest takes: lines of other trees contain it too
 * (fuse.tracefs). */
static bool is_right(const char *mounts)
{
	for (const char *line = mounts; *line; line = field_behind(line))
		if (memmem(line, (size_t)(field_behind(line) - line), "tracefs", strlen("tracefs")))
			return field_is(line, 1, VIEW_DIRECTORY) && field_is(line, 2, "tracefs");
	return false;
}

/* Drops all lines of tracefs and of our directory, and puts one for the tree before the others. */
char *view_mounts(const char *mounts)
{
	VEC(char) text = { 0 };

	if (is_right(mounts))
		return NULL;
	vec_reserve(&text, 128);
	text.n = (size_t)sprintf(text.at,
				 "%s " VIEW_DIRECTORY " tracefs rw,nosuid,nodev,relatime 0 0\n",
				 MOUNT_SOURCE);
	for (const char *line = mounts; *line; line = field_behind(line)) {
		size_t n = (size_t)(field_behind(line) - line);

		if (field_is(line, 2, "tracefs") || field_is(line, 1, VIEW_DIRECTORY))
			continue;
		vec_reserve(&text, text.n + n + 1);
		memcpy(text.at + text.n, line, n);
		text.n += n;
	}
	text.at[text.n] = '\0';
	return text.at;
}

static char *read_text_file(const char *path)
{
	FILE *file = fopen(path, "re");
	size_t size = 0;
	char *text = NULL;

	if (!file || getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = mem_strdup("");
	}
	if (file)
		fclose(file);
	return text;
}

/* Replaces /proc/mounts by a copy that no longer changes, but only where the real one would mislead
 * tools. */
static int replace_mounts(struct err *err)
{
	char *mounts = read_text_file("/proc/self/mounts"), *text = view_mounts(mounts);
	int fd = text ? make_file("mounts", text, 0444, err) : 0;
	int e = fd < 0 ? -err->code : 0;

	if (text && fd >= 0) {
		close(fd);
		e = lay_over("mounts", "/proc/mounts", err);
	}
	free(text);
	free(mounts);
	return e;
}

/* --- the tree ----------------------------------------------------------------------- */

/* Mounted here, served outside: the descriptor is the connection. */
static int mount_tree(int *fuse, struct err *err)
{
	char options[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return mount_point_no_device(errno, err);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u,default_permissions", fd, geteuid(),
		 getegid());
	if (mount(MOUNT_SOURCE, VIEW_DIRECTORY, MOUNT_TYPE, MS_NOSUID | MS_NODEV, options)) {
		close(fd);
		return err_set(err, errno, "cannot mount the tree on " VIEW_DIRECTORY ": %s",
			       strerror(errno));
	}
	*fuse = fd;
	return 0;
}

/* Adds stack_tracer_enabled, for which kernels without ftrace's stack tracer have no file. Where it
 * cannot be added, programs see the same as on such a kernel. */
static void add_sysctl(void)
{
	struct err ignored;
	struct stat st;

	if (stat(VIEW_SYSCTL "/stack_tracer_enabled", &st) && !stat(VIEW_SYSCTL, &st))
		view_sysctl_add("stack_tracer_enabled", &ignored);
}

/* The tree is mounted last: from then on the scratch can be reached only through what was bound
 * from it. */
int view_enter(int *fuse, struct err *err)
{
	int e = enter_namespaces(err);

	if (!e)
		e = lay_scratch(err);
	if (!e)
		e = replace_settings(err);
	if (!e)
		add_sysctl();
	if (!e)
		e = replace_mounts(err);
	return e ? e : mount_tree(fuse, err);
}

/* Shows the tree in debugfs too, where tools from before tracefs look. If that is not mounted, or
 * not for this user, a directory of ours replaces it; a kernel may have no place for it. */
static void show_in_debugfs(void)
{
	struct stat st;
	struct err ignored;

	if (stat(VIEW_DEBUGFS, &st))
		return;
	if (stat(VIEW_DEBUGFS "/tracing", &st) &&
	    (mount("none", VIEW_DEBUGFS, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=0755") ||
	     mkdir(VIEW_DEBUGFS "/tracing", 0755)))
		return;
	lay_over("", VIEW_DEBUGFS "/tracing", &ignored);
}

int view_finish(struct err *err)
{
	static const char *const files[][2] = {
		{ "kallsyms", "/proc/kallsyms" }, { "stack_tracer_enabled", "/proc/sys/kernel/stack_tracer_enabled" },
	};
	struct stat st;
	int e = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !e; i++)
		if (!stat(files[i][1], &st)) /* a kernel may lack it */
			e = lay_over(files[i][0], files[i][1], err);
	show_in_debugfs();
	return e;
}

/* SPDX-License-Identifier: MIT */
/* Opens the files by which programs tell profilers of the code that they make. The files are the
 * program's: each has to be a regular one of the process' own user, younger than the process, and
 * not a link, soft or hard, to another one; no file system that a process serves is read. Called by
 * instance/made_names.c on the pump's thread or main's, and by thread_stacks.c on main's. */
#include "image/made_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/path.h"
#include "image/mapped_file.h"

/* Whether the descriptor's path ends in that name: no link led to a file of another one. */
static bool is_named(int fd, const char *name)
{
	char *link = mem_printf("/proc/self/fd/%d", fd), path[4096];
	ssize_t n = readlink(link, path, sizeof(path) - 1);

	free(link);
	if (n <= 0)
		return false;
	path[n] = 0;
	return strcmp(path_file_name(path), name) == 0;
}

/* Whether that file can be the program's. A copy is not (base/file.h): a process serves it. */
static bool is_own(int fd, const char *name, const struct process_info *about)
{
	struct stat is;

	return !file_is_copy(fd) && file_stat(fd, &is) == 0 && S_ISREG(is.st_mode) &&
	       is.st_nlink <= 1 && is.st_uid == about->uid &&
	       (uint64_t)is.st_mtime >= about->began_s && is_named(fd, name);
}

/* fd, or -1 where it cannot be the program's; then it is closed. */
static int own_or_none(int fd, const char *name, const struct process_info *about)
{
	if (fd < 0 || is_own(fd, name, about))
		return fd;
	close(fd);
	return -1;
}

int made_files_open_map(pid_t pid, const struct process_info *about)
{
	char *root = mapped_file_root(pid), *name = mem_printf("perf-%u.map", about->own);
	char *path = mem_printf("%s/tmp/%s", root, name);
	struct err ignored;
	int fd = own_or_none(file_open(path, &ignored), name, about);

	free(path);
	free(name);
	free(root);
	return fd < 0 ? -1 : fd;
}

int made_files_open_dump(pid_t pid, const struct process_info *about)
{
	char *name = mem_printf("jit-%u.dump", about->own);
	struct maps maps = { 0 };
	struct err ignored;
	int fd = -1;

	if (maps_read(pid, &maps, &ignored) == 0)
		for (size_t i = 0; i < maps.at.n && fd < 0; i++)
			if (maps.at.at[i].exec && !strcmp(path_file_name(maps.at.at[i].path), name))
				fd = mapped_file_at(pid, maps.at.at[i].start, &ignored);
	maps_free(&maps);
	fd = own_or_none(fd, name, about);
	free(name);
	return fd < 0 ? -1 : fd;
}

/* SPDX-License-Identifier: MIT */
/* Opens mapped files. The kernel leads to one by the mapping itself, but only for root
 * (CAP_SYS_ADMIN, CAP_CHECKPOINT_RESTORE); others try the path below the process' root, and the
 * program's own link. No way is trusted: the opened file has to have the mapping's device and
 * inode. A process that lies, or maps anew meanwhile, misleads about its own code only. Planners,
 * commands and instance/frames.c call it on their own thread; no state. A file that cannot be had
 * is -errno. */
#include "image/mapped_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/page.h"
#include "base/file.h"


size_t mapped_file_path(const char *path)
{
	static const char mark[] = " (deleted)";
	const size_t n = strlen(path), end = sizeof(mark) - 1;

	return n > end && strcmp(path + n - end, mark) == 0 ? n - end : n;
}

/* The process' mount namespace, as a file. */
static bool namespace_of(const char *process, struct stat *out)
{
	char *name = mem_printf("/proc/%s/ns/mnt", process);
	bool known = stat(name, out) == 0;

	free(name);
	return known;
}

char *mapped_file_root(pid_t pid)
{
	struct stat own, other;
	char process[16];

	snprintf(process, sizeof(process), "%d", (int)pid);
	if (!namespace_of("self", &own) || !namespace_of(process, &other) ||
	    own.st_ino == other.st_ino)
		return mem_strdup("");
	return mem_printf("/proc/%s/root", process);
}

/* --- whether a file is the mapped one --------------------------------------------------------- */

/* The mapping that has the address; NULL: nothing is mapped there. */
static const struct map *mapping_at(const struct maps *maps, uint64_t at)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if (maps->at.at[i].start <= at && at < maps->at.at[i].end)
			return &maps->at.at[i];
	return NULL;
}

/* btrfs and overlayfs give stat another device number than maps; brace's own mapping of the file
 * has the latter, too. */
static bool maps_as(int fd, const struct map *map)
{
	void *at = mmap(NULL, ARCH_PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	const struct map *own;
	struct maps maps;
	bool is;

	if (at == MAP_FAILED)
		return false;
	is = maps_read(getpid(), &maps, NULL) == 0;
	own = is ? mapping_at(&maps, (uintptr_t)at) : NULL;
	is = own && own->device == map->device && own->inode == map->inode;
	maps_free(&maps);
	munmap(at, ARCH_PAGE);
	return is;
}

/* A copy's own mapping says nothing: what a process serves is what the kernel leads to by the
 * mapping, or the file that was copied has the mapping's numbers. */
static bool is_mapped(int fd, bool led, const struct map *map)
{
	struct stat st;

	return file_stat(fd, &st) == 0 &&
	       ((st.st_dev == map->device && st.st_ino == map->inode) ||
		(file_is_copy(fd) ? led || file_copy_maps_as(fd, map->device, map->inode) :
				      maps_as(fd, map)));
}

/* --- the ways to it --------------------------------------------------------------------------- */

/* Opens the file if it is the mapped one. Frees the name. led: the name is the kernel's link by the
 * mapping. */
static int open_if_mapped(char *name, bool led, const struct map *map, struct err *err)
{
	int fd = file_open(name, err);

	if (fd >= 0 && !is_mapped(fd, led, map)) {
		close(fd);
		fd = err_set(err, ESTALE, "%s is not the file that is mapped", name);
	}
	free(name);
	return fd;
}

int mapped_file_open(pid_t pid, const char *root, const struct map *map, struct err *err)
{
	char *mapping = mem_printf("/proc/%d/map_files/%llx-%llx", (int)pid,
				   (unsigned long long)map->start, (unsigned long long)map->end);
	int fd = open_if_mapped(mapping, true, map, err), why;

	/* A file that does not answer would not answer by its other names either. */
	if (fd >= 0 || fd == -ETIMEDOUT)
		return fd;
	why = open_if_mapped(mem_printf("%s%s", root, map->path), false, map, err);
	if (why >= 0)
		return why;
	/* The executable can be opened by this link even if no path leads to it. */
	fd = open_if_mapped(mem_printf("/proc/%d/exe", (int)pid), false, map, NULL);
	if (fd < 0 && why == -ENOENT)
		return err_set(err, ESTALE, "no path leads to %s any more", map->path);
	return fd >= 0 ? fd : why;
}

/* Reads the mappings for one address: for callers that have no maps yet. */
int mapped_file_at(pid_t pid, uint64_t address, struct err *err)
{
	const struct map *map;
	struct maps maps;
	int r = -ESRCH;
	char *root;

	if (maps_read(pid, &maps, err) < 0)
		return r;
	map = mapping_at(&maps, address);
	root = mapped_file_root(pid);
	if (map)
		r = mapped_file_open(pid, root, map, err);
	else
		err_set(err, ESRCH, "nothing is mapped at %#llx", (unsigned long long)address);
	free(root);
	maps_free(&maps);
	return r;
}

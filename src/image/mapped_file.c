/* SPDX-License-Identifier: MIT */
/* Opens what is mapped. The kernel leads there by the mapping itself, but only root (CAP_SYS_ADMIN, CAP_CHECKPOINT_RESTORE); for
 * others the path below the process's root is tried, and the program's own link. No way is trusted: what is opened must be
 * the device and inode of the mapping. A process that lies, or maps anew meanwhile, misleads about its own code only. */
#include "image/mapped_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define PAGE 4096

size_t mapped_file_path(const char *path)
{
	static const char mark[] = " (deleted)";
	const size_t n = strlen(path), end = sizeof(mark) - 1;

	return n > end && strcmp(path + n - end, mark) == 0 ? n - end : n;
}

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
	if (!namespace_of("self", &own) || !namespace_of(process, &other) || own.st_ino == other.st_ino)
		return mem_strdup("");
	return mem_printf("/proc/%s/root", process);
}

/* --- is it the one? ------------------------------------------------------------------------------ */

static const struct map *mapping_at(const struct maps *maps, uint64_t at)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if (maps->at.at[i].start <= at && at < maps->at.at[i].end)
			return &maps->at.at[i];
	return NULL;
}

/* btrfs and overlayfs have one device number for stat and another for maps: brace's own mapping of the same file has the
 * other one, too. */
static bool maps_as(int fd, const struct map *map)
{
	void *at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	const struct map *own;
	struct maps maps;
	bool is;

	if (at == MAP_FAILED)
		return false;
	is = maps_read(getpid(), &maps, NULL) == 0;
	own = is ? mapping_at(&maps, (uintptr_t)at) : NULL;
	is = own && own->device == map->device && own->inode == map->inode;
	maps_free(&maps);
	munmap(at, PAGE);
	return is;
}

static bool is_mapped(int fd, const struct map *map)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       ((st.st_dev == map->device && st.st_ino == map->inode) || maps_as(fd, map));
}

/* --- the ways to it ------------------------------------------------------------------------------ */

/* Takes the name. */
static int open_if_mapped(char *name, const struct map *map, struct err *err)
{
	int fd = file_open(name, err);

	if (fd >= 0 && !is_mapped(fd, map)) {
		close(fd);
		fd = err_set(err, ESTALE, "%s is not the file that is mapped", name);
	}
	free(name);
	return fd;
}

int mapped_file_open(pid_t pid, const char *root, const struct map *map, struct err *err)
{
	char *mapping = mem_printf("/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)map->start,
				   (unsigned long long)map->end);
	int fd = open_if_mapped(mapping, map, NULL), why;

	if (fd >= 0)
		return fd;
	why = open_if_mapped(mem_printf("%s%s", root, map->path), map, err);
	if (why >= 0)
		return why;
	fd = open_if_mapped(mem_printf("/proc/%d/exe", (int)pid), map, NULL);
	if (fd < 0 && why == -ENOENT)
		return err_set(err, ESTALE, "no path leads to %s any more", map->path);
	return fd >= 0 ? fd : why;
}

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

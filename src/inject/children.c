/* SPDX-License-Identifier: MIT */
/* Finds processes by their mappings, from /proc: a fork is told to nobody. Called by
 * session/attached.c and by changes, without a lock. A process whose mappings cannot be read is not
 * a child of ours. */
#include "inject/attach.h"
#include "base/aside.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracee/proc_maps.h"

/* The memories' files. */
struct files { uint32_t n; struct { dev_t device; ino_t inode; } at[MEMORIES_MAX]; };

/* The memories' files, by which a process' mappings are recognized. */
static void read_files(const struct memories *memories, struct files *out)
{
	struct stat st;

	out->n = 0;
	for (uint32_t i = 0, n = memories_n(memories); i < n; i++)
		if (fstat(memories->at[i].fd, &st) == 0) {
			out->at[out->n].device = st.st_dev;
			out->at[out->n++].inode = st.st_ino;
		}
}

/* By device and inode: a memfd has no name that is its own. */
static bool has_file(const struct files *list, const struct proc_map *map)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->at[i].device == map->device && list->at[i].inode == map->inode)
			return true;
	return false;
}

/* Whether the process maps one of the memories. A process that is gone, or another user's, does
 * not. */
static bool maps_one(pid_t pid, const struct files *list)
{
	FILE *f = proc_maps_open(pid);
	struct proc_map map;
	bool found = false;

	while (f && !found && proc_maps_next(f, &map))
		found = has_file(list, &map);
	if (f)
		fclose(f);
	return found;
}

static bool is_listed(pid_t pid, const pid_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == pid)
			return true;
	return false;
}

bool attach_maps_memory(const struct memories *memories, pid_t pid)
{
	struct files ours;

	read_files(memories, &ours);
	return maps_one(pid, &ours);
}

/* The whole of /proc is looked at, because a child's parent may have ended. An aside of ours maps
 * what brace maps, and is none of them. */
size_t attach_find_children(const struct memories *memories, const pid_t *but, size_t n,
			    pid_t **out)
{
	DIR *d = opendir("/proc");
	VEC(pid_t) found = { 0 };
	struct dirent *e;
	struct files ours;

	read_files(memories, &ours);
	while (d && (e = readdir(d))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0 && pid != getpid() && !aside_is(pid) && !is_listed(pid, but, n) &&
		    maps_one(pid, &ours))
			*vec_add(&found) = pid;
	}
	if (d)
		closedir(d);
	*out = found.at;
	return found.n;
}

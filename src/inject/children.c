/* SPDX-License-Identifier: MIT */
#include "inject/attach.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Inode numbers of the memories' files. */
struct inodes { uint32_t n; uint64_t at[MEMORIES_MAX]; };

static void read_inodes(const struct memories *memories, struct inodes *out)
{
	struct stat st;

	out->n = 0;
	for (uint32_t i = 0, n = memories_n(memories); i < n; i++)
		if (fstat(memories->at[i].fd, &st) == 0)
			out->at[out->n++] = st.st_ino;
}

static bool has(const struct inodes *list, uint64_t inode)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->at[i] == inode)
			return true;
	return false;
}

static bool maps_one(pid_t pid, const struct inodes *list)
{
	char name[64], line[512];
	bool found = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	f = fopen(name, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned long long here = 0;

		found = strstr(line, "/memfd:brace-session") && sscanf(line, "%*s %*s %*s %*s %llu", &here) == 1 &&
			has(list, here);
	}
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
	struct inodes ours;

	read_inodes(memories, &ours);
	return maps_one(pid, &ours);
}

size_t attach_find_children(const struct memories *memories, const pid_t *but, size_t n, pid_t **out)
{
	DIR *d = opendir("/proc");
	VEC(pid_t) found = { 0 };
	struct dirent *e;
	struct inodes ours;

	read_inodes(memories, &ours);
	while (d && (e = readdir(d))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0 && pid != getpid() && !is_listed(pid, but, n) && maps_one(pid, &ours))
			*vec_add(&found) = pid;
	}
	if (d)
		closedir(d);
	*out = found.at;
	return found.n;
}

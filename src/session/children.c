#include "session/attach.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool maps_inode(pid_t pid, uint64_t inode)
{
	char name[64], line[512];
	bool found = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	f = fopen(name, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned long long here = 0;

		found = strstr(line, "/memfd:brace-session") && sscanf(line, "%*s %*s %*s %*s %llu", &here) == 1 &&
			here == inode;
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

bool attach_maps_memory(const struct shared_memory *memory, pid_t pid)
{
	struct stat st;

	return fstat(memory->fd, &st) == 0 && maps_inode(pid, st.st_ino);
}

size_t attach_find_children(const struct shared_memory *memory, const pid_t *but, size_t n, pid_t **out)
{
	DIR *d = opendir("/proc");
	VEC(pid_t) found = { 0 };
	struct dirent *e;
	struct stat st;

	if (fstat(memory->fd, &st) < 0)
		st.st_ino = 0;
	while (d && (e = readdir(d))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0 && pid != getpid() && !is_listed(pid, but, n) && maps_inode(pid, st.st_ino))
			*vec_add(&found) = pid;
	}
	if (d)
		closedir(d);
	*out = found.at;
	return found.n;
}

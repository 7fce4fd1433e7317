/* SPDX-License-Identifier: MIT */
/* -p NAME: the option parser asks, and adds each process as if its number had been given. Nothing
 * fails: a process whose name cannot be read has none. On the main thread. */
#include "ui/pids.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMM 15 /* bytes that the kernel keeps of a name */

/* Compares 15 bytes: the kernel cuts a process' name there, and the user may type the whole one. */
static bool process_has_name(const char *pid, const char *name)
{
	char path[sizeof("/proc//comm") + NAME_MAX], comm[COMM + 2] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (f) {
		comm[fread(comm, 1, COMM + 1, f)] = '\0';
		fclose(f);
	}
	comm[strcspn(comm, "\n")] = '\0';
	return comm[0] && strncmp(comm, name, COMM) == 0;
}

/* Without a program there is nothing to hook; without the right to see it, no right to trace it. */
static bool has_program(const char *pid)
{
	char path[sizeof("/proc//exe") + NAME_MAX], to[8];

	snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	return readlink(path, to, sizeof(to)) > 0;
}

/* The order of /proc is not promised. */
static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

void pids_named(const char *name, struct process_ids *out)
{
	DIR *all = opendir("/proc");
	const struct dirent *d;

	while (all && (d = readdir(all)))
		if (strspn(d->d_name, "0123456789") == strlen(d->d_name) &&
		    atoi(d->d_name) != getpid() && process_has_name(d->d_name, name) &&
		    has_program(d->d_name))
			*vec_add(&out->at) = atoi(d->d_name);
	if (all)
		closedir(all);
	if (out->at.n)
		qsort(out->at.at, out->at.n, sizeof(*out->at.at), by_number);
}

/* SPDX-License-Identifier: MIT */
/* Reads the kernel's list of mounts, and again when the kernel says that it has changed. Called by
 * base/file.c, on any thread: one lock, held while the list is read. Without a list all is served.
 */
#include "base/mounts.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *list;
static VEC(uint64_t) own; /* that no process serves */

/* "ID PARENT DEVICE ROOT PLACE OPTIONS ... - TYPE SOURCE OPTIONS": blanks in names are written
 * \040. */
static void take_line(const char *line)
{
	const char *type = strstr(line, " - ");

	if (type && strncmp(type + 3, "fuse", 4) != 0)
		*vec_add(&own) = strtoull(line, NULL, 10);
}

/* Lock held. */
static void take_list(void)
{
	char *line = NULL;
	size_t cap = 0;

	own.n = 0;
	rewind(list);
	while (getline(&line, &cap, list) > 0)
		take_line(line);
	free(line);
}

/* Lock held. Whether the list has to be read, for the first time or again: the kernel marks
 * mountinfo by POLLPRI and POLLERR once for each change (proc(5)). */
static bool is_new(void)
{
	struct pollfd changed = { .events = POLLPRI };

	if (!list) {
		list = fopen("/proc/self/mountinfo", "re");
		return list;
	}
	changed.fd = fileno(list);
	return poll(&changed, 1, 0) > 0 && changed.revents & (POLLPRI | POLLERR);
}

bool mounts_is_served(uint64_t id)
{
	bool served = true;

	pthread_mutex_lock(&lock);
	if (is_new())
		take_list();
	for (size_t i = 0; i < own.n && served; i++)
		served = own.at[i] != id;
	pthread_mutex_unlock(&lock);
	return served;
}

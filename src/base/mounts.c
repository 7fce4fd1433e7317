/* SPDX-License-Identifier: MIT */
/* Reads the kernel's list of mounts, and again when the kernel says that it has changed. Called by
 * base/file.c, on any thread: one lock, held while the list is read. Without a list all is served.
 */
#include "base/mounts.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/vec.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *list;
struct own_mount { uint64_t id; dev_t device; bool served; };
static VEC(struct own_mount) own;

/* "ID PARENT DEVICE ROOT PLACE OPTIONS ... - TYPE SOURCE OPTIONS": blanks in names are written
 * \040. */
static bool parse_line(const char *line, struct own_mount *out)
{
	const char *type = strstr(line, " - ");
	unsigned long long id;
	unsigned major, minor;

	if (!type || sscanf(line, "%llu %*u %u:%u ", &id, &major, &minor) != 3)
		return false;
	*out = (struct own_mount){ .id = id,
				   .device = makedev(major, minor),
				   .served = strncmp(type + 3, "fuse", 4) == 0 };
	return true;
}

/* Lock held. */
static void take_list(void)
{
	struct own_mount m;
	char *line = NULL;
	size_t cap = 0;

	own.n = 0;
	rewind(list);
	while (getline(&line, &cap, list) > 0)
		if (parse_line(line, &m))
			*vec_add(&own) = m;
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

/* A mount that is not in our namespace's list counts as served: nothing is known of who answers
 * there. */
bool mounts_is_served(uint64_t id)
{
	bool served = true;

	pthread_mutex_lock(&lock);
	if (is_new())
		take_list();
	for (size_t i = 0; i < own.n && served; i++)
		served = own.at[i].id != id || own.at[i].served;
	pthread_mutex_unlock(&lock);
	return served;
}

/* --- devices ---------------------------------------------------------------------------------- */

enum answer { UNKNOWN, NOT_SERVED, SERVED };

static enum answer answer_of(bool served)
{
	return served ? SERVED : NOT_SERVED;
}

/* UNKNOWN: the device is in no mount of ours, but may be in one of the process's. */
static enum answer ask_own(dev_t device)
{
	enum answer a = UNKNOWN;

	pthread_mutex_lock(&lock);
	if (is_new())
		take_list();
	for (size_t i = 0; i < own.n && a == UNKNOWN; i++)
		if (own.at[i].device == device)
			a = answer_of(own.at[i].served);
	pthread_mutex_unlock(&lock);
	return a;
}

/* The file system of memfds and of shared anonymous memory, which is mounted nowhere. The file is
 * asked for its device alone, which nobody can change: it needs no seals. */
static bool is_anonymous(dev_t device)
{
	int fd = memfd_create("brace-device", MFD_CLOEXEC);
	struct stat is;
	bool same = fd >= 0 && fstat(fd, &is) == 0 && is.st_dev == device;

	if (fd >= 0)
		close(fd);
	return same;
}

/* The process may be in another mount namespace, a container's. */
static enum answer ask_process(dev_t device, pid_t pid)
{
	enum answer a = UNKNOWN;
	struct own_mount m;
	char *line = NULL, name[64];
	size_t cap = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/mountinfo", (int)pid);
	f = fopen(name, "re");
	while (f && a == UNKNOWN && getline(&line, &cap, f) > 0)
		if (parse_line(line, &m) && m.device == device)
			a = answer_of(m.served);
	free(line);
	if (f)
		fclose(f);
	return a;
}

bool mounts_device_is_served(dev_t device, pid_t pid)
{
	enum answer a = ask_own(device);

	/* A device with a driver: FUSE on one (fuseblk) is mounted by root, and in the list. */
	if (a == UNKNOWN && (major(device) != 0 || is_anonymous(device)))
		a = NOT_SERVED;
	if (a == UNKNOWN)
		a = ask_process(device, pid);
	return a != NOT_SERVED;
}

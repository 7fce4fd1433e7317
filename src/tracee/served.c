/* SPDX-License-Identifier: MIT */
/* Called by memory.c for stopped processes, and by inject/stale_patches.c, running_memory.c and
 * user_word.c for one that runs. The look is one reading of /proc/PID/maps. While somebody waits
 * for a page the kernel lets nobody change the process's mappings, so pages that are not in memory
 * are not touched at all: stopped_patches_touch() has brought in those that are needed. A process
 * beside the traced one that shares its memory can map such a file afterwards: docs/security.md
 * says what is left. Any thread. Where the file cannot be read, every page counts as one that may
 * not come. */
#include "tracee/served.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/aside_io.h"
#include "base/monotonic.h"
#include "base/mounts.h"
#include "tracee/proc_maps.h"

#define ALL_MS 10000 /* for all waits of one stop */

/* Neighbours are one range. */
static void add_range(struct served *s, uint64_t start, uint64_t end)
{
	if (s->ranges.n && s->ranges.at[s->ranges.n - 1].end == start)
		s->ranges.at[s->ranges.n - 1].end = end;
	else
		*vec_add(&s->ranges) = (struct served_range){ start, end };
}

void served_look(struct served *s, pid_t pid)
{
	FILE *f = proc_maps_open(pid);
	dev_t last = 0; /* most neighbours are of one file */
	bool is = false;
	struct proc_map m;
	char name[32];

	s->looked = true;
	s->left_ms = ALL_MS;
	s->ranges.n = 0;
	if (!f)
		add_range(s, 0, UINT64_MAX);
	while (f && proc_maps_next(f, &m)) {
		if (!m.inode)
			continue;
		if (m.device != last)
			is = mounts_device_is_served(m.device, pid);
		last = m.device;
		if (is)
			add_range(s, m.start, m.end);
	}
	if (f)
		fclose(f);
	snprintf(name, sizeof(name), "/proc/%d/pagemap", (int)pid);
	s->pages = s->ranges.n ? open(name, O_RDONLY | O_CLOEXEC) : -1;
}

bool served_has(const struct served *s, uint64_t at, uint64_t bytes)
{
	size_t i = vec_bisect(&s->ranges, r, r->end <= at);

	return i < s->ranges.n && s->ranges.at[i].start < at + bytes;
}

/* The longest time that the next wait may take, in ms; 0: no time is left. */
static unsigned patience(const struct served *s)
{
	return s->left_ms <= 0 ? 0 : s->left_ms < ASIDE_MS ? (unsigned)s->left_ms : ASIDE_MS;
}

/* A page that did not come is not waited for again: all time is over. */
static void charge(struct served *s, long long began, bool silent)
{
	s->left_ms = silent ? 0 : s->left_ms - ((long long)monotonic_ms() - began);
}

/* Either way, by aside_io.h; a write leaves `bytes` as they are. Returns how many went through. */
static size_t transfer(struct served *s, int fd, uint64_t at, void *bytes, size_t n, bool put)
{
	const long long began = (long long)monotonic_ms();
	const unsigned ms = patience(s);
	bool silent = false;
	size_t done = 0;

	if (ms && s->pages >= 0)
		done = put ? aside_io_write(fd, s->pages, at, bytes, n, ms, &silent)
			   : aside_io_read(fd, s->pages, at, bytes, n, ms, &silent);
	charge(s, began, silent);
	return done;
}

size_t served_read(struct served *s, int fd, uint64_t at, void *bytes, size_t n)
{
	return transfer(s, fd, at, bytes, n, false);
}

size_t served_write(struct served *s, int fd, uint64_t at, const void *bytes, size_t n)
{
	return transfer(s, fd, at, (void *)bytes, n, true);
}

void served_free(struct served *s)
{
	if (s->looked && s->pages >= 0)
		close(s->pages);
	vec_free(&s->ranges);
	s->looked = false;
}

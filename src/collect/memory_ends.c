/* SPDX-License-Identifier: MIT */
/* Watches memory files until nobody has them (see the header). A session's planners add watches,
 * and the thread that drains hears of ends; the kernel orders them. A watch is told once and then
 * gone, so that it keeps no memory. Where something fails, the end is not told, and the memory
 * stays until the session's end. */
#include "collect/memory_ends.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

void memory_ends_begin(struct memory_ends *e)
{
	*e = (struct memory_ends){ .inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK) };
}

void memory_ends_close(struct memory_ends *e)
{
	if (e->inotify >= 0)
		close(e->inotify);
	e->inotify = -1;
	vec_free(&e->told);
}

/* Opened anew: kernels since 6.14 tell nothing of the descriptor that memfd_create() gave. */
int memory_ends_watch(const struct memory_ends *e, int *fd)
{
	char name[32];
	int anew, watch;

	if (!e || e->inotify < 0)
		return 0;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", *fd);
	anew = open(name, O_RDWR | O_CLOEXEC);
	if (anew < 0)
		return 0;
	watch = inotify_add_watch(e->inotify, name, IN_CLOSE_WRITE | IN_ONESHOT);
	if (watch < 0) {
		close(anew);
		return 0;
	}
	/* The caller's mapping keeps the first one open: nothing is told of this. */
	close(*fd);
	*fd = anew;
	return watch;
}

void memory_ends_forget(const struct memory_ends *e, int watch)
{
	if (watch)
		inotify_rm_watch(e->inotify, watch);
}

/* Events of memory files have no name behind them. The end of a watch (IN_IGNORED) is an event,
 * too. */
void memory_ends_hear(struct memory_ends *e)
{
	struct inotify_event events[64];
	ssize_t n;

	while (e->inotify >= 0 && (n = read(e->inotify, events, sizeof(events))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(events[0]); i++)
			if (events[i].mask & IN_CLOSE_WRITE)
				*vec_add(&e->told) = events[i].wd;
}

bool memory_ends_take(struct memory_ends *e, int watch)
{
	for (size_t i = 0; i < e->told.n; i++)
		if (e->told.at[i] == watch) {
			e->told.at[i] = e->told.at[--e->told.n];
			return true;
		}
	return false;
}

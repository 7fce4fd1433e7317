/* SPDX-License-Identifier: MIT */
/* Finds out how an attached process ended that is no child of ours, by a pidfd. session/attached.c
 * and session.c call it; nothing waits. Since Linux 6.15 a pidfd keeps the status after the end;
 * before, only a zombie's /proc/PID/stat has it, for those who may trace it. A status that is not
 * known is -1. On the session's thread. */
#include "tracee/exit_watch.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracee/proc_status.h"

/* The struct of linux/pidfd.h; the system's header may be too old to have it. */
struct pidfd_status {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
#define INFO_EXIT (1u << 3)
#define GET_INFO _IOWR(0xff, 11, struct pidfd_status)
_Static_assert(sizeof(struct pidfd_status) == 64, "the kernel's PIDFD_INFO_SIZE_VER0");

#define STAT_EXIT_CODE 52 /* field of /proc/PID/stat, from 1 */
#define STAT_AFTER_NAME 3

struct exit_watch exit_watch_begin(pid_t pid)
{
	struct exit_watch w = { .pid = pid, .fd = (int)syscall(SYS_pidfd_open, pid, 0) };

	proc_name(pid, w.name);
	return w;
}

void exit_watch_end(struct exit_watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

/* Asks the pidfd. False: an older kernel. */
static bool ask_kernel(int fd, int *status)
{
	struct pidfd_status info = { .mask = INFO_EXIT };

	if (ioctl(fd, GET_INFO, &info) < 0 || !(info.mask & INFO_EXIT))
		return false;
	*status = info.exit_code;
	return true;
}

/* Reads the status from a zombie's line in stat, whose last field it is. The name before it may
 * have any character, so the last `)` is looked for. */
static bool read_zombie(pid_t pid, int *status)
{
	char line[1024], *at;
	ssize_t n = proc_read(pid, "stat", line, sizeof(line) - 1);

	if (n <= 0)
		return false;
	line[n] = '\0';
	at = strrchr(line, ')');
	if (!at || at[1] != ' ' || at[2] != 'Z')
		return false;
	for (unsigned field = STAT_AFTER_NAME - 1; at && field < STAT_EXIT_CODE; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	*status = atoi(at + 1);
	return true;
}

bool exit_watch_ended(const struct exit_watch *w, int *status)
{
	struct pollfd p = { w->fd, POLLIN, 0 };

	*status = -1;
	if (w->fd < 0 || poll(&p, 1, 0) != 1 || !(p.revents & (POLLIN | POLLHUP)))
		return false;
	if (!ask_kernel(w->fd, status) && !read_zombie(w->pid, status))
		*status = -1;
	return true;
}

/* SPDX-License-Identifier: MIT */
/* Tells how a process ended that is no child of ours. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct exit_watch {
	pid_t pid;
	int fd;         /* pidfd, or -1: nothing will be known */
	char name[16];  /* of the main thread, as it was at the begin */
};

/* Begins to watch a process that runs; exit_watch_end() ends it. */
struct exit_watch exit_watch_begin(pid_t pid);
void exit_watch_end(struct exit_watch *w);
/* Returns true if the process has ended. *status: as waitpid() gives it; -1: not known. The kernel
 * tells of processes that were waited for since Linux 6.15, of others as long as they are
 * zombies. */
bool exit_watch_ended(const struct exit_watch *w, int *status);

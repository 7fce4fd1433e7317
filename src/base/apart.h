/* SPDX-License-Identifier: MIT */
/* Files of /proc for which the kernel waits until nobody changes the mappings of a process: its
 * maps, and what map_files leads to. One reader of its memory who waits for a page that never comes
 * (FUSE) makes that wait endless. Only a SIGKILL of all brace ends it, so a thread is made for it,
 * and left behind when it takes too long: it ends with brace. base/aside.h is for waits that not
 * even SIGKILL ends. */
#pragma once
#include <stdio.h>
#include <sys/types.h>

#define APART_MS 3000 /* for one file */

/* All wait APART_MS at most, or until aside_until's word comes. -ETIMEDOUT, also at once while an
 * earlier wait for the same process lasts; -ECANCELED; or -errno. Any thread. */

/* Opens /proc/PID/`file`. Returns a descriptor to close. */
int apart_open(pid_t pid, const char *file, int flags);
/* Reads /proc/PID/`file` to its end, as it is now. Returns a descriptor to close, of a copy in
 * memory. */
int apart_copy(pid_t pid, const char *file);
/* apart_copy() as a stream to fclose(). NULL: errno. */
FILE *apart_stream(pid_t pid, const char *file);
/* Runs f(arg) for a process whose memory f touches. f gets a copy of the n bytes at arg, which is
 * copied back; of what it opens it leaves nothing open. Returns what f does, 0 or -errno. */
int apart_call(pid_t pid, int (*f)(void *arg), void *arg, size_t n);

/* SPDX-License-Identifier: MIT */
/* Memory of a process whose pages another process fills: mappings of files of FUSE. Who touches it
 * may wait for ever, and not even SIGKILL ends that wait. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct served_range { uint64_t start, end; };

struct served {
	bool looked;
	int pages;         /* the process's pagemap, or -1: there is nothing served */
	long long left_ms; /* for all waits together; then such memory is as if unmapped */
	VEC(struct served_range) ranges;
};

/* Notes the mappings as they are now. If they cannot be read all memory is served. Any thread. */
void served_look(struct served *s, pid_t pid);
bool served_has(const struct served *s, uint64_t at, uint64_t bytes);
/* Transfer bytes of served memory by fd, /proc/PID/mem, in an aside. Return how many; fewer where
 * a page is not there, is not in memory (then its server would be asked), or no time is left. */
size_t served_read(struct served *s, int fd, uint64_t at, void *bytes, size_t n);
size_t served_write(struct served *s, int fd, uint64_t at, const void *bytes, size_t n);
void served_free(struct served *s);

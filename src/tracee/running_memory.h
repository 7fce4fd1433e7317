/* SPDX-License-Identifier: MIT */
/* Memory of a process that runs. It may have mapped a file that another process serves, or a page
 * that one fills: who reads there waits as long as they like, and while somebody waits in a served
 * file the kernel lets nobody change the process's mappings, or look at them. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUNNING_MEMORY_MOST 4096u /* bytes that one call reads */
#define RUNNING_MEMORY_MS 500     /* that it waits for a page at most */
/* So many waits in vain, and no memory is read until RUNNING_MEMORY_AGAIN_MS have passed for one:
 * a hostile process takes a twentieth of the time, and others are read again. */
#define RUNNING_MEMORY_IN_VAIN 8u
#define RUNNING_MEMORY_AGAIN_MS 10000

/* Copies up to n bytes (RUNNING_MEMORY_MOST at most) of the process's memory at `address` to `to`.
 * Returns how many there are up to the first that cannot be read: 0 if the process may not be
 * looked at, if a page is served and not in memory, if one does not come in time, or if no process
 * can be made here. Any thread. */
size_t running_memory_read(pid_t pid, uint64_t address, void *to, size_t n);

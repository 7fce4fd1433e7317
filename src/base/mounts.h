/* SPDX-License-Identifier: MIT */
/* The mounts that a process serves (FUSE): reading there waits for that process. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* False: mounted in brace's own namespace, and the kernel's, or a network's, which only root mounts
 * there. True: FUSE, or mounted elsewhere, where programs mount what they like. id: of statx, of a
 * mount that somebody keeps from going (by a descriptor). Asks no file system. Any thread. */
bool mounts_is_served(uint64_t id);
/* Whether a process serves the file system of this device, as /proc/PID/maps of process pid has it.
 * Its mount is looked for where brace is and where the process is. A file system that is mounted
 * nowhere (any more) counts as served, unless it is that of anonymous files. Asks no file system.
 * Any thread. */
bool mounts_device_is_served(dev_t device, pid_t pid);

/* SPDX-License-Identifier: MIT */
/* Adds a name to /proc/sys/kernel, for view.c. Nothing can be added to /proc, so a directory of our
 * own covers it, with a link to each of the kernel's files, and an empty file over which another
 * one can be mounted. */
#pragma once
#include "base/err.h"

/* Path of the kernel's own directory afterwards. */
#define VIEW_SYSCTL "/proc/sys/kernel"
#define VIEW_SYSCTL_OWN VIEW_SYSCTL "/.kernel"

/* Only in a mount namespace of the caller's own, in a process with one thread. 0, or -errno and
 * *err; then /proc/sys/kernel is unchanged. */
int view_sysctl_add(const char *name, struct err *err);

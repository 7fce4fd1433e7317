/* SPDX-License-Identifier: MIT */
/* The directory that a tree is mounted on: whether it can be, and unmounting. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Our mounts in /proc/self/mountinfo have these. */
#define MOUNT_SOURCE "brace"
#define MOUNT_SUBTYPE "tracefs"
#define MOUNT_TYPE "fuse." MOUNT_SUBTYPE

/* Whether a tree can be mounted on dir: an empty directory with nothing mounted on it. A dead mount
 * that a killed brace left is removed first. 0 and its absolute path (free() it), or -errno and
 * *err. */
int mount_point_take(const char *dir, char **path, struct err *err);
/* Unmounts the tree on dir. -EBUSY while it is in use, unless `lazy`: then it goes out of sight at
 * once, and open files see their end. -EINVAL: there is no tree of ours. */
int mount_point_leave(const char *dir, bool lazy, struct err *err);

/* Sets *err to why /dev/fuse cannot be opened, by errno. Returns -code. */
int mount_point_no_device(int code, struct err *err);

/* Whether a mount of ours is on this absolute path, on top or below another. /proc/self/mountinfo
 * becomes readable (POLLPRI) when that may have changed. */
bool mount_point_is_mounted(const char *path);
/* Whether it is a mount of ours whose server is gone. `path` is absolute. */
bool mount_point_is_dead(const char *path);
/* Unmounts whatever is on this absolute path. 0, or -errno and *err. */
int mount_point_release(const char *path, bool lazy, struct err *err);

/* Finds the mount on `path` in the text of a mountinfo file, and gives its type and source. False:
 * none. The last one counts, because it lies on top. */
bool mount_point_find(const char *mountinfo, const char *path, char type[64], char source[64]);

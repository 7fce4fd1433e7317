/* SPDX-License-Identifier: MIT */
/* The directory a tree is mounted on: whether it can be, and taking the mount away. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* What stands in /proc/self/mountinfo for ours. */
#define MOUNT_SOURCE "brace"
#define MOUNT_SUBTYPE "tracefs"
#define MOUNT_TYPE "fuse." MOUNT_SUBTYPE

/* Whether a tree can be mounted on dir: an empty directory, nothing mounted there. What a killed brace left
 * is taken away first. 0 and its absolute path (free() it), or -errno and *err. */
int mount_point_take(const char *dir, char **path, struct err *err);
/* Unmounts the tree on dir. -EBUSY while it is in use, unless `lazy`: then it goes out of sight at once, and who
 * has files open sees their end. -EINVAL: there is no tree of ours. */
int mount_point_leave(const char *dir, bool lazy, struct err *err);

/* Why /dev/fuse cannot be opened, by errno. Returns -code. */
int mount_point_no_device(int code, struct err *err);

/* A mount of ours is on this absolute path, on top or below another. /proc/self/mountinfo is ready (POLLPRI) when
 * that may have changed. */
bool mount_point_is_mounted(const char *path);
/* A mount of ours whose server is gone. `path` is absolute. */
bool mount_point_is_dead(const char *path);
/* Unmounts whatever is on this absolute path. */
int mount_point_release(const char *path, bool lazy, struct err *err);

/* The mount on `path` in the text of a mountinfo file; type and source as there. False: none. The last one counts,
 * it lies on top. */
bool mount_point_find(const char *mountinfo, const char *path, char type[64], char source[64]);

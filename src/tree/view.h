/* SPDX-License-Identifier: MIT */
/* Where unmodified tools look: a private mount namespace (and, for who may not make one, a user namespace around it)
 * in which the tree stands at /sys/kernel/tracing, and what such tools want of files beside it is right. Nobody else
 * sees it, and it is gone with the last process in it. */
#pragma once
#include "base/err.h"

#define VIEW_DIRECTORY "/sys/kernel/tracing"
#define VIEW_DEBUGFS "/sys/kernel/debug" /* here too, in its directory tracing */

/* Takes the calling process (of one thread) into new namespaces. *fuse: the connection, to be served by another
 * process, outside: fuse_face_mount with "/dev/fd/N". The user stays the same. 0, or -errno and *err. */
int view_enter(int *fuse, struct err *err);
/* Once it is served, or about to be: files of the tree that stand elsewhere too. */
int view_finish(struct err *err);

/* The text of /proc/mounts as libtracefs must see it: the first mount of type tracefs is on VIEW_DIRECTORY. NULL: it is so
 * already; else free() it. */
char *view_mounts(const char *mounts);

/* SPDX-License-Identifier: MIT */
/* The place where unmodified tools look: a private mount namespace (and, for a user who may not
 * make one, a user namespace around it) in which the tree is at /sys/kernel/tracing, and other
 * files that such tools read are as they expect. No other process sees it, and it disappears with
 * its last process. */
#pragma once
#include "base/err.h"

#define VIEW_DIRECTORY "/sys/kernel/tracing"
#define VIEW_DEBUGFS "/sys/kernel/debug" /* here too, in its directory tracing */

/* Takes the calling process, which has one thread, into new namespaces. *fuse: the connection, to
 * be served by another process outside: fuse_mount_start with "/dev/fd/N". The user stays the same.
 * 0, or -errno and *err. */
int view_enter(int *fuse, struct err *err);
/* Makes files of the tree appear at other paths too, once the tree is served or about to be. 0, or
 * -errno and *err. */
int view_finish(struct err *err);

/* Returns the text of /proc/mounts as libtracefs must see it: the first mount of type tracefs is on
 * VIEW_DIRECTORY, and no line before has the word. free() it. NULL: it is so already. */
char *view_mounts(const char *mounts);

/* SPDX-License-Identifier: MIT */
/* The tree as a mounted directory, through libfuse's low-level interface.
 *
 * A read of trace_pipe that must wait holds no thread: the request is kept until there is data, or
 * until the reader is interrupted. Texts are made when a file is opened and are also put into the
 * kernel's page cache, because programs that copy by sendfile(2) or splice(2) look only there. */
#pragma once
#include "tree/tree.h"

struct fuse_mount;

/* Mounts the tree on dir: an absolute path that mount_point_take accepted, or "/dev/fd/N", a
 * connection that is mounted already and belongs to the mount from then on. Prints nothing;
 * standard error is redirected for a moment to catch what fusermount3 says, so that no other thread
 * may write there. 0, or -errno and *err. */
int fuse_mount_start(struct tree *t, const char *dir, struct fuse_mount **out, struct err *err);
/* Serves until the directory is unmounted or fuse_mount_stop is called. The threads that it starts
 * block all signals. 0, or -errno and *err: no thread could be started. */
int fuse_mount_serve(struct fuse_mount *f, struct err *err);
/* Ends fuse_mount_serve. From any thread or signal handler. */
void fuse_mount_stop(struct fuse_mount *f);
/* Unmounts if it is still mounted, and frees. Readers that wait get the end of the file; other open
 * files return errors from then on. */
void fuse_mount_free(struct fuse_mount *f);

/* SPDX-License-Identifier: MIT */
/* The tree as a mounted directory, by libfuse's low-level interface.
 *
 * A read of trace_pipe that must wait holds no thread: the request is kept until there is something, or
 * until the reader is interrupted. Texts are made when a file is opened and are also put into the kernel's
 * page cache, because programs that copy by sendfile(2) or splice(2) look only there. */
#pragma once
#include "tree/tree.h"

struct fuse_face;

/* Mounts the tree on dir (an absolute path that mount_point_take found fit; or "/dev/fd/N", a connection that
 * is mounted already, which is the face's from then on). Prints nothing; standard error
 * is borrowed for a moment to catch what fusermount3 says, so no other thread may write there meanwhile.
 * 0, or -errno and *err. */
int fuse_face_mount(struct tree *t, const char *dir, struct fuse_face **out, struct err *err);
/* Serves until the directory is unmounted or fuse_face_stop. The threads it starts take no signals. */
int fuse_face_serve(struct fuse_face *f, struct err *err);
/* From any thread or signal handler. */
void fuse_face_stop(struct fuse_face *f);
/* Unmounts if it still is mounted: readers that wait see the end of the file, who has a file open gets
 * errors from then on. */
void fuse_face_free(struct fuse_face *f);

/* SPDX-License-Identifier: MIT */
/* Files that a user asks for by name, in a directory that others may write to. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Opens a file for writing from its start. The caller's own regular file of that name is replaced
 * by a new one (mode 0600); a device or FIFO is written as it is; a symbolic link and another
 * user's file are refused. `what` ("trace file") names it in errors. *is_ours: the file was made
 * here and may be removed. Returns a descriptor to close, or -errno and *err. */
int new_file(const char *path, const char *what, bool *is_ours, struct err *err);

/* Opens a file that has no name, in $TMPDIR, or where its file system cannot make one, in memory.
 * Returns a descriptor to close, or -1 and errno. */
int new_file_nameless(void);

/* A file or directory that has its name only when it is whole. Until then it stands beside it under
 * a temporary one. If memory runs out before, it is removed. */
struct whole_file {
	const char *path, *what;  /* the caller's */
	char *temporary;          /* NULL: a device or FIFO, which is written as it is */
	int fd;                   /* of a file; -1: none */
};

/* Begins a file (mode 0600). What stands under the name is judged as by new_file(). Returns f->fd,
 * or -errno and *err. */
int new_file_begin(struct whole_file *f, const char *path, const char *what, struct err *err);
/* Gives the open file its name already, and keeps it whatever comes. If that fails, new_file_end()
 * tries again, and tells. */
void new_file_name(struct whole_file *f);
/* Closes the file and gives it its name; without `keep`, or if that fails, removes it. 0, or -errno
 * and *err. */
int new_file_end(struct whole_file *f, bool keep, struct err *err);
#define NEW_DIRECTORY_LEVELS 2
/* Two functions for a directory (mode 0700), f->temporary meanwhile, which may have files and
 * NEW_DIRECTORY_LEVELS of directories in each other. An empty one of the name is replaced; anything
 * else under the name is refused. */
int new_directory_begin(struct whole_file *f, const char *path, const char *what, struct err *err);
int new_directory_end(struct whole_file *f, bool keep, struct err *err);
/* Removes such a directory, and what it has. */
void new_directory_remove(const char *path);

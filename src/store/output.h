/* SPDX-License-Identifier: MIT */
/* The file being written. It is created without following a link or overwriting anybody else's
 * file, and written in order without seeking, so that a pipe will do. Not locked. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct output {
	int fd;
	char *path;
	char *old;           /* where the trace is now that had its name; NULL: there was none */
	bool regular;   /* we created it, so that we may remove it */
	uint64_t bytes; /* written */
	uint64_t limit; /* more than this is not written: -EFBIG; 0: no limit */
};

/* Creates the file. 0, or -errno and *err as new_file (base/new_file.h). */
int output_open(struct output *o, const char *path, struct err *err);
/* The file has another name now. What had the first one keeps the name that it was given. */
void output_renamed(struct output *o, const char *path);
/* Writes all n bytes or fails; raises no signal. 0, or -errno and *err. */
int output_write(struct output *o, const void *p, size_t n, struct err *err);
/* Cuts a regular file to `bytes`, where the next write goes. -errno if it cannot. */
int output_cut(struct output *o, uint64_t bytes);
/* Closes; `keep` false removes the file if we created it. -errno and *err if close reports that a
 * write failed. */
int output_close(struct output *o, bool keep, struct err *err);

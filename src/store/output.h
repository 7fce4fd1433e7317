/* SPDX-License-Identifier: MIT */
/* The file being written: created without following or overwriting anybody else's, written
 * in order, never sought in, so a pipe will do. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct output {
	int fd;
	char *path;
	bool regular;   /* we made it, so we may remove it */
	uint64_t bytes; /* written */
};

/* The errors are new_file's (base/new_file.h). */
int output_open(struct output *o, const char *path, struct err *err);
/* All of it or an error; raises no signal. */
int output_write(struct output *o, const void *p, size_t n, struct err *err);
/* A regular file ends there from now on; -errno if it cannot. */
int output_cut(struct output *o, uint64_t bytes);
/* Closes; `keep` false removes the file if we made it. -errno if what was written is not safe. */
int output_close(struct output *o, bool keep, struct err *err);

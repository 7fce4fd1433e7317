/* SPDX-License-Identifier: MIT */
/* Several streams of bytes that grow at the same time and are read one after another: the threads
 * of a format that wants each by itself. A stream has one block in memory, and the others in a file
 * without a name. Private to src/export. */
#pragma once
#include "base/err.h"
#include "base/vec.h"

#include <stdint.h>

#define PARTS_BLOCK 4096

struct one_part {
	VEC(uint32_t) blocks;  /* their numbers in the file */
	char *block;           /* the last one, not full */
	size_t n;
};

struct parts {
	int fd;                /* -1: not made yet */
	uint32_t blocks;
	VEC(struct one_part) all;
};

/* Parts without a stream; the file is made at need. parts_free() frees what is added. */
static inline struct parts parts_none(void)
{
	return (struct parts){ .fd = -1 };
}
/* Appends to a stream, making it at need. 0, or -errno and *err: there is no room. */
int parts_add(struct parts *f, uint32_t part, const void *bytes, size_t n,
	      struct err *err);
/* Gives all bytes of a stream, in order, by blocks of PARTS_BLOCK and a rest. 0, or what `take`
 * returned, or -errno and *err. */
int parts_read(const struct parts *f, uint32_t part,
	       int (*take)(void *arg, const char *bytes, size_t n), void *arg, struct err *err);
/* Number of bytes in a stream. */
uint64_t parts_size(const struct parts *f, uint32_t part);
void parts_free(struct parts *f);

/* SPDX-License-Identifier: MIT */
/* A growing array in a file without a name, in $TMPDIR: the calls of a long trace need not fit into
 * memory. Private to src/query. */
#pragma once
#include <stddef.h>

#include "base/err.h"

struct array_file {
	void *at;     /* moves when the array grows */
	size_t bytes; /* used */
	size_t rested; /* of them, those that array_file_reserve() has let go */
	size_t size;  /* of the file, and mapped */
	int fd;
};

/* Makes room for n more bytes behind those in use. 0, or -errno and *err (ENOSPC, ...). A zeroed
 * struct is empty, once fd is -1. */
int array_file_reserve(struct array_file *s, size_t n, struct err *err);
/* Adds n bytes that are uninitialised, which must have been reserved. Returns their address. */
static inline void *array_file_add(struct array_file *s, size_t n)
{
	void *to = (char *)s->at + s->bytes;

	s->bytes += n;
	return to;
}
/* Lets go of the memory under the bytes from `from` to `to`, as far as they are whole pages and
 * the array is large: nobody is about to need them. They stay in the file, and come back when they
 * are read. Any thread. */
void array_file_rest(const struct array_file *s, size_t from, size_t to);
/* Unmaps the array and closes the file, which is gone by that. Leaves *s empty, as for a first
 * use. */
void array_file_free(struct array_file *s);

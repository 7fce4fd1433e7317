/* SPDX-License-Identifier: MIT */
/* One CPU's ring buffer (per_cpu/cpuN/trace_pipe_raw), read by the best way that the kernel has.
 * What was read is gone there. One thread at a time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* From the best to the one that every kernel has. */
enum kernel_ring_way {
	KERNEL_RING_MMAP,       /* Linux 6.10: the buffer's own pages, no system call for each */
	KERNEL_RING_SPLICE,     /* full pages move through a pipe, several in one call */
	KERNEL_RING_READ,       /* one call for each page */
};
#define KERNEL_RING_WAYS_N (KERNEL_RING_READ + 1)

struct kernel_ring_reader;

/* A page as kernel/pages.h reads it, valid during the call. from: records that begin before this
 * byte of the page's records were given before. */
typedef void kernel_ring_sink(void *context, const void *page, size_t n, size_t from);

/* best: no better way is tried. 0, or -errno and *err; the caller frees *out. */
int kernel_ring_open(const char *path, enum kernel_ring_way best, struct kernel_ring_reader **out,
		     struct err *err);
/* Gives what the ring has, but at most about `most` pages, because a traced program may write
 * faster than they are read. *more: it has not come to the end. 0, or -errno; a CPU that went away
 * has nothing. */
int kernel_ring_take(struct kernel_ring_reader *r, size_t most, kernel_ring_sink *sink,
		     void *context, bool *more);
/* The way that is used: "mmap", "splice" or "read". */
const char *kernel_ring_way_name(const struct kernel_ring_reader *r);
/* NULL is fine. */
void kernel_ring_close(struct kernel_ring_reader *r);

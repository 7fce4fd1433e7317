/* SPDX-License-Identifier: MIT */
/* A ring buffer of the kernel's that is mapped (linux/trace_mmap.h, Linux 6.10): a page that says
 * which sub-buffer is the reader's and how much of it was committed, and the sub-buffers. The bytes
 * may be anything (a fuzz target reads them): nothing outside of them is read. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The smallest page of the first sort that has all that is read here. */
#define KERNEL_RING_META_BYTES 32u
/* The greatest size of a sub-buffer, and of what kernel_ring_map_take() copies. */
#define KERNEL_RING_PAGE_BYTES 65536u

struct kernel_ring_map {
	const uint8_t *meta, *pages;    /* pages: NULL until they are mapped, too */
	uint32_t page_bytes, n_pages;   /* of the sub-buffers */
	/* Bytes of records that were taken last of this sub-buffer, known by its time stamp. */
	uint32_t id, taken;
	uint64_t tsc;
};

/* Reads the layout. *at, *n: where the sub-buffers lie in the file, and their bytes. False: it is
 * not known to this version of brace. meta has KERNEL_RING_META_BYTES and stays. */
bool kernel_ring_map_begin(struct kernel_ring_map *m, const void *meta, size_t *at, size_t *n);
/* Copies the reader's sub-buffer up to what was committed, as a page (kernel/pages.h), if there is
 * more in it than was taken before. Called after each TRACE_MMAP_IOCTL_GET_READER, since the kernel
 * changes neither the page nor the copied bytes until the next one. *n: bytes; *from: records
 * that begin before this byte of the page's records were taken before. False: there is nothing. */
bool kernel_ring_map_take(struct kernel_ring_map *m, uint8_t out[static KERNEL_RING_PAGE_BYTES],
			  size_t *n, size_t *from);

/* SPDX-License-Identifier: MIT */
/* The writer may still append to the reader's sub-buffer, so that its own count of bytes is no
 * measure: the mapped page says how much the kernel takes for read. Called by ring_reader.c, on its
 * thread. A layout that is not known to this brace is false. */
#include "kernel/ring_map.h"

#include <string.h>

#include "kernel/pages.h"

/* Offsets in the mapped page. */
enum { META_BYTES = 0, PAGE_BYTES = 8, N_PAGES = 12, READER_ID = 24, READER_READ = 28 };

/* The sub-buffers of a buffer of 1 TiB; more cannot be mapped. */
#define PAGES_MOST (1u << 28)

static uint32_t u32_at(const uint8_t *bytes, size_t offset)
{
	uint32_t v;

	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

static uint64_t u64_at(const uint8_t *bytes, size_t offset)
{
	uint64_t v;

	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

/* False if the layout cannot be right: kernel_ring_map_take() does not check it again. */
bool kernel_ring_map_begin(struct kernel_ring_map *m, const void *meta, size_t *at, size_t *n)
{
	*m = (struct kernel_ring_map){ .meta = meta, .page_bytes = u32_at(meta, PAGE_BYTES),
				       .n_pages = u32_at(meta, N_PAGES), .id = UINT32_MAX };
	*at = u32_at(meta, META_BYTES);
	*n = (size_t)m->page_bytes * m->n_pages;
	return *at >= KERNEL_RING_META_BYTES && m->page_bytes > KERNEL_PAGE_HEADER &&
	       m->page_bytes <= KERNEL_RING_PAGE_BYTES && m->n_pages && m->n_pages < PAGES_MOST;
}

/* A count of missing records stands behind the records: it is copied, too, if it has room. */
static size_t copied_bytes(const struct kernel_ring_map *m, uint32_t read)
{
	const size_t n = KERNEL_PAGE_HEADER + read + sizeof(uint64_t);

	return n < m->page_bytes ? n : m->page_bytes;
}

/* The kernel uses a page again: only with its number and its time is it the one of which `taken`
 * bytes were given. */
bool kernel_ring_map_take(struct kernel_ring_map *m, uint8_t out[static KERNEL_RING_PAGE_BYTES],
			  size_t *n, size_t *from)
{
	const uint32_t id = u32_at(m->meta, READER_ID), read = u32_at(m->meta, READER_READ);
	const uint8_t *page;
	uint64_t tsc;

	if (id >= m->n_pages || read > m->page_bytes - KERNEL_PAGE_HEADER)
		return false;
	page = m->pages + (size_t)id * m->page_bytes;
	tsc = u64_at(page, 0);
	*from = id == m->id && tsc == m->tsc ? m->taken : 0;
	if (read <= *from)
		return false;
	m->id = id;
	m->tsc = tsc;
	m->taken = read;
	*n = copied_bytes(m, read);
	memcpy(out, page, *n);
	kernel_page_cut(out, read, *from == 0);
	return true;
}

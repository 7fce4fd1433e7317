/* SPDX-License-Identifier: MIT */
/* The three ways, each of which gives the same pages. Called by rings.c, on the thread that takes
 * records. A way that the kernel refuses is left for the next one without a word: which one it is
 * can be asked for. */
#include "kernel/ring_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "kernel/ring_map.h"

/* linux/trace_mmap.h, which Debian 12 does not have. */
#define GET_READER _IO('R', 0x20)
#define PIPE_BYTES (1 << 20)

struct kernel_ring_reader {
	enum kernel_ring_way way;
	int fd;
	int pipe_fd;            /* splice: another opening, because a read moves the position */
	int pipe[2];
	size_t system_page;
	struct kernel_ring_map map;
	void *meta;             /* mapped; NULL: not */
	size_t pages_bytes;
	size_t left;            /* pages that may still be given in this pass */
	uint8_t page[KERNEL_RING_PAGE_BYTES];
};

/* --- mmap --------------------------------------------------------------------------------- */

static void unmap(struct kernel_ring_reader *r)
{
	if (r->map.pages)
		munmap((void *)r->map.pages, r->pages_bytes);
	if (r->meta)
		munmap(r->meta, r->system_page);
	r->map.pages = NULL;
	r->meta = NULL;
}

/* Rings can be mapped since Linux 6.10; before, mmap(2) fails, and another way is chosen. */
static bool map_ring(struct kernel_ring_reader *r)
{
	void *meta = mmap(NULL, r->system_page, PROT_READ, MAP_SHARED, r->fd, 0), *pages;
	size_t at;

	if (meta == MAP_FAILED)
		return false;
	r->meta = meta;
	if (kernel_ring_map_begin(&r->map, meta, &at, &r->pages_bytes)) {
		pages = mmap(NULL, r->pages_bytes, PROT_READ, MAP_SHARED, r->fd, (off_t)at);
		r->map.pages = pages == MAP_FAILED ? NULL : pages;
	}
	if (!r->map.pages)
		unmap(r);
	return r->map.pages != NULL;
}

/* Each call of the kernel takes what its page had for read, and turns to the next. */
static int take_mapped(struct kernel_ring_reader *r, kernel_ring_sink *sink, void *context)
{
	size_t n, from;

	for (; r->left; r->left--) {
		if (ioctl(r->fd, GET_READER) < 0)
			return -errno;
		if (!kernel_ring_map_take(&r->map, r->page, &n, &from))
			break;
		sink(context, r->page, n, from);
	}
	return 0;
}

/* --- read --------------------------------------------------------------------------------- */

static int take_read(struct kernel_ring_reader *r, kernel_ring_sink *sink, void *context)
{
	while (r->left) {
		ssize_t n = read(r->fd, r->page, sizeof(r->page));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		sink(context, r->page, (size_t)n, 0);
		r->left--;
	}
	return 0;
}

/* --- splice ------------------------------------------------------------------------------- */

static bool open_pipe(struct kernel_ring_reader *r, const char *path)
{
	if (pipe2(r->pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	/* A smaller pipe holds fewer pages, and does, too. */
	fcntl(r->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	r->pipe_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return r->pipe_fd >= 0;
}

static int empty_pipe(struct kernel_ring_reader *r, size_t n, kernel_ring_sink *sink, void *context)
{
	while (n) {
		ssize_t got = read(r->pipe[0], r->page, r->system_page);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		sink(context, r->page, (size_t)got, 0);
		n -= (size_t)got < n ? (size_t)got : n;
		r->left -= r->left != 0;
	}
	return 0;
}

/* Only full pages are spliced; the last one is read. */
static int take_spliced(struct kernel_ring_reader *r, kernel_ring_sink *sink, void *context)
{
	int e = 0;

	while (!e && r->left) {
		ssize_t n = splice(r->pipe_fd, NULL, r->pipe[1], NULL, PIPE_BYTES,
				   SPLICE_F_NONBLOCK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		e = empty_pipe(r, (size_t)n, sink, context);
	}
	return e ? e : take_read(r, sink, context);
}

/* ------------------------------------------------------------------------------------------ */

/* Each way falls back on the next: read(2) works with every kernel. */
static enum kernel_ring_way choose_way(struct kernel_ring_reader *r, const char *path,
				       enum kernel_ring_way best)
{
	if (best == KERNEL_RING_MMAP && map_ring(r))
		return KERNEL_RING_MMAP;
	return best != KERNEL_RING_READ && open_pipe(r, path) ? KERNEL_RING_SPLICE
							      : KERNEL_RING_READ;
}

int kernel_ring_open(const char *path, enum kernel_ring_way best, struct kernel_ring_reader **out,
		     struct err *err)
{
	struct kernel_ring_reader *r;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, errno, "cannot read %s: %s", path, strerror(errno));
	r = mem_zalloc(sizeof(*r));
	r->fd = fd;
	r->pipe_fd = r->pipe[0] = r->pipe[1] = -1;
	r->system_page = (size_t)sysconf(_SC_PAGESIZE);
	r->way = choose_way(r, path, best);
	*out = r;
	return 0;
}

int kernel_ring_take(struct kernel_ring_reader *r, size_t most, kernel_ring_sink *sink,
		     void *context, bool *more)
{
	static int (*const take[KERNEL_RING_WAYS_N])(struct kernel_ring_reader *,
						     kernel_ring_sink *, void *) = {
		[KERNEL_RING_MMAP] = take_mapped,
		[KERNEL_RING_SPLICE] = take_spliced,
		[KERNEL_RING_READ] = take_read,
	};
	int e;

	r->left = most;
	e = take[r->way](r, sink, context);
	*more = !e && !r->left;
	return e == -EAGAIN || e == -ENODEV ? 0 : e;
}

const char *kernel_ring_way_name(const struct kernel_ring_reader *r)
{
	static const char *const names[] = { "mmap", "splice", "read" };

	return names[r->way];
}

void kernel_ring_close(struct kernel_ring_reader *r)
{
	if (!r)
		return;
	unmap(r);
	for (int i = 0; i < 2; i++)
		if (r->pipe[i] >= 0)
			close(r->pipe[i]);
	if (r->pipe_fd >= 0)
		close(r->pipe_fd);
	close(r->fd);
	free(r);
}

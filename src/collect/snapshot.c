/* SPDX-License-Identifier: MIT */
/* Called by `brace recover`, on its only thread. Nothing stops the program while its memory is
 * copied: so the descriptors are read, then the sub-buffers that they speak of, then the
 * descriptors again. A copy counts if its sub-buffer was the same thread's, with the same sequence
 * number, before and after. In overwrite mode a thread says which sub-buffers it throws away before
 * it zeroes them: the second reading counts. A memory that cannot be read, or is no session memory,
 * is -errno and a sentence. */
#include "collect/snapshot.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arch/page.h"
#include "base/aside.h"
#include "base/aside_io.h"
#include "base/mem.h"

#define THREADS_MOST (1u << 20)
#define BUFFERS_MOST (1u << 22) /* 256 GiB of them */
#define COPY_MS 60000 /* for all sub-buffers */
#define LISTEN_NS 200000000 /* two heartbeats of a living tracer, which come every 100 ms */

/* All n bytes, or -errno and *err. The program may put a page there that is never filled, hence the
 * aside. */
static int read_all(int fd, uint64_t at, void *to, size_t n, struct err *err)
{
	bool silent = false;

	if (aside_io_read(fd, -1, at, to, n, ASIDE_MS, &silent) == n)
		return 0;
	return err_set(err, EIO, "cannot read the session memory of the process: it %s",
		       silent ? "does not come" : "ends early");
}

/* Whether n elements of `each` bytes fit between `at` and `end`. */
static bool array_fits(uint64_t at, uint64_t n, uint64_t each, uint64_t end)
{
	return at <= end && at % 8 == 0 && n * each <= end - at;
}

/* Whether the header can be a session memory's: every part lies within `size`. */
static bool is_sound(const struct memory_header *h, uint64_t size)
{
	const struct memory_layout *l = &h->layout;

	return h->magic == MEMORY_MAGIC && h->version == MEMORY_VERSION && l->threads_max > 0 &&
	       l->threads_max <= THREADS_MOST && l->buffers_max > 0 &&
	       l->buffers_max <= BUFFERS_MOST && l->threads_at >= sizeof(*h) &&
	       array_fits(l->threads_at, l->threads_max, sizeof(struct memory_thread),
			  l->descs_at) &&
	       array_fits(l->descs_at, l->buffers_max, sizeof(struct memory_desc), l->buffers_at) &&
	       array_fits(l->buffers_at, l->buffers_max, MEMORY_BUFFER_BYTES, size);
}

/* Makes a copy of the same layout in memory of our own, whose pages are only taken as they are
 * filled; shared with the aside that fills it. */
static int make_room(const struct memory_header *h, uint64_t size, struct shared_memory *out,
		     struct err *err)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return err_set(err, errno, "no room for a copy of %llu bytes of session memory: %s",
			       (unsigned long long)size, strerror(errno));
	memcpy(at, h, sizeof(*h));
	*out = (struct shared_memory){
		/* fd -1: no file stands behind it, so touched pages are not known. */
		.fd = -1, .header = (void *)at, .threads = (void *)(at + h->layout.threads_at),
		.descs = (void *)(at + h->layout.descs_at),
		.buffers = (void *)(at + h->layout.buffers_at),
		.layout = h->layout, .settings = h->settings,
	};
	out->layout.size = size;
	return 0;
}

/* One reading of the descriptors of threads and sub-buffers. */
struct snapshot_look {
	struct memory_thread *threads;
	struct memory_desc *descs;
};

/* Reads as many descriptors as the copy's header says: those that came later have no room in it. */
static int look_at_memory(int fd, uint64_t at, const struct shared_memory *m,
			  struct snapshot_look *l, struct err *err)
{
	uint64_t threads_at = (uint64_t)((char *)m->threads - (char *)m->header);
	uint64_t descs_at = (uint64_t)((char *)m->descs - (char *)m->header);
	int r = read_all(fd, at + threads_at, l->threads,
			 shared_memory_threads(m) * sizeof(l->threads[0]), err);

	return r ? r
		 : read_all(fd, at + descs_at, l->descs,
			    shared_memory_used(m) * sizeof(l->descs[0]), err);
}

/* A sub-buffer that is being filled counts: its words end where the thread has come to. */
static bool holds_records(const struct memory_desc *d)
{
	return d->state == MEMORY_FULL || d->state == MEMORY_FILLING;
}

struct copy_work {
	int fd;
	uint64_t at;
	const struct shared_memory *m;
	bool failed;
};

/* The copy has zeros already, which take no memory: a hole of a file may be larger than the
 * machine's. */
static void keep_page(uint8_t *to, const uint8_t *page)
{
	if (page[0] || memcmp(page, page + 1, ARCH_PAGE - 1))
		memcpy(to, page, ARCH_PAGE);
}

/* One sub-buffer, read as a whole. */
static bool copy_one(const struct copy_work *w, uint32_t i)
{
	const uint64_t from = w->at + (uint64_t)((char *)w->m->buffers - (char *)w->m->header) +
			      (uint64_t)i * MEMORY_BUFFER_BYTES;
	uint8_t *to = (uint8_t *)shared_memory_words(w->m, i), bytes[MEMORY_BUFFER_BYTES];

	for (size_t done = 0; done < MEMORY_BUFFER_BYTES;) {
		ssize_t r = pread(w->fd, bytes + done, MEMORY_BUFFER_BYTES - done,
				  (off_t)(from + done));

		if (r <= 0)
			return false;
		done += (size_t)r;
	}
	for (size_t page = 0; page < MEMORY_BUFFER_BYTES; page += ARCH_PAGE)
		keep_page(to + page, bytes + page);
	return true;
}

/* In the aside. is_whole() tells later which copies count. */
static void copy_all(void *work)
{
	struct copy_work *w = work;

	for (uint32_t i = 0; i < shared_memory_used(w->m) && !w->failed; i++)
		if (holds_records(&w->m->descs[i]))
			w->failed = !copy_one(w, i);
}

static int copy_buffers(int fd, uint64_t at, const struct shared_memory *m, struct err *err)
{
	struct copy_work w = { .fd = fd, .at = at, .m = m };
	int r = aside_run(copy_all, &w, sizeof(w), COPY_MS);

	return r == 0 && !w.failed ? 0
				   : err_set(err, r < 0 ? -r : EIO,
					     "cannot read the session memory of the process: %s",
					     r < 0 ? strerror(-r) : "it ends early");
}

/* Whether the copy of sub-buffer i is what its thread had written there. */
static bool is_whole(const struct shared_memory *m, uint32_t i, const struct snapshot_look *again)
{
	const struct memory_desc *was = &m->descs[i], *is = &again->descs[i];

	return holds_records(is) && is->seq == was->seq && is->thread == was->thread &&
	       was->thread < shared_memory_threads(m);
}

/* Frees copies that are not whole, and takes over the losses as they were after the copy. */
static void leave_out_what_changed(struct shared_memory *m, const struct snapshot_look *again)
{
	for (uint32_t i = 0; i < shared_memory_used(m); i++)
		if (!is_whole(m, i, again))
			m->descs[i].state = MEMORY_FREE;
	for (uint32_t i = 0; i < shared_memory_threads(m); i++) {
		memcpy(m->threads[i].overwritten, again->threads[i].overwritten,
		       sizeof(m->threads[i].overwritten));
		m->threads[i].first_seq = again->threads[i].first_seq;
	}
}

int snapshot_take(int fd, uint64_t at, uint64_t size, struct shared_memory *out, struct err *err)
{
	struct memory_header h;
	struct snapshot_look again;
	int r = size < sizeof(h) ? -EPROTO : read_all(fd, at, &h, sizeof(h), err);

	*out = (struct shared_memory){ .fd = -1 };
	if (r == -EPROTO || (r == 0 && !is_sound(&h, size)))
		return err_set(
			err, EPROTO,
			"the session memory is of another version of brace, or the program spoiled it");
	if (r == 0)
		r = make_room(&h, size, out, err);
	if (r)
		return r;
	r = look_at_memory(fd, at, out, &(struct snapshot_look){ out->threads, out->descs }, err);
	if (r == 0)
		r = copy_buffers(fd, at, out, err);
	again.threads = mem_realloc(NULL, shared_memory_threads(out) + 1, sizeof(again.threads[0]));
	again.descs = mem_realloc(NULL, shared_memory_used(out) + 1, sizeof(again.descs[0]));
	if (r == 0)
		r = look_at_memory(fd, at, out, &again, err);
	if (r == 0)
		leave_out_what_changed(out, &again);
	free(again.threads);
	free(again.descs);
	if (r)
		snapshot_free(out);
	return r;
}

void snapshot_free(struct shared_memory *m)
{
	if (m->header)
		munmap(m->header, m->layout.size);
	m->header = NULL;
}

/* 0 also where it cannot be read: two failures are no heartbeat. */
static uint64_t read_heartbeat(int fd, uint64_t at)
{
	uint64_t n = 0;

	return read_all(fd, at + offsetof(struct memory_header, heartbeat), &n, sizeof(n), NULL)
		       ? 0
		       : n;
}

bool snapshot_is_attended(int fd, uint64_t at)
{
	uint64_t before = read_heartbeat(fd, at);

	nanosleep(&(struct timespec){ 0, LISTEN_NS }, NULL);
	return read_heartbeat(fd, at) != before;
}

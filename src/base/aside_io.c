/* SPDX-License-Identifier: MIT */
/* Called by tracee/served.c for pages of served files, and by whoever reads a process that runs, on
 * any thread. Where no aside can be made nothing is transferred. */
#include "base/aside_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/mem.h"

#define MOST ((size_t)4 << 20) /* bytes of one aside */

struct transfer {
	int fd, pages;
	bool put;
	uint64_t at;
	size_t n, done;
	uint8_t bytes[];
};

#define PAGE 4096
#define IN_MEMORY (UINT64_C(3) << 62) /* pagemap's bits: present, or swapped */

/* Whether the page is in memory, or was, and nobody but the kernel has it to bring in. A page that
 * the process has written to is never its file's again. */
static bool is_there(const struct transfer *t, uint64_t at)
{
	uint64_t entry;

	return t->pages < 0 || (pread(t->pages, &entry, sizeof(entry), (off_t)(at / PAGE * 8)) ==
					sizeof(entry) &&
				entry & IN_MEMORY);
}

/* In the aside: page by page. A call over several pages could hang in one that only a process
 * (userfaultfd) or a server would bring in: each is looked at just before it is read. */
static void transfer(void *work)
{
	struct transfer *t = work;
	ssize_t r;

	while (t->done < t->n && is_there(t, t->at + t->done)) {
		uint8_t *bytes = t->bytes + t->done;
		off_t at = (off_t)(t->at + t->done);
		size_t left = t->n - t->done, page = PAGE - (uint64_t)at % PAGE;

		if (t->pages >= 0 && left > page)
			left = page;
		r = t->put ? pwrite(t->fd, bytes, left, at) : pread(t->fd, bytes, left, at);
		if (r <= 0)
			return;
		t->done += (size_t)r;
	}
}

/* Transfers what one aside may take at once. Returns how many bytes it did. t->done was written in
 * the aside's copy of the memory: it is checked before it is a length here. */
static size_t run_transfer(struct transfer *t, unsigned ms, bool *silent)
{
	int r = aside_run(transfer, t, sizeof(*t) + t->n, ms);

	if (r == -ETIMEDOUT)
		*silent = true;
	return r == 0 && t->done <= t->n ? t->done : 0;
}

/* In pieces, each of which has ms of its own: a file that answers slowly is read to its end, one
 * that is silent costs one piece's time. Fewer bytes than n come back then, or at the file's
 * end. */
size_t aside_io_read(int fd, int pages, uint64_t at, void *bytes, size_t n, unsigned ms,
		     bool *silent)
{
	const size_t most = n < MOST ? n : MOST;
	struct transfer *t = mem_zalloc(sizeof(*t) + most);
	size_t done = 0;

	while (done < n) {
		t->fd = fd;
		t->pages = pages;
		t->at = at + done;
		t->n = n - done < most ? n - done : most;
		t->done = 0;
		size_t got = run_transfer(t, ms, silent);

		memcpy((uint8_t *)bytes + done, t->bytes, got);
		done += got;
		if (got < t->n)
			break;
	}
	free(t);
	return done;
}

size_t aside_io_write(int fd, int pages, uint64_t at, const void *bytes, size_t n, unsigned ms,
		      bool *silent)
{
	const size_t most = n < MOST ? n : MOST;
	struct transfer *t = mem_zalloc(sizeof(*t) + most);
	size_t done = 0;

	while (done < n) {
		*t = (struct transfer){ .fd = fd, .pages = pages, .put = true, .at = at + done };
		t->n = n - done < most ? n - done : most;
		memcpy(t->bytes, (const uint8_t *)bytes + done, t->n);
		size_t put = run_transfer(t, ms, silent);

		done += put;
		if (put < t->n)
			break;
	}
	free(t);
	return done;
}

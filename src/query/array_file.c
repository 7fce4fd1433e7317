/* SPDX-License-Identifier: MIT */
/* The files that hold a query's arrays. Space is allocated before it is mapped, so that a full disk
 * is an error here and not a SIGBUS later. Called by the loader and by indexes, on the query's
 * thread. */
#include "query/array_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/new_file.h"

#define ARRAY_FILE_MIN ((size_t)1 << 20)
#define ARRAY_FILE_STEP_MAX ((size_t)256 << 20)
#define ARRAY_FILE_WINDOW ((size_t)32 << 20) /* bytes behind the end that stay in memory */

/* Doubles small arrays, and lets big ones grow by steps. */
static size_t next_size(const struct array_file *s, size_t want)
{
	size_t step = s->size < ARRAY_FILE_MIN ? ARRAY_FILE_MIN : s->size;
	size_t size = s->size + (step < ARRAY_FILE_STEP_MAX ? step : ARRAY_FILE_STEP_MAX);

	return size > want ? size : (want + ARRAY_FILE_MIN - 1) & ~(ARRAY_FILE_MIN - 1);
}

/* The file's pages stay as the kernel keeps any file's: it writes them to the disk when memory is
 * wanted for something else, which it does later with pages that a process has mapped. */
void array_file_rest(const struct array_file *s, size_t from, size_t to)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	from = (from + page - 1) & ~(page - 1);
	to &= ~(page - 1);
	if (from < to && s->bytes >= 2 * ARRAY_FILE_WINDOW)
		madvise((char *)s->at + from, to - from, MADV_DONTNEED);
}

/* An array that is filled to its end is seldom read on the way. */
static void rest_behind(struct array_file *s)
{
	if (s->bytes - s->rested < 2 * ARRAY_FILE_WINDOW)
		return;
	array_file_rest(s, s->rested, s->bytes - ARRAY_FILE_WINDOW);
	s->rested = s->bytes - ARRAY_FILE_WINDOW;
}

/* Room for n bytes behind s->bytes. Growing may move the array, shrinking never happens. */
int array_file_reserve(struct array_file *s, size_t n, struct err *err)
{
	size_t size;
	void *at;
	int r;

	rest_behind(s);
	if (s->size - s->bytes >= n)
		return 0;
	if (s->fd < 0 && (s->fd = new_file_nameless()) < 0)
		return err_set(err, errno, "cannot make a temporary file: %s", strerror(errno));
	size = next_size(s, s->bytes + n);
	r = posix_fallocate(s->fd, (off_t)s->size, (off_t)(size - s->size));
	if (r)
		return err_set(err, r,
			       "no room for %zu MB of calls in a temporary file: %s (set TMPDIR to a directory that has it)",
			       size >> 20, strerror(r));
	/* The array may move: the callers keep numbers of rows and no addresses. */
	at = s->at ? mremap(s->at, s->size, size, MREMAP_MAYMOVE)
		   : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (at == MAP_FAILED)
		return err_set(err, errno, "cannot map %zu MB: %s", size >> 20, strerror(errno));
	s->at = at;
	s->size = size;
	return 0;
}

/* The file has no name: with its descriptor it is gone, as it is if brace is killed. */
void array_file_free(struct array_file *s)
{
	if (s->at)
		munmap(s->at, s->size);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct array_file){ .fd = -1 };
}

/* SPDX-License-Identifier: MIT */
/* Called by exporters on brace's only thread. Fails where the temporary file has no room. */
#include "export/parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/new_file.h"

/* The sentence for a temporary file that failed; errno says how. */
static int no_room(struct err *err)
{
	return err_set(err, errno,
		       "cannot keep the threads' calls in a temporary file: %s (set TMPDIR to a directory that has room)",
		       strerror(errno));
}

/* Writes the stream's full block to the file. 0, or -errno and *err. A number of a block has 32
 * bits: 16 TiB of blocks. */
static int put_block(struct parts *f, struct one_part *s, struct err *err)
{
	off_t at = (off_t)f->blocks * PARTS_BLOCK;

	if (f->fd < 0 && (f->fd = new_file_nameless()) < 0)
		return no_room(err);
	for (size_t done = 0; done < PARTS_BLOCK;) {
		ssize_t n = pwrite(f->fd, s->block + done, PARTS_BLOCK - done, at + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return no_room(err);
		done += (size_t)n;
	}
	*vec_add(&s->blocks) = f->blocks++;
	s->n = 0;
	return 0;
}

/* The last block of each part is in memory, the full ones are in one file: as many parts as the
 * trace has threads need no descriptor each. */
int parts_add(struct parts *f, uint32_t part, const void *bytes, size_t n,
	      struct err *err)
{
	const char *from = bytes;
	struct one_part *s;

	while (f->all.n <= part)
		*vec_add(&f->all) = (struct one_part){ 0 };
	s = &f->all.at[part];
	if (!s->block)
		s->block = mem_zalloc(PARTS_BLOCK);
	while (n) {
		size_t piece = PARTS_BLOCK - s->n < n ? PARTS_BLOCK - s->n : n;
		int r;

		memcpy(s->block + s->n, from, piece);
		s->n += piece;
		from += piece;
		n -= piece;
		r = s->n == PARTS_BLOCK ? put_block(f, s, err) : 0;
		if (r)
			return r;
	}
	return 0;
}

/* Reads block number `block` of the file back. A file that has become shorter is an error like
 * another. */
static int get_block(const struct parts *f, uint32_t block, char *to, struct err *err)
{
	off_t at = (off_t)block * PARTS_BLOCK;

	for (size_t done = 0; done < PARTS_BLOCK;) {
		ssize_t n = pread(f->fd, to + done, PARTS_BLOCK - done, at + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, n ? errno : EIO, "cannot read a temporary file: %s",
				       strerror(n ? errno : EIO));
		done += (size_t)n;
	}
	return 0;
}

/* Blocks of a part come in their order, the one in memory last. The part stays as it is, so that it
 * can be read again. 0, what `take` returned, or -errno and *err. */
int parts_read(const struct parts *f, uint32_t part,
	       int (*take)(void *arg, const char *bytes, size_t n), void *arg, struct err *err)
{
	const struct one_part *s;
	char block[PARTS_BLOCK];
	int r = 0;

	if (part >= f->all.n)
		return 0;
	s = &f->all.at[part];
	for (size_t i = 0; i < s->blocks.n && !r; i++) {
		r = get_block(f, s->blocks.at[i], block, err);
		if (!r)
			r = take(arg, block, PARTS_BLOCK);
	}
	return r || !s->n ? r : take(arg, s->block, s->n);
}

uint64_t parts_size(const struct parts *f, uint32_t part)
{
	if (part >= f->all.n)
		return 0;
	return (uint64_t)f->all.at[part].blocks.n * PARTS_BLOCK + f->all.at[part].n;
}

/* The file has no name, so closing it is all. */
void parts_free(struct parts *f)
{
	for (size_t i = 0; i < f->all.n; i++) {
		vec_free(&f->all.at[i].blocks);
		free(f->all.at[i].block);
	}
	vec_free(&f->all);
	if (f->fd >= 0)
		close(f->fd);
	*f = parts_none();
}

/* SPDX-License-Identifier: MIT */
/* Compresses a batch of blocks at a time: threads take blocks until none is left, the adding thread
 * is one of them, joins the others and gives the blocks out in order. Threads are begun anew for
 * each batch, which costs nothing beside megabytes of zlib's work. html.c calls it. The only
 * failure of its own is a want of memory within zlib. */
#include "export/deflate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"

#define BLOCK (256u << 10)
#define BLOCKS 8
#define WINDOW 32768u /* how far back a stream may refer */
#define RAW (-15)     /* zlib's window bits for a stream without header and end */
#define MEMORY 8      /* zlib's default memory level */

struct block {
	unsigned char in[BLOCK];
	size_t n;
	unsigned char *out;
	size_t packed; /* 0: it failed */
};

struct deflater {
	int (*put)(void *arg, const unsigned char *bytes, size_t n);
	void *arg;
	struct block *blocks; /* BLOCKS of them */
	size_t n;             /* that have bytes */
	unsigned char before[WINDOW]; /* the end of the batch before */
	size_t n_before;
	bool begun, last;     /* `last`: this batch ends the stream */
	uLong sum;            /* Adler-32 of all batches before */
	size_t room;          /* of a block's out */
	atomic_size_t next;   /* block to be taken */
};

/* put is called on the caller's thread alone, in the order of the bytes. `arg` outlives the result,
 * which deflate_free() frees. */
struct deflater *deflate_new(int (*put)(void *arg, const unsigned char *bytes, size_t n),
			     void *arg)
{
	struct deflater *d = mem_zalloc(sizeof(*d));

	d->put = put;
	d->arg = arg;
	d->sum = adler32(0, NULL, 0);
	/* and the empty block that aligns the next one */
	d->room = compressBound(BLOCK) + 64;
	d->blocks = mem_realloc(NULL, BLOCKS, sizeof(*d->blocks));
	for (size_t i = 0; i < BLOCKS; i++) {
		d->blocks[i].n = 0;
		d->blocks[i].out = mem_realloc(NULL, d->room, 1);
	}
	return d;
}

/* NULL is nothing. No batch is being packed: deflate's threads live for one batch only. */
void deflate_free(struct deflater *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < BLOCKS; i++)
		free(d->blocks[i].out);
	free(d->blocks);
	free(d);
}

/* --- one block --------------------------------------------------------------------------- */

/* Tells zlib what stands before block i. A block that is not the batch's last is full. A block's
 * last WINDOW bytes stay in its memory until the batch is put. */
static int set_window(z_stream *z, const struct deflater *d, size_t i)
{
	if (i)
		return deflateSetDictionary(z, d->blocks[i - 1].in + BLOCK - WINDOW, WINDOW);
	return d->n_before ? deflateSetDictionary(z, d->before, (uInt)d->n_before) : Z_OK;
}

/* A worker's. packed 0: it failed, which put_batch() tells. The window of the block before is set,
 * so that blocks that are packed side by side lose nothing against one stream. Z_SYNC_FLUSH ends a
 * block of the stream at a whole byte, so that the pieces can stand behind each other (RFC 1951,
 * section 3.2.4). Only the stream's last block has the mark of the end. */
static void pack_block(struct deflater *d, size_t i)
{
	struct block *b = &d->blocks[i];
	const bool end = d->last && i + 1 == d->n;
	z_stream z = { .next_in = b->in, .avail_in = (uInt)b->n, .next_out = b->out,
		       .avail_out = (uInt)d->room };
	int r;

	b->packed = 0;
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RAW, MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return;
	r = set_window(&z, d, i);
	if (r == Z_OK)
		r = deflate(&z, end ? Z_FINISH : Z_SYNC_FLUSH);
	if (r == (end ? Z_STREAM_END : Z_OK) && !z.avail_in)
		b->packed = d->room - z.avail_out;
	deflateEnd(&z);
}

/* The caller's thread does the same: a batch is packed even where no thread can be had. */
static void *run_worker(void *arg)
{
	struct deflater *d = arg;
	size_t i;

	/* Relaxed, as in pack_blocks(): threads begin after all was written, and end before it is
	 * read. */
	while ((i = atomic_fetch_add_explicit(&d->next, 1, memory_order_relaxed)) < d->n)
		pack_block(d, i);
	return NULL;
}

/* --- a batch ----------------------------------------------------------------------------- */

/* A thread that cannot be begun has its blocks done by the others. The caller is a worker, too: n +
 * 1 of them, no more than there are blocks or processors. */
static void pack_blocks(struct deflater *d)
{
	pthread_t threads[BLOCKS - 1];
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = 0;

	atomic_store_explicit(&d->next, 0, memory_order_relaxed);
	while (n + 1 < d->n && (long)n + 1 < cores &&
	       !pthread_create(&threads[n], NULL, run_worker, d))
		n++;
	run_worker(d);
	while (n)
		pthread_join(threads[--n], NULL);
}

/* Keeps what the next batch may refer to. */
static void keep_window(struct deflater *d)
{
	const struct block *last = &d->blocks[d->n - 1];

	d->n_before = last->n < WINDOW ? last->n : WINDOW;
	memcpy(d->before, last->in + last->n - d->n_before, d->n_before);
}

/* Compresses what is collected, and gives it out. The header is zlib's (RFC 1950): CMF 120 is
 * deflate with a window of 32 KiB, FLG 156 the default level and the check of both. The Adler-32 is
 * summed here, in order, since it is of the bytes before compression. 0, or -errno: put()'s, or
 * *err. */
static int put_batch(struct deflater *d, struct err *err)
{
	static const unsigned char header[] = { 120, 156 }; /* deflate, 32 KiB, default level */
	int r = d->begun ? 0 : d->put(d->arg, header, sizeof(header));

	d->begun = true;
	if (r)
		return r;
	pack_blocks(d);
	for (size_t i = 0; i < d->n && !r; i++) {
		const struct block *b = &d->blocks[i];

		if (!b->packed)
			return err_set(err, ENOMEM, "cannot compress the page: out of memory");
		d->sum = adler32(d->sum, b->in, (uInt)b->n);
		r = d->put(d->arg, b->out, b->packed);
	}
	keep_window(d);
	d->n = 0;
	return r;
}

/* The block that takes the next bytes. */
static struct block *open_block(struct deflater *d)
{
	struct block *b = d->n ? &d->blocks[d->n - 1] : NULL;

	if (b && b->n < BLOCK)
		return b;
	if (d->n == BLOCKS)
		return NULL;
	b = &d->blocks[d->n++];
	b->n = 0;
	return b;
}

/* Packs whenever BLOCKS blocks are full. 0, or -errno and *err. */
int deflate_add(struct deflater *d, const char *bytes, size_t n, struct err *err)
{
	while (n) {
		struct block *b = open_block(d);
		size_t take;

		if (!b) {
			int r = put_batch(d, err);

			if (r)
				return r;
			continue;
		}
		take = n < BLOCK - b->n ? n : BLOCK - b->n;
		memcpy(b->in + b->n, bytes, take);
		b->n += take;
		bytes += take;
		n -= take;
	}
	return 0;
}

/* A stream ends with a block, which may be empty. The Adler-32 stands behind it, its highest byte
 * first (RFC 1950). */
int deflate_finish(struct deflater *d, struct err *err)
{
	unsigned char end[4];
	int r;

	if (!d->n)
		open_block(d);
	d->last = true;
	r = put_batch(d, err);
	if (r)
		return r;
	for (size_t i = 0; i < sizeof(end); i++)
		end[i] = (unsigned char)(d->sum >> (24 - 8 * i));
	return d->put(d->arg, end, sizeof(end));
}

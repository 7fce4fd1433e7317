/* SPDX-License-Identifier: MIT */
/* links: session inject image collect tracee hook sym arch model event shared store trace base */
/* brace recover on a session memory of arbitrary bytes: the header, the threads, the descriptors
 * and the sub-buffers are the program's to spoil. By the first byte the header is what the bytes
 * say, or one that makes sense, so that the fuzzer gets behind it. What comes out must be a whole
 * trace file that adds up. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cursor.h"
#include "session/recover.h"
#include "shared/memory.h"
#include "shared/record.h"
#include "store/store.h"

#define THREADS 6
#define BUFFERS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A trace that was going on: two threads, of which one has records. */
static const char *make_file(void)
{
	static char path[64];
	struct trace_info *info;
	struct store_writer *w;
	struct err err;
	const uint64_t words[] = { record_word(1000, 1, RECORD_ENTRY), record_word(1010, 40, RECORD_EXIT) };

	if (path[0])
		return path;
	snprintf(path, sizeof(path), "/tmp/brace-fuzz-recover.%d", (int)getpid());
	info = trace_info_new();
	info->host = mem_strdup("host");
	info->version = mem_strdup("fuzz");
	info->clock = (struct trace_clock){ .hz = 1000000000, .tsc = 1, .mono_ns = 1, .real_ns = 1, .from = "fuzz" };
	*vec_add(&info->images) = (struct trace_image){ .pid = 1, .exe = mem_strdup("x"), .cmdline = mem_strdup("x") };
	for (uint32_t i = 0; i < 2; i++)
		*vec_add(&info->threads) = (struct trace_thread){ .pid = 1, .tid = 1 + i, .tsc = i };
	if (store_create(path, info, &w, &err) || store_records(w, 0, 1000, 0, 3, words, 2, &err) ||
	    store_finish(w, &err))
		abort();
	trace_info_free(info);
	return path;
}

static void remove_file(void)
{
	unlink(make_file());
}

static struct memory_header sensible_header(uint8_t mode)
{
	struct memory_header h = { .magic = MEMORY_MAGIC, .version = MEMORY_VERSION, .free_head = MEMORY_NONE,
				   .layout = { .mode = mode % 3, .threads_max = THREADS, .buffers_max = BUFFERS },
				   .buffers_used = BUFFERS, .threads_used = THREADS };
	struct memory_layout *l = &h.layout;

	l->threads_at = (sizeof(h) + 4095) & ~UINT64_C(4095);
	l->descs_at = l->threads_at + ((THREADS * sizeof(struct memory_thread) + 4095) & ~UINT64_C(4095));
	l->buffers_at = l->descs_at + 4096;
	l->size = l->buffers_at + BUFFERS * (uint64_t)MEMORY_BUFFER_BYTES;
	return h;
}

/* Fields that decide where the reader goes get values near those that are legal. */
static void make_plausible(uint8_t *at, const struct memory_header *h)
{
	struct memory_thread *threads = (void *)(at + h->layout.threads_at);
	struct memory_desc *descs = (void *)(at + h->layout.descs_at);

	for (unsigned i = 0; i < THREADS; i++) {
		threads[i].image %= 3;
		threads[i].pid %= 3;
		threads[i].tid %= 4;
		threads[i].tsc %= 3;
	}
	for (unsigned i = 0; i < BUFFERS; i++) {
		descs[i].state %= 4;
		descs[i].thread %= THREADS + 1;
		descs[i].seq %= 8;
		descs[i].used %= MEMORY_BUFFER_BYTES + 64;
	}
}

static void take(struct cursor *c, void *to, size_t n)
{
	if (n > cursor_left(c))
		n = cursor_left(c);
	memcpy(to, cursor_bytes(c, n), n);
}

/* The threads' fields, the descriptors, and the rest to the sub-buffers' beginnings. */
static void fill(uint8_t *at, const struct memory_header *h, struct cursor *c)
{
	for (unsigned i = 0; i < THREADS; i++)
		take(c, at + h->layout.threads_at + i * sizeof(struct memory_thread), offsetof(struct memory_thread, discard) + 16);
	for (unsigned i = 0; i < BUFFERS; i++)
		take(c, at + h->layout.descs_at + i * sizeof(struct memory_desc), sizeof(struct memory_desc));
	for (unsigned i = 0; i < BUFFERS; i++) {
		size_t n = cursor_left(c) / (BUFFERS - i);

		take(c, at + h->layout.buffers_at + i * (uint64_t)MEMORY_BUFFER_BYTES,
		     n < MEMORY_BUFFER_BYTES ? n : MEMORY_BUFFER_BYTES);
	}
}

/* The output must be whole, and have what the result says: less only of what is no record (padding
 * that is none). */
static void check(const char *output, const struct recover_result *res)
{
	struct store_description about;
	struct store_reader *r;
	struct source *source;
	struct event e;
	struct err err;

	if (store_open(output, &r, &err) || store_was_cut(r, NULL))
		abort();
	store_describe(r, &about);
	if (about.records > res->from_file + res->from_memory || about.calls > res->calls)
		abort();
	source = store_source(r);
	for (int i = 0; i < 100000 && source->ops->next(source, &e, &err) > 0; i++)
		if (e.thread >= store_info(r)->threads.n)
			abort();
	source->ops->close(source);
	store_close(r);
}

static void recover(int fd, uint64_t bytes)
{
	char output[80];
	struct recover_request req = { .file = make_file(), .output = output };
	struct recover_result res;
	struct err err = { 0 };

	snprintf(output, sizeof(output), "%s.out", req.file);
	if (recover_memory(fd, 0, bytes, &req, &res, &err) == 0)
		check(output, &res);
	else if (!err.text[0])
		abort();
	unlink(output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_of(data, size);
	struct memory_header h = sensible_header(cursor_u8(&c));
	uint8_t how = cursor_u8(&c);
	static bool registered;
	uint8_t *at;
	int fd;

	if (c.bad)
		return 0;
	if (!registered)
		atexit(remove_file);
	registered = true;
	fd = memfd_create("fuzz", 0);
	if (ftruncate(fd, (off_t)h.layout.size))
		abort();
	at = mmap(NULL, h.layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memcpy(at, &h, sizeof(h));
	if (how % 4 == 0) {
		size_t n = cursor_left(&c) < sizeof(h) ? cursor_left(&c) : sizeof(h);

		memcpy(at, cursor_bytes(&c, n), n);
		memcpy(at, &(uint64_t){ MEMORY_MAGIC }, 8);
		((struct memory_header *)at)->version = MEMORY_VERSION;
	}
	fill(at, &h, &c);
	if (how % 2)
		make_plausible(at, &h);
	recover(fd, h.layout.size);
	munmap(at, h.layout.size);
	close(fd);
	return 0;
}

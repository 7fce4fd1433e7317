/* SPDX-License-Identifier: MIT */
/* brace recover on a session memory that the program spoiled. The memory is a true one, of two
 * threads that the file knows and one that it does not, with the input's changes: each six bytes
 * are a part, a place in it and a word. By the second byte the header is the input's, too. What
 * comes out must be a whole trace file that adds up. */
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
#define WORDS 12 /* of each sub-buffer */

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

/* Records of every kind: calls, an exit with a value, an event of a CPU, a traced event. */
static void put_words(uint64_t *at, uint64_t tsc)
{
	const uint64_t words[WORDS] = {
		record_word(tsc, 1, RECORD_ENTRY),
		record_word(tsc + 1, record_event_id(1, RECORD_EVENT_CPU), RECORD_EVENT), 2,
		record_word(tsc + 2, 2, RECORD_ENTRY),
		record_word(tsc + 3, record_event_id(3, RECORD_EVENT_TRACE), RECORD_EVENT), 1, 2, 3,
		record_word(tsc + 4, 40, RECORD_EXIT),
		record_word(tsc + 5, 3, RECORD_TAIL),
		record_word(tsc + 6, 40, RECORD_EXIT),
	};

	memcpy(at, words, sizeof(words));
}

/* The file has five records of the first thread, kept and lost: the middle of its first sub-buffer
 * here. Two sub-buffers are FULL, one is being filled, one is another thread's. */
static void make_true(uint8_t *at, const struct memory_header *h)
{
	static const uint32_t owners[BUFFERS] = { 0, 0, 2, 1 }, seqs[BUFFERS] = { 0, 1, 0, 0 };
	struct memory_thread *threads = (void *)(at + h->layout.threads_at);
	struct memory_desc *descs = (void *)(at + h->layout.descs_at);

	memcpy(at, h, sizeof(*h));
	for (uint32_t i = 0; i < 3; i++)
		threads[i] = (struct memory_thread){ .pid = 1, .tid = 1 + i, .tsc = i, .ready = 1, .comm = "t", .seq = 1,
						     .held = 1, .lost = i, .renames = i };
	for (uint32_t i = 0; i < BUFFERS; i++) {
		descs[i] = (struct memory_desc){ .state = i == 1 ? MEMORY_FILLING : MEMORY_FULL, .thread = owners[i], .seq = seqs[i],
						 .used = WORDS * 8, .tsc = 2000 + 100 * i, .begins = i ? 0 : 4 };
		put_words((void *)(at + h->layout.buffers_at + i * (uint64_t)MEMORY_BUFFER_BYTES), 2000 + 100 * i);
	}
}

/* The lowest bits of `part` tell a thread, a descriptor, a sub-buffer or (rarely) the header, the
 * others which, and how wide the word is; a wide one is small and negative by turns. */
static void change(uint8_t *at, const struct memory_header *h, struct cursor *c)
{
	uint8_t part = cursor_u8(c), which = part >> 2 & 7;
	uint32_t place = cursor_u8(c) * 8u;
	uint64_t word = cursor_u32(c), wide = part & 32 ? word : (uint64_t)(int64_t)(int32_t)word;
	size_t n = part & 64 ? 8 : part & 128 ? 4 : 1;

	if (c->bad)
		return;
	if ((part & 3) == 0)
		at += h->layout.threads_at + which % THREADS * sizeof(struct memory_thread) +
		      place % sizeof(struct memory_thread);
	else if ((part & 3) == 1)
		at += h->layout.descs_at + which % BUFFERS * sizeof(struct memory_desc) +
		      place / 2 % sizeof(struct memory_desc);
	else if ((part & 3) == 2)
		at += h->layout.buffers_at + which % BUFFERS * (uint64_t)MEMORY_BUFFER_BYTES + place;
	else
		at += offsetof(struct memory_header, layout) + place / 2 % (sizeof(*h) - offsetof(struct memory_header, layout) - 8);
	memcpy(at, &wide, n);
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
	make_true(at, &h);
	if (how % 4 == 3) {
		size_t n = cursor_left(&c) < sizeof(h) ? cursor_left(&c) : sizeof(h);

		memcpy(at, cursor_bytes(&c, n), n);
		memcpy(at, &(uint64_t){ MEMORY_MAGIC }, 8);
		((struct memory_header *)at)->version = MEMORY_VERSION;
	}
	while (cursor_left(&c) >= 6)
		change(at, &h, &c);
	recover(fd, h.layout.size);
	munmap(at, h.layout.size);
	close(fd);
	return 0;
}

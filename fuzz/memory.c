/* SPDX-License-Identifier: MIT */
/* The tracer's passes over a session memory that the program changes under its hands: the input is
 * a script of stores into headers, thread slots, descriptors and sub-buffers, of passes, and of
 * what is stored while a run is handed on. Each part of the memory is an allocation of its own, so
 * that ASan sees who leaves it. A run must be whole records, and its counts those of its words. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "collect/clock.h"
#include "collect/drain.h"
#include "shared/memory.h"
#include "shared/record.h"

#define THREADS 4
#define BUFFERS 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cursor script;
static struct shared_memory memory;

/* --- what the program does ------------------------------------------------------------------ */

/* One store of 1, 4 or 8 bytes. Wide parts are met where they begin. */
static void put(void *part, size_t bytes)
{
	uint32_t at = cursor_u16(&script) * (bytes > 65536 ? 8u : 1u);
	uint8_t how = cursor_u8(&script);
	uint64_t value = how & 4 ? cursor_u64(&script) : how & 8 ? (uint64_t)(int8_t)cursor_u8(&script) : how >> 4;
	size_t n = how % 3 == 0 ? 1 : how % 3 == 1 ? 4 : 8;

	at %= (uint32_t)bytes;
	at -= at % n;
	memcpy((uint8_t *)part + at, &value, n);
}

/* Records of every kind, to the end of `words`. */
static void record(uint64_t *words, uint32_t n, uint64_t tsc)
{
	uint8_t events = cursor_u8(&script), payload = cursor_u8(&script);

	for (uint32_t k = 0; k < n; k++) {
		bool event = n - k < events && k % 3 == 0;

		words[k] = record_word(tsc + k, event ? record_event_id((payload + k) % 4, k % 12) : 1 + k,
				       event ? RECORD_EVENT : k % 3);
	}
}

/* Plays a thread: takes a sub-buffer of its own, writes some records or all, and marks it FULL or
 * not. */
static void open_one(void)
{
	uint32_t i = cursor_u8(&script) % BUFFERS, n = cursor_u8(&script);
	struct memory_desc *d = &memory.descs[i];
	uint64_t tsc = clock_tsc() - 1000000;

	n = n & 1 ? MEMORY_BUFFER_WORDS - n / 64 : n;
	*d = (struct memory_desc){ .thread = cursor_u8(&script) % THREADS, .seq = cursor_u8(&script) % 8, .tsc = tsc,
				   .used = n * 8, .lost = cursor_u8(&script) % 4 };
	record(shared_memory_words(&memory, i), n, tsc);
	d->state = cursor_u8(&script) % 2 ? MEMORY_FULL : MEMORY_FILLING;
}

static void spoil(void)
{
	switch (cursor_u8(&script) % 5) {
	case 0:
		put(memory.header, sizeof(*memory.header));
		break;
	case 1:
		put(&memory.threads[cursor_u8(&script) % THREADS], sizeof(struct memory_thread));
		break;
	case 2:
		put(&memory.descs[cursor_u8(&script) % BUFFERS], sizeof(struct memory_desc));
		break;
	case 3:
		put(shared_memory_words(&memory, cursor_u8(&script) % BUFFERS), MEMORY_BUFFER_BYTES);
		break;
	default:
		open_one();
	}
}

/* --- what the tracer makes of it -------------------------------------------------------------- */

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_words(const struct drain_run *run)
{
	uint64_t calls = 0, records = 0;
	size_t i = 0;

	require(run->n <= MEMORY_BUFFER_WORDS);
	while (i < run->n) {
		require(run->words[i] != 0);
		calls += (uint64_t)record_is_call(run->words[i]);
		records += (uint64_t)record_counts(run->words[i]);
		i += 1 + record_payload(run->words[i]);
	}
	require(i == run->n && calls == run->calls && records == run->records);
}

static int take(void *context, const struct drain_run *run, struct err *err)
{
	(void)context;
	require(run->slot < THREADS);
	check_words(run);
	spoil();
	return cursor_u8(&script) == 0x77 ? err_set(err, EIO, "the disk is full") : 0;
}

static void begin(uint8_t how)
{
	memory = (struct shared_memory){
		.fd = -1, .header = mem_zalloc(sizeof(*memory.header)),
		.threads = mem_zalloc(THREADS * sizeof(*memory.threads)), .descs = mem_zalloc(BUFFERS * sizeof(*memory.descs)),
		.buffers = mem_zalloc((size_t)BUFFERS * MEMORY_BUFFER_BYTES),
		.layout = { .mode = how % 3, .threads_max = THREADS, .buffers_max = BUFFERS }, .settings.tracer = how / 3 % 3,
	};
	memory.header->free_head = MEMORY_NONE;
	memory.header->buffers_used = BUFFERS;
	memory.header->threads_used = THREADS;
}

static void end(struct drain *d)
{
	drain_free(d);
	free(memory.header);
	free(memory.threads);
	free(memory.descs);
	free(memory.buffers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	struct drain *d;
	uint64_t lost = 0;

	script = cursor_of(data, size);
	begin(cursor_u8(&script));
	d = drain_new(&memory);
	while (!script.bad && cursor_left(&script)) {
		uint8_t what = cursor_u8(&script);

		if (what < 200)
			spoil();
		else if (what < 240)
			drain_pass(d, what % 2, take, NULL, &err);
		else
			drain_recycle(d);
	}
	drain_finish(d, take, NULL, &lost, &err);
	end(d);
	return 0;
}

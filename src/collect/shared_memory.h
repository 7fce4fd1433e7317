/* SPDX-License-Identifier: MIT */
/* The tracer's side of the session memory: makes it, finds what threads have written, gives
 * sub-buffers back. Everything in it may have been scribbled over by a traced program: every
 * index is checked before use. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "shared/memory.h"

struct shared_memory {
	int fd;
	uint32_t first_slot;      /* what its thread slots are numbered from in the session (slots.h) */
	struct memory_header *header;
	struct memory_thread *threads;
	struct memory_desc *descs;
	uint64_t *buffers;
	/* The tracer's own copies: the shared header may lie. */
	struct memory_layout layout;
	struct memory_settings settings;
};

struct shared_memory_shape {
	enum memory_mode mode;
	struct memory_settings settings;
	uint64_t thread_kb;       /* per thread, rounded up to whole sub-buffers, at least two */
	bool stopped;             /* from the beginning: shared_memory_stop came before it */
};

int shared_memory_create(const struct shared_memory_shape *shape, struct shared_memory *out, struct err *err);
void shared_memory_destroy(struct shared_memory *m);

/* Other settings for those who write: nobody does meanwhile. */
void shared_memory_reshape(struct shared_memory *m, const struct memory_settings *settings);

/* The words of sub-buffer i. */
static inline uint64_t *shared_memory_words(const struct shared_memory *m, uint32_t i)
{
	return m->buffers + (uint64_t)i * MEMORY_BUFFER_WORDS;
}

/* The layout and settings that an agent is told when it maps the memory. */
void shared_memory_welcome(const struct shared_memory *m, struct protocol_welcome *out);

uint32_t shared_memory_used(const struct shared_memory *m);     /* sub-buffers ever taken */
uint32_t shared_memory_threads(const struct shared_memory *m);  /* slots ever taken */
/* Has this thread told of its end? Not any more, then: another may have its number. */
bool shared_memory_take_end(struct shared_memory *m, uint32_t tid);
void shared_memory_let_go(struct shared_memory *m, uint32_t slot); /* the thread holds one less */
void shared_memory_give_back(struct shared_memory *m, uint32_t i);
void shared_memory_beat(struct shared_memory *m);               /* tells waiting writers that the tracer lives */
void shared_memory_wake_writers(struct shared_memory *m);
void shared_memory_nudge(struct shared_memory *m); /* whoever waits for it, from any thread */
/* Ends the recording: writers go on as if nothing were recorded. */
void shared_memory_stop(struct shared_memory *m);

/* An anonymous memory file. *bytes mapped shared and writable. fd, or -errno and *err. */
int memory_file(const char *name, uint64_t size, bool exec, void **mapped, struct err *err);

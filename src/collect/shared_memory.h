/* SPDX-License-Identifier: MIT */
/* The tracer's side of the session memory: makes it, finds the records that threads have written,
 * gives sub-buffers back. A traced program may have scribbled over everything in it: every index is
 * checked before use. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "collect/ring_file.h"
#include "shared/memory.h"

struct shared_memory {
	int fd;
	uint32_t first_slot;      /* number of slot 0 in the session (slots.h) */
	struct memory_header *header;
	struct memory_thread *threads;
	struct memory_desc *descs;
	uint64_t *buffers;
	/* The tracer's own copies: the shared header may lie. */
	struct memory_layout layout;
	struct memory_settings settings;
	char *ring;               /* the file that it is in; NULL: none */
};

struct shared_memory_shape {
	enum memory_mode mode;
	struct memory_settings settings;
	uint64_t thread_kb;       /* per thread, rounded up to whole sub-buffers, at least two */
	bool stopped;             /* set if shared_memory_stop came before the memory was made */
	const char *ring;         /* a file for the memory (ring_file.h); NULL: it has no name */
	uint64_t ring_kb;         /* of sub-buffers in it; 0: RING_BYTES */
	char ring_id[RING_ID];
};

/* Makes and maps a session memory; *out is its owner's, to shared_memory_destroy(), which removes
 * its ring. 0, or -errno and *err. */
int shared_memory_create(const struct shared_memory_shape *shape, struct shared_memory *out,
			 struct err *err);
void shared_memory_destroy(struct shared_memory *m);

/* Changes the writers' settings. Only while none of them runs. */
void shared_memory_reshape(struct shared_memory *m, const struct memory_settings *settings);

/* The words of sub-buffer i. */
static inline uint64_t *shared_memory_words(const struct shared_memory *m, uint32_t i)
{
	return m->buffers + (uint64_t)i * MEMORY_BUFFER_WORDS;
}

/* The bytes of sub-buffer i up to the end of its last page that was ever touched: reading behind
 * them would make the kernel allocate pages of zeros. MEMORY_BUFFER_BYTES where the kernel does not
 * say. */
size_t shared_memory_touched(const struct shared_memory *m, uint32_t i);

/* The layout and settings that an agent is told when it maps the memory. */
void shared_memory_setup(const struct shared_memory *m, struct protocol_setup *out);

uint32_t shared_memory_used(const struct shared_memory *m);     /* sub-buffers ever taken */
uint32_t shared_memory_threads(const struct shared_memory *m);  /* slots ever taken */
/* Whether this thread has told of its end. Asking takes the answer away: another thread may get its
 * number. */
bool shared_memory_take_end(struct shared_memory *m, uint32_t tid);
/* The thread holds one sub-buffer less. */
void shared_memory_let_go(struct shared_memory *m, uint32_t slot);
/* Puts sub-buffer i on the list of free ones. Only by the tracer, and only what it owns (FULL, or
 * its thread dead). */
void shared_memory_give_back(struct shared_memory *m, uint32_t i);
/* For waiting writers: the tracer lives. */
void shared_memory_heartbeat(struct shared_memory *m);
/* For waiting writers: a pass over all sub-buffers is over. */
void shared_memory_passed(struct shared_memory *m);
/* Wakes waiting writers after a sub-buffer was given back. */
void shared_memory_wake_writers(struct shared_memory *m);
void shared_memory_wake(struct shared_memory *m); /* wakes memories_wait(); from any thread */
/* Ends the recording: writers go on as if nothing were recorded. From any thread. */
void shared_memory_stop(struct shared_memory *m);

/* Makes an anonymous memory file and maps it shared and writable to *mapped. `code`: others may
 * execute it, and nobody can write to it by another mapping or descriptor. fd, or -errno and
 * *err. */
int shared_memory_file(const char *name, uint64_t size, bool code, void **mapped, struct err *err);

/* Trace files made for the tests: a trace_info with something of everything, and records of
 * all kinds, written through the public API while what a reader must give back is noted down
 * from the meaning of each record, not with the reader's own code. */
#pragma once
#include <limits.h>

#include "store/store.h"

struct sample_thread {
	uint64_t tsc;
	uint16_t cpu;
	VEC(uint32_t) open; /* functions called and not returned */
};

struct sample {
	struct trace_info *info;
	struct store_writer *writer;
	char path[PATH_MAX];
	uint64_t random;
	VEC(struct sample_thread) threads;
	VEC(struct event) expect; /* in the order written; each thread's in its own order */
};

uint64_t sample_random(uint64_t *state);
void sample_begin(struct sample *s, uint32_t threads, uint64_t seed, uint64_t first_tsc);
/* One run of n records of a thread: calls and returns of a program with loops; with `wild`
 * all other kinds of record too, stamps that step back, long pauses, extreme ids. */
void sample_run(struct sample *s, uint32_t thread, size_t n, bool wild);
void sample_lost(struct sample *s, uint32_t thread, uint64_t lost);
void sample_finish(struct sample *s); /* the file is whole */
void sample_free(struct sample *s);   /* and removed */

void assert_same_event(const struct event *a, const struct event *b);
/* All that the reader gives of one thread, and its error. */
struct events { struct event *at; size_t n, cap; };
int read_thread(struct store_reader *r, uint32_t thread, struct events *out, struct err *err);
/* The file's bytes; free() them. */
uint8_t *read_bytes(const char *path, size_t *n);

/* SPDX-License-Identifier: MIT */
/* The ring buffers of an instance in tracefs: trace_pipe_raw of each CPU, merged by time. Reading
 * takes the records away. One thread at a time. */
#pragma once
#include "kernel/elsewhere.h"
#include "kernel/records.h"
#include "kernel/ring_reader.h"
#include "trace/live_clock.h"

struct kernel_rings;

/* An event; its payload is valid during the call. -errno and *err end the pass. */
typedef int kernel_rings_sink(void *context, const struct event *e, struct err *err);

/* instance: its directory. records decodes, and outlives the rings. best: no better way of reading
 * is tried. 0, or -errno and *err; the caller frees *out. */
int kernel_rings_open(const char *instance, struct kernel_records *records,
		      enum kernel_ring_way best, struct kernel_rings **out, struct err *err);
/* Adds the rings of a second instance, whose records `elsewhere` takes; it outlives the rings.
 * After kernel_rings_open(). 0, or -errno and *err. */
int kernel_rings_open_elsewhere(struct kernel_rings *r, const char *instance,
				struct kernel_elsewhere *elsewhere, enum kernel_ring_way best,
				struct err *err);
/* The way that is used, for users to read: "mmap". */
const char *kernel_rings_way(const struct kernel_rings *r);
/* Adds a page that was read elsewhere (tests, fuzzing) to those of a CPU; bytes are copied. from:
 * records before this byte of its records are left out. */
struct kernel_rings *kernel_rings_empty(struct kernel_records *records);
void kernel_rings_add(struct kernel_rings *r, uint16_t cpu, const void *page, size_t n,
		      size_t from);
/* Reads what the kernel has, at most `most` pages of each CPU. *taken: how many pages. 0, or -errno
 * and *err. */
int kernel_rings_read(struct kernel_rings *r, size_t most, size_t *taken, struct err *err);
/* The order, and `until`, are those of times that this clock puts right; the events' stamps stay.
 * It is there while records are given; NULL: the TSC is steady. */
void kernel_rings_set_clock(struct kernel_rings *r, const struct live_clock *clock);
/* Gives what was read and is no later than `until` (a TSC, from before the reading) to the sink in
 * the order of time; the rest stays for the next time. 0, or the sink's -errno and *err. */
int kernel_rings_give(struct kernel_rings *r, uint64_t until, kernel_rings_sink *sink,
		      void *context, struct err *err);
/* Records of a CPU that are missing so far, by the pages' own counts. */
uint64_t kernel_rings_lost(const struct kernel_rings *r, uint16_t cpu, bool elsewhere);
/* CPUs that have a ring: their numbers are less than this. */
uint16_t kernel_rings_cpus(const struct kernel_rings *r);
void kernel_rings_free(struct kernel_rings *r);

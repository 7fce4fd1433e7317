/* SPDX-License-Identifier: MIT */
/* The kernel under trace, for some processes or for all: an instance (instance.h), or perf's
 * tracepoints (tracepoints.h), whose rings are read pass by pass. One thread at a time. */
#pragma once
#include "kernel/instance.h"
#include "kernel/rings.h"
#include "kernel/tracepoints.h"

struct clock;

struct kernel_source;

/* Makes the instance, with recording off. shared: files will be written that the kernel has once
 * for all. 0, or -errno and *err; then nothing is left. */
int kernel_source_open(bool shared, struct kernel_source **out, struct err *err);
/* Makes a source of tracepoints by perf, which have their events; they become the source's, and
 * kernel_source_close() ends both. */
struct kernel_source *kernel_source_of(struct kernel_tracepoints *t);
/* Its own; NULL: the source has an instance. */
struct kernel_tracepoints *kernel_source_tracepoints(struct kernel_source *s);
/* Its own, for settings and tasks (tasks.h); NULL: there are tracepoints. */
struct kernel_instance *kernel_source_instance(struct kernel_source *s);
/* Reads the kernel's symbols and formats. info gets the kernel's image,
 * threads and events; it outlives s. used: functions are added to info when records name them, by
 * kernel_source_pass(); otherwise all at once. first_event: the index of the kernel's first event.
 * After the settings, since the events that are on are known then. 0, or -errno and *err. */
int kernel_source_begin(struct kernel_source *s, struct trace_info *info, bool used,
			uint32_t first_event, struct err *err);
/* The way in which rings are read, for users to read: "mmap", "splice", "read" or "perf"; "none":
 * not begun. */
const char *kernel_source_way(const struct kernel_source *s);
/* (tests) Before kernel_source_begin(): no better way of reading is tried. Without it, all are. */
void kernel_source_read_by(struct kernel_source *s, enum kernel_ring_way best);
/* Records, too, what others do for the program: kernel/elsewhere.h. Before kernel_source_begin(),
 * with `used`. 0, or -errno and *err. */
int kernel_source_watch_elsewhere(struct kernel_source *s, struct err *err);
/* Records what the kernel does for this process and what it starts. 0, or -errno and *err. */
int kernel_source_follow(struct kernel_source *s, pid_t pid, struct err *err);
/* Begins to record. */
int kernel_source_start(struct kernel_source *s, struct err *err);
/* With `used`; otherwise NULL. */
struct kernel_used *kernel_source_used(struct kernel_source *s);
/* The order of the records is that of times that this clock (collect/clock.h) puts right, if the
 * TSC is not steady; their stamps stay. Before each pass, for which it has to be there. */
void kernel_source_set_clock(struct kernel_source *s, const struct clock *clock);
/* Reads the rings, and gives what is no later than `until` (a TSC, from before the call) in the
 * order of time. *fresh: there was something to read. 0, or -errno and *err. */
int kernel_source_pass(struct kernel_source *s, uint64_t until, kernel_rings_sink *sink,
		       void *context, bool *fresh, struct err *err);
/* Records no more; what was recorded stays, for a last pass until UINT64_MAX. */
void kernel_source_stop(struct kernel_source *s);

/* Counts so far. */
struct kernel_counts {
	uint64_t kept;          /* records given */
	uint64_t unknown;       /* without a known format, or too long */
	VEC(uint64_t) lost;     /* by CPU */
};
/* *out is empty; the caller frees out->lost. Works until kernel_source_close(). */
void kernel_source_count(struct kernel_source *s, struct kernel_counts *out);
/* The sum of kernel_counts.lost, under the same condition. */
uint64_t kernel_source_lost(struct kernel_source *s);
/* Undoes all settings, and frees s; NULL is fine. 0, or -errno and *err: what is left. */
int kernel_source_close(struct kernel_source *s, struct err *err);

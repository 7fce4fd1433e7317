/* SPDX-License-Identifier: MIT */
/* Work that a program causes and others do: interrupts, softirqs and work items that run in the
 * time of other tasks. A second instance (brace-PID-elsewhere) records them without regard to
 * tasks, and what the program did not cause is dropped here. What stays becomes calls, on a track
 * for each CPU's interrupts, one for its softirqs, and the worker's own.
 *
 * Caused is: a work item that the program queues, a softirq that it raises, what these queue and
 * raise in turn, and whatever wakes a thread of the program. One thread at a time. */
#pragma once
#include "kernel/records.h"

struct kernel_elsewhere;

/* Events for the program's own instance, by which causes are seen, and for the second one; NULL
 * ends each. */
extern const char *const kernel_elsewhere_causes[], *const kernel_elsewhere_events[];

/* top: the kernel's tracing directory. records is set up, with `used`, and outlives the result. 0,
 * or -errno and *err. */
int kernel_elsewhere_new(const char *top, struct kernel_records *records,
			 struct kernel_elsewhere **out, struct err *err);
/* kernel_elsewhere_new() without a tracing directory (tests, fuzzing): formats come by
 * kernel_elsewhere_format(). The caller frees the result. */
struct kernel_elsewhere *kernel_elsewhere_empty(struct kernel_records *records);
/* Takes in the `format` file of an event; one that is not looked at here is passed over. 0, or
 * -errno and *err. */
int kernel_elsewhere_format(struct kernel_elsewhere *e, const char *system, const char *text,
			    struct err *err);
/* A record of the program's instance, which may be a cause. */
void kernel_elsewhere_cause(struct kernel_elsewhere *e, uint16_t cpu,
			    const struct kernel_page_record *record);
/* A record of the second instance. */
void kernel_elsewhere_take(struct kernel_elsewhere *e, uint16_t cpu,
			   const struct kernel_page_record *record);
/* Records of this CPU are missing before this time: what was under way there is not known any more,
 * and calls of it end here. */
void kernel_elsewhere_lost(struct kernel_elsewhere *e, uint16_t cpu, uint64_t tsc);
/* The number of causes without room since the last call: what they lead to is not shown. */
uint64_t kernel_elsewhere_forgotten(struct kernel_elsewhere *e);
/* True and the next call or return that the last records made; *out is valid until the next call.
 * The first may be older than records that were given before. */
bool kernel_elsewhere_next(struct kernel_elsewhere *e, struct event *out);
void kernel_elsewhere_free(struct kernel_elsewhere *e);

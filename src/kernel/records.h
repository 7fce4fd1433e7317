/* SPDX-License-Identifier: MIT */
/* From the bytes of a kernel record to an event of the trace (trace/event.h): calls and returns of
 * function_graph, calls of function, and events by their formats. Records may be damaged (the fuzz
 * target's are): what does not fit its format is no event. One thread at a time. */
#pragma once
#include "kernel/pages.h"
#include "kernel/symbols.h"
#include "event/format.h"
#include "trace/event.h"

#define KERNEL_RECORD_WORDS 63u /* RECORD_PAYLOAD_MAX; longer records are counted as lost */
/* The name of a thread that the kernel has not told the name of. */
#define KERNEL_NAMELESS "<...>"

/* Offsets of a format's fields; 0: it has none. */
struct kernel_call_format {
	uint32_t id;
	uint16_t bytes, func, depth, calltime, rettime, caller;
};

/* Addresses that were looked up last: a trace has few functions beside its records. */
#define KERNEL_RECORDS_KNOWN_BITS 9u
struct kernel_known { uint64_t address; uint32_t fn; };

struct kernel_records {
	struct trace_info *info;
	uint32_t image;                /* the kernel's in info->images */
	uint32_t first_event;          /* index of the kernel's first event in the trace */
	struct kernel_call_format entry, exit, call; /* call: of the tracer `function` */
	uint32_t module;               /* without `used`: index in info->modules */
	struct kernel_used *used;      /* or NULL */
	VEC(uint32_t) events;          /* by id: 1 + index in info->events; 0: none */
	VEC(uint32_t) threads;         /* by tid: 1 + index in info->threads; 0: none */
	struct kernel_known known[1u << KERNEL_RECORDS_KNOWN_BITS]; /* by a hash of the address */
	uint64_t payload[KERNEL_RECORD_WORDS];
	/* the text of saved_cmdlines, the caller's, for threads that are met; or NULL */
	const char *names;
	/* or names that are known otherwise, asked first; NULL: none */
	bool (*name_of)(const void *named, uint32_t tid, char comm[TRACE_COMM]);
	const void *named;
	uint64_t unknown;              /* records that are no event: no known format, too long */
};

/* The kernel's image is in info, which outlives r. Functions of records are those of info's module
 * with this index; or, with `used`, of used->all, and noted there. */
void kernel_records_init(struct kernel_records *r, struct trace_info *info, uint32_t module,
			 struct kernel_used *used);
void kernel_records_free(struct kernel_records *r);
/* Takes in the `format` file of an event; those of ftrace:funcgraph_entry, funcgraph_exit and
 * function are the calls'. 0, or -EINVAL and *err. */
int kernel_records_format(struct kernel_records *r, const char *system, const char *text,
			  struct err *err);
/* Makes an event of a record of this CPU; *out is valid until the next call. False: it is none. A
 * thread that was not met before becomes one of info, without a name. */
bool kernel_records_event(struct kernel_records *r, uint16_t cpu,
			  const struct kernel_page_record *record, struct event *out);
/* The thread with this tid: its index in info->threads. */
uint32_t kernel_records_thread(struct kernel_records *r, uint32_t tid, uint64_t tsc);
/* A thread that is no task, with a number of its own: its index in info->threads. */
uint32_t kernel_records_track(struct kernel_records *r, uint32_t tid, const char *name,
			      uint64_t tsc);
/* Where a record has the field; 0: the format has no such field, or it is of another size. */
uint16_t kernel_records_offset(const struct event_format *e, const char *name, uint16_t size);

/* SPDX-License-Identifier: MIT */
/* The trace_info as items: type, length, content, each LEB128. It is written a piece at a time, as
 * the traced program maps modules, starts threads and reaches call sites. A later item for the same
 * thing replaces or extends the earlier one. */
#pragma once
#include "trace/trace_info.h"
#include "store/bytes.h"

enum info_item {
	/* strings: host, kernel, cpu, cmdline, version, tracer; cpus, thresh_ns */
	INFO_HOST = 1,
	INFO_CLOCK = 2,     /* hz, tsc, mono_ns, real_ns, from */
	INFO_IMAGE = 3,     /* index, pid, tsc, exe, cmdline, files */
	INFO_MODULE = 4,    /* index, all but its functions and strings */
	INFO_FUNCTIONS = 5, /* module, first, count, functions */
	INFO_STRINGS = 6,   /* module, first byte, bytes */
	INFO_THREAD = 7,    /* index, pid, tid, image, tsc, comm, records, lost */
	INFO_SITES = 8,     /* image, first, count, addresses as differences */
	INFO_TOTAL = 9,     /* calls, bytes, lost, records */
	INFO_MESSAGE = 10,     /* index, kind, pid, number, count, name */
	INFO_EVENT = 11,    /* place in the table, index in records, system, name, format */
	INFO_RUN = 12,      /* invocation; flags RUN_*; status, elapsed_ns, user_ns, system_ns */
	INFO_RENAME = 15,   /* thread, tsc, comm */
	/* module, count; for each a PLT entry's number as difference, library */
	INFO_LIBRARIES = 14,
	/* module, count; for each a function's number as difference, its prototype */
	INFO_PROTOTYPES = 16,
	INFO_COST = 17,     /* inside, total: what recording a call cost */
	INFO_SETTINGS = 13, /* all of them: count; for each chosen, file, text */
	INFO_CLOCK_PAIRS = 18, /* count; for each cpu, tsc, ns, window */
	INFO_GLOBALS = 19,  /* module, first, count, variables */
	INFO_TYPES_N,       /* behind the greatest number, which stands last */
};

#define RUN_TIMED 1
#define RUN_ENDED 2

/* The writer's memory of what it has written of one trace_info. Not locked: one thread writes. */
struct info_writer;
struct info_writer *info_writer_new(void);
void info_writer_free(struct info_writer *w);
/* Appends items for what is new, at most about 1 MiB; nothing appended: nothing is new. It takes as
 * long as what is new, and the images that are not complete: a module has all its functions and
 * strings when it comes, and later changes of it are written at the end. At the end of the trace
 * `last` is true, and items follow for everything that changed after it was written, then the
 * totals. Call it until it appends nothing. */
void info_write(struct info_writer *w, const struct trace_info *info, bool last, struct bytes *out);

/* Applies a sequence of items to info; false if it is malformed. */
bool info_read(struct trace_info *info, const uint8_t *p, size_t n);
/* Called after the last item: makes a partial trace_info safe to use (no NULL strings, no name
 * outside the string table). False if it lacks INFO_HOST. */
bool info_read_end(struct trace_info *info);

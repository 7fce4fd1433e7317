/* SPDX-License-Identifier: MIT */
/* The trace file. Self-contained, compressed a chunk at a time as it is written, readable up
 * to the cut when it ends early. Layout and coding: docs/trace-file.md. */
#pragma once
#include "base/err.h"
#include "trace/event.h"

/* --- writing ------------------------------------------------------------------------ */
struct store_writer;

/* Creates path (0600; a regular file of ours under that name is replaced, a symbolic link refused,
 * anything else - /dev/null, a pipe - written as it is); 0 or -errno and *err. `info` must stay
 * until store_finish. Worker threads start with the first chunk of records, not before: fork
 * first. */
int store_create(const char *path, const struct trace_info *info, struct store_writer **out, struct err *err);

/* Takes up what `info` has gained since the last call: images, modules, threads, sites. A chunk of
 * records does it too, so call it for what must be in the file although no records need it.
 * Also gives the error of an earlier write. */
int store_sync_info(struct store_writer *w, struct err *err);

/* The same, and on its way to the file at once: what makes sense of records that a dead tracer
 * leaves behind. */
int store_flush_info(struct store_writer *w, struct err *err);

/* A run of one thread's records, words as in shared/record.h, whole records only. `near_tsc`:
 * a full TSC within 2^39 cycles of the first; `cpu`: where the first was written; `lost`:
 * records of this thread that are missing before it. Threads' runs come in their own order;
 * a run is 1 to 65,536 words, or none to say only what was lost. Words of 0 are left out,
 * so is all from a RECORD_EVENT_PAD; a record cut off by the run's end counts as lost. Waits
 * when the disk is slower. */
int store_records(struct store_writer *w, uint32_t thread, uint64_t near_tsc, uint16_t cpu,
		  uint64_t lost, const uint64_t *words, size_t n, struct err *err);

/* Puts out what has waited since `before_tsc` or longer (it waits at most two seconds of the
 * traced program's records, so call this with the present TSC minus that when no record comes). */
int store_flush(struct store_writer *w, uint64_t before_tsc, struct err *err);

/* Everything so far into the file, and waits until it is: then store_bytes is all but the index
 * and the totals that store_finish adds. */
int store_settle(struct store_writer *w, struct err *err);

/* Everything out: pending chunks, info->total, the index. Frees w whatever happens; -errno
 * and *err (ENOSPC, EIO) if the file is not whole; it then reads up to where it ends.
 * A reader of a whole file gets its size as total.bytes, whatever info said. */
int store_finish(struct store_writer *w, struct err *err);
/* Ends a file that says what it lacks; otherwise store_finish. If it cannot take all (*why: ENOSPC, EDQUOT, EFBIG) its last chunks make room
 * for its end, a note tells, and info, which is the writer's, counts records that are in the file, all others as lost. Returns 0,
 * with why->code 0 if it has all; -errno and *err if it ends early: then info counts what can be read. */
int store_end(struct store_writer *w, struct trace_info *info, struct err *why, struct err *err);
/* Ends without a file: removes what was written. Frees w. */
void store_discard(struct store_writer *w);
uint64_t store_bytes(const struct store_writer *w); /* written so far */

/* --- reading ------------------------------------------------------------------------ */
/* Opens a file; *cut set when it ends early (everything before the cut can be read).
 * The source's events are merged by time, in memory bounded by threads, not by length. */
struct store_reader;
int store_open(const char *path, struct store_reader **out, struct err *err);
/* The same from memory, which must stay until store_close; `name` for the sentences. */
int store_open_bytes(const char *name, const void *bytes, size_t n, struct store_reader **out,
		     struct err *err);
void store_close(struct store_reader *r);
struct trace_info *store_info(struct store_reader *r);
/* A new file that begins with all that can be read of r's, to write on: its info is r's, and may be
 * added to. r must stay until store_finish. */
int store_continue(const char *path, struct store_reader *r, struct store_writer **out, struct err *err);
bool store_was_cut(const struct store_reader *r, uint64_t *bytes_lost); /* bytes_lost may be NULL */
struct source *store_source(struct store_reader *r); /* close() it before store_close */

/* What only the file knows. Counts are those of the chunks, so a cut file has them too. */
struct store_description {
	uint64_t bytes;         /* of the file */
	uint64_t created_ns;    /* CLOCK_REALTIME */
	uint64_t info_chunks, record_chunks;
	uint64_t info_bytes, record_bytes; /* in the file */
	uint64_t words;         /* 8-byte words that the records were */
	uint64_t records, calls, lost;
	bool cut;
	uint64_t cut_bytes;     /* at the end that could not be read */
};
void store_describe(const struct store_reader *r, struct store_description *out);

/* One thread's events in their order, several at a time for parallel work: cursors of one
 * reader may be used in different threads, each in one at a time. NULL: no records.
 * Fills up to n events, returns how many; 0 at the end, -errno and *err on damage. */
struct store_cursor;
struct store_cursor *store_cursor_open(struct store_reader *r, uint32_t thread);
int store_cursor_next(struct store_cursor *c, struct event *out, size_t n, struct err *err);
void store_cursor_close(struct store_cursor *c);

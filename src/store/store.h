/* The trace file. Self-contained, compressed a chunk at a time as it is written, readable up
 * to the cut when it ends early. Layout and coding: docs/trace-file.md. */
#pragma once
#include "base/err.h"
#include "source/event.h"

/* --- writing ------------------------------------------------------------------------ */
struct store_writer;

/* Creates path (0600, O_EXCL on a temporary, or truncated in place if it is not a regular file);
 * 0 or -errno and *err. */
int store_create(const char *path, const struct trace_info *info, struct store_writer **out, struct err *err);

/* Writes what `info` has gained since the last call: images, modules, threads, sites. Must be
 * called before records that refer to them. */
int store_sync_info(struct store_writer *w, struct err *err);

/* A run of one thread's records, words as in shared/record.h, whole records only. `near_tsc`:
 * a full TSC within 2^39 cycles of the first; `cpu`: where the first was written; `lost`:
 * records of this thread that are missing before it. Threads' runs come in their own order;
 * a run is 1 to 65,536 words. */
int store_records(struct store_writer *w, uint32_t thread, uint64_t near_tsc, uint16_t cpu,
		  uint64_t lost, const uint64_t *words, size_t n, struct err *err);

/* Everything out: pending chunks, info->total, the index. Frees w whatever happens; -errno
 * and *err (ENOSPC, EIO) if the file is not whole. */
int store_finish(struct store_writer *w, struct err *err);
uint64_t store_bytes(const struct store_writer *w); /* written so far */

/* --- reading ------------------------------------------------------------------------ */
/* Opens a file; *cut set when it ends early (everything before the cut can be read).
 * The source's events are merged by time, in memory bounded by threads, not by length. */
struct store_reader;
int store_open(const char *path, struct store_reader **out, struct err *err);
void store_close(struct store_reader *r);
struct trace_info *store_info(struct store_reader *r);
bool store_was_cut(const struct store_reader *r, uint64_t *bytes_lost);
struct source *store_source(struct store_reader *r); /* close() it before store_close */

/* One thread's events in their order, several at a time for parallel work. NULL: no records.
 * Fills up to n events, returns how many; 0 at the end, -errno and *err on damage. */
struct store_cursor;
struct store_cursor *store_cursor_open(struct store_reader *r, uint32_t thread);
int store_cursor_next(struct store_cursor *c, struct event *out, size_t n, struct err *err);
void store_cursor_close(struct store_cursor *c);

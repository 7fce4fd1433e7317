/* SPDX-License-Identifier: MIT */
/* The trace file: self-contained, compressed a packet at a time as it is written, readable up to
 * the cut when it ends early. Layout and coding: docs/trace-file.md.
 *
 * A writer belongs to one thread; store_bytes may be asked from any. */
#pragma once
#include "base/err.h"
#include "trace/event.h"

/* --- writing ------------------------------------------------------------------------ */
struct store_writer;

/* Creates path (0600; a trace of ours under that name becomes PATH.old until nothing comes of this
 * one, another file and a symbolic link are refused, anything else - /dev/null, a pipe - written as
 * it is); 0 or -errno and *err. `info` must stay until store_finish. Worker threads start with the
 * first packet of records, not before: fork first. */
int store_create(const char *path, const struct trace_info *info, struct store_writer **out,
		 struct err *err);

/* The file gets no larger than so many bytes (0: as large as the disk allows). A greater trace ends
 * as on a full disk: store_end(). Before any records. */
void store_limit(struct store_writer *w, uint64_t bytes);

/* (tests) The level of zstd for packets of records and information, 1 to 19; 0: the one that keeps
 * up with the records. store_create() sets info->compress. Before any records. */
void store_compress(struct store_writer *w, unsigned level);

/* Takes up what `info` has gained since the last call: images, modules, threads, sites. A packet of
 * records does so too; call it for information that must be in the file although no records need
 * it. Returns the error of an earlier write as well. */
int store_sync_info(struct store_writer *w, struct err *err);

/* store_sync_info, and sends the items to the file at once: they give meaning to records that a
 * dead tracer leaves behind. 0, or the error of an earlier write. */
int store_flush_info(struct store_writer *w, struct err *err);

/* Says that the caller has given the file another name, path, which it is removed and told of by
 * from now on. What had its first name before stays where store_create() put it. Before any
 * records. */
void store_renamed(struct store_writer *w, const char *path);

/* Adds a run of one thread's records: words as in shared/record.h, whole records only. `near_tsc`:
 * a full TSC within 2^39 cycles of the first; `cpu`: where the first was written; `lost`: records
 * of this thread that are missing before it. A thread's runs come in its order. A run is 1 to
 * 65,536 words, or none to say only what was lost. Words of 0 are left out, and everything from a
 * RECORD_EVENT_PAD on; a record cut off by the run's end counts as lost. Waits when the disk is
 * slower. 0, or -errno and *err: of an earlier write, too. */
int store_records(struct store_writer *w, uint32_t thread, uint64_t near_tsc, uint16_t cpu,
		  uint64_t lost, const uint64_t *words, size_t n, struct err *err);

/* Sends off packets that have waited since `before_tsc` or longer. Records wait at most two seconds
 * of the traced program's time; call this with the present TSC minus that when no record comes. 0,
 * or the error of an earlier write. */
int store_flush(struct store_writer *w, uint64_t before_tsc, struct err *err);

/* Sends everything to the file and waits until it is written. store_bytes is then the size of the
 * file but for the index and the totals that store_finish adds. 0, or the first error of any
 * write. */
int store_wait_written(struct store_writer *w, struct err *err);
/* store_wait_written(), and sets info->total.calls, of the writer's info, to the calls that the
 * file has: entries, without a function's jumps to its own first instruction, which are no calls
 * (trace/loops.h). No more records come. 0, or -errno and *err: it counts what is written. */
int store_count(struct store_writer *w, struct trace_info *info, struct err *err);

/* Writes everything: pending packets, info->total, the index. Frees w whatever happens. -errno and
 * *err (ENOSPC, EIO) if the file is not whole; it is then readable up to where it ends. A reader of
 * a whole file gets its size as total.bytes, whatever info said. */
int store_finish(struct store_writer *w, struct err *err);
/* Like store_count and store_finish, but if the file cannot take everything (*why: ENOSPC, EDQUOT,
 * EFBIG) its last packets make room for its end, a note says so, and info, which is the writer's,
 * counts the records in the file, all others as lost. Returns 0, with why->code 0 if the file has
 * everything; -errno and *err if it ends early: then info counts what can be read. */
int store_end(struct store_writer *w, struct trace_info *info, struct err *why, struct err *err);
/* Frees w and removes what was written. */
void store_discard(struct store_writer *w);
uint64_t store_bytes(const struct store_writer *w); /* bytes written so far */
/* Whether the file would have about so many bytes if it ended now, and records enough to be worth a
 * file: at least 64 Ki words, since names alone may take the bytes. Waits, once a file, until it is
 * known what its records become. */
bool store_has(struct store_writer *w, uint64_t bytes);

/* --- reading ------------------------------------------------------------------------ */
/* Opens a file. A file that ends early is opened too (store_was_cut); everything before the cut can
 * be read. 0, or -errno and *err. */
struct store_reader;
int store_open(const char *path, struct store_reader **out, struct err *err);
/* store_open of bytes in memory, which must stay until store_close. `name` stands in error
 * messages. */
int store_open_bytes(const char *name, const void *bytes, size_t n, struct store_reader **out,
		     struct err *err);
/* All sources and cursors are closed before. NULL is fine. */
void store_close(struct store_reader *r);
/* The reader's own; valid until store_close. */
struct trace_info *store_info(struct store_reader *r);
/* Creates a file that begins with everything readable of r's, to write on: its info is r's, and may
 * be added to. r must stay until store_finish. */
int store_continue(const char *path, struct store_reader *r, struct store_writer **out,
		   struct err *err);
/* Whether the file ends early. *bytes_lost, which may be NULL: bytes at its end that are no whole
 * packet. */
bool store_was_cut(const struct store_reader *r, uint64_t *bytes_lost);
/* Sets *number to a hash of the file's bytes, which has no secret: on every host it is the same. 0,
 * or -errno and *err: the file cannot be read any more. */
int store_number(struct store_reader *r, uint64_t *number, struct err *err);
/* Tells how much of the file's records has been read, by whoever reads it, and how much there is,
 * in bytes of the file. More than all: they are read once more. Any thread, at any time. */
void store_progress(const struct store_reader *r, uint64_t *read, uint64_t *all);
/* Events merged by time, in memory bounded by threads, not by length; close() it before
 * store_close. */
struct source *store_source(struct store_reader *r);

/* Where reading of each thread may begin for what is at tsc and later, and the calls that were open
 * there. Of a file that does not tell (an older one, one that was cut), and of threads that it does
 * not tell of, the beginning. NULL: of all threads. Freed after the readers that have it. */
struct store_start;
struct store_start *store_start_at(struct store_reader *r, uint64_t tsc);
void store_start_free(struct store_start *s); /* NULL: nothing */

/* store_source() of a part of the file. The merge does not look at packets that the part leaves
 * out, but events come that are in none of it: a packet is read as a whole. */
struct store_part {
	bool (*wants)(const void *arg, uint32_t thread); /* its threads */
	const void *arg;
	uint64_t from_tsc;      /* packets that end before are left out */
	/* packets before it are left out, too: the calls that were open come as their entries; or
	 * NULL. It has the same threads' calls as the packets would give, not their events */
	const struct store_start *start;
};
struct source *store_source_part(struct store_reader *r, const struct store_part *part);
/* The time of the first event, and that of the last record, as the packets tell. False: there are
 * none. */
bool store_range(struct store_reader *r, uint64_t *first, uint64_t *last);
/* The time of a thread's last record, as the packets tell: no earlier than its last event. False:
 * it has none. */
bool store_last(struct store_reader *r, uint32_t thread, uint64_t *tsc);

/* Facts that only the file knows. Counts are those of the packets, so that a cut file has them
 * too. */
struct store_description {
	uint64_t bytes;         /* of the file */
	uint64_t created_ns;    /* CLOCK_REALTIME */
	uint64_t info_packets, record_packets;
	uint64_t info_bytes, record_bytes; /* in the file */
	uint64_t words;         /* 8-byte words that the records were */
	uint64_t records, calls, lost;
	bool cut;
	uint64_t cut_bytes;     /* bytes at the end that could not be read */
};
void store_describe(const struct store_reader *r, struct store_description *out);

/* A cursor gives one thread's events in their order. Cursors of one reader may be used in different
 * threads at the same time, each cursor in one thread at a time. NULL: the thread has no
 * records. */
struct store_cursor;
struct store_cursor *store_cursor_open(struct store_reader *r, uint32_t thread);
/* store_cursor_open() from a start on: the calls that were open there come as their entries
 * first. */
struct store_cursor *store_cursor_open_at(struct store_reader *r, uint32_t thread,
					  const struct store_start *start);
/* store_cursor_open() for one of `parts` parts of the thread's events, of about as many records
 * each. The first *told of its events tell which calls were open where it begins; `bare`: none do.
 * NULL: the part has no records, or it is not known which calls were open. */
struct store_cursor *store_cursor_open_part(struct store_reader *r, uint32_t thread, unsigned part,
					    unsigned parts, bool bare, size_t *told);
/* Fills in up to n events and returns their number; 0 at the end, -errno and *err on damage. */
int store_cursor_next(struct store_cursor *c, struct event *out, size_t n, struct err *err);
/* The records that follow, for unpack_next(): those of one packet, of which the caller takes all.
 * 1: there are some; 0: the thread has no more; -errno and *err on damage. *out is valid until the
 * cursor's next call. Call it when the events that tell what was open have been
 * taken. */
struct unpack;
int store_cursor_words(struct store_cursor *c, struct unpack **out, struct err *err);
void store_cursor_close(struct store_cursor *c);

/* SPDX-License-Identifier: MIT */
/* Chunks on their way to the file: coded by worker threads, several at a time, written in the
 * order they were submitted, so that what a chunk refers to always stands before it. */
#pragma once
#include "store/format.h"
#include "store/output.h"

struct words {
	uint64_t *at;
	size_t n, cap;
};

/* One written chunk, for the index. */
struct chunk_place {
	uint64_t offset;
	struct chunk_header head;
};

struct pipeline;
/* values: exits may tell what was returned. real_ns: CLOCK_REALTIME of the trace's beginning; 0 = now. */
struct pipeline *pipeline_new(const char *path, bool values, uint64_t real_ns, struct err *err);

/* Writes a chunk of another file as it is (header and payload), before anything else is submitted. */
int pipeline_adopt(struct pipeline *p, const struct chunk_header *head, const struct bytes *chunk,
		   struct err *err);

/* Both wait when too much is on its way, and give the error of an earlier chunk if writing has
 * failed. A buffer given away is replaced by another, empty one. */
int pipeline_records(struct pipeline *p, const struct chunk_records *head, struct words *words,
		     struct err *err);
int pipeline_info(struct pipeline *p, struct bytes *items, struct err *err);

/* An empty buffer that was used before, if there is one. */
struct words pipeline_buffer(struct pipeline *p);
/* Written so far; any thread may ask. */
uint64_t pipeline_bytes(struct pipeline *p);
/* Waits until what was submitted is written. */
int pipeline_settle(struct pipeline *p, struct err *err);
/* 0, or the first error. */
int pipeline_error(struct pipeline *p, struct err *err);

/* For the end of a file that cannot take all. Workers end; who submits codes and writes from then on. */
void pipeline_stop(struct pipeline *p);
/* After pipeline_stop, of a regular file: cuts off what a failed write left, and all chunks but the first `keep`; then there was
 * no error. -errno if it cannot. */
int pipeline_keep(struct pipeline *p, size_t keep);
/* The chunks that are in the file; how many. Until the next is written. */
size_t pipeline_places(const struct pipeline *p, const struct chunk_place **places);
/* Writes the index; all chunks are written, and no more will come. */
int pipeline_end(struct pipeline *p, struct err *err);
/* Waits for all chunks, writes the index unless it is, closes. `keep` false: removes the file instead. */
int pipeline_finish(struct pipeline *p, bool keep, struct err *err);

/* SPDX-License-Identifier: MIT */
/* Packets on their way to the file: coded by worker threads, several at a time, and written in the
 * order in which they were submitted, so that whatever a packet refers to stands before it. One
 * thread submits; the functions that any thread may call say so. */
#pragma once
#include "store/format.h"
#include "store/output.h"

struct pipeline_words {
	uint64_t *at;
	size_t n, cap;
};

/* A written packet, for the index. */
struct packet_entry {
	uint64_t offset;
	struct packet_header head;
};

struct pipeline;
/* Creates the file and writes its header. values: exits may tell what was returned. real_ns:
 * CLOCK_REALTIME of the trace's beginning; 0: now. NULL and *err if it cannot. */
struct pipeline *pipeline_new(const char *path, bool values, uint64_t real_ns, struct err *err);

/* From now on the file takes no more than so many bytes (0: any number); a write of more fails with
 * -EFBIG. Before the first packet is submitted. */
void pipeline_limit(struct pipeline *p, uint64_t bytes);

/* As output_renamed(). Before the first packet of records is submitted: then workers tell of the
 * file, too. */
void pipeline_renamed(struct pipeline *p, const char *path);

/* The level of zstd at which packets are compressed from now on; 0: the one that keeps up with the
 * records. Before the first packet is submitted. */
void pipeline_compress(struct pipeline *p, unsigned level);

/* Writes a packet of another file unchanged (header and payload), before anything else is
 * submitted. 0, or -errno and *err. */
int pipeline_adopt(struct pipeline *p, const struct packet_header *head, const struct bytes *packet,
		   struct err *err);

/* Submit a packet. Both wait while too many are on their way, and return the error of an earlier
 * packet if writing has failed. The buffer given away is replaced by an empty one. */
int pipeline_records(struct pipeline *p, const struct packet_records *head,
		     struct pipeline_words *words, struct err *err);
int pipeline_info(struct pipeline *p, struct bytes *items, struct err *err);

/* Returns an empty buffer, one that was used before if there is one. The caller owns it. */
struct pipeline_words pipeline_buffer(struct pipeline *p);
/* Whether workers have nothing to do, and the bytes written so far; any thread may ask. */
bool pipeline_is_idle(struct pipeline *p);
uint64_t pipeline_bytes(struct pipeline *p);
/* pipeline_bytes(), and what the words on their way and `waiting` ones are likely to become: as
 * many bytes each as those of the file so far; a byte each while it has none. The submitting thread
 * asks. */
uint64_t pipeline_bytes_likely(struct pipeline *p, uint64_t waiting);
/* Whether the file has records already, by which pipeline_bytes_likely() knows. */
bool pipeline_has_records(struct pipeline *p);
/* Waits until everything submitted is written. 0, or the first error. */
int pipeline_wait_written(struct pipeline *p, struct err *err);
/* 0, or the first error and *err. */
int pipeline_error(struct pipeline *p, struct err *err);

/* For the end of a file that cannot take everything: ends the workers. The submitting thread codes
 * and writes from then on. */
void pipeline_stop(struct pipeline *p);
/* After pipeline_stop, for a regular file: cuts off a failed write and all packets but the first
 * `keep`, and forgets the error. -errno if it cannot. */
int pipeline_keep(struct pipeline *p, size_t keep);
/* The packets in the file, and their number as the result. Valid until the next one is written. */
size_t pipeline_index(const struct pipeline *p, const struct packet_entry **entries);
/* Writes the index. All packets are written, and no more will come. 0, or -errno and *err. */
int pipeline_end(struct pipeline *p, struct err *err);
/* Waits for all packets, writes the index unless it is there, closes and frees. `keep` false:
 * removes the file instead. 0, or the first error. */
int pipeline_finish(struct pipeline *p, bool keep, struct err *err);

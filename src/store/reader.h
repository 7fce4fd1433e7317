/* SPDX-License-Identifier: MIT */
/* An opened trace file. It is unchanged after store_open but for a count, so that any number of
 * threads may read it, each with its own loader. Private to src/store. */
#pragma once
#include "store/columns.h"
#include "store/index.h"
#include "store/store.h"
#include "trace/clock_pairs.h"
#include "trace/unpack.h"

struct store_reader {
	int fd;                 /* -1: the file is in `bytes` */
	const uint8_t *bytes;
	uint64_t size;
	char *name;
	struct trace_info *info;
	struct clock_pairs *pairs; /* by which events' times are put right; NULL: they are */
	uint64_t created_ns;
	uint32_t version;
	struct packet_index entries; /* the whole packets, in the file's order */
	/* cut: the file has no index; cut_bytes: at its end that are no whole packet. */
	bool cut;
	uint64_t cut_bytes;
	/* Record packets by thread, each thread's in the file's order: thread t has
	 * packets.at[first[t]] to packets.at[first[t + 1] - 1], which are indices into entries. */
	VEC(uint32_t) packets;
	VEC(uint32_t) first;
	/* Bytes of record packets that were read: store_progress(). Relaxed: a number, and nothing
	 * is read by it. */
	_Atomic uint64_t read;
};

/* Scratch memory of one reading thread. All zero is ready for use. */
struct loader {
	struct bytes packet;
	struct bytes raw;
	uint64_t *words;        /* words of the packet decoded last */
	size_t room;
	struct decoder *decoder;
	/* positive errno: the file could not be read, so that it is not known to be damaged */
	int error;
};
void reader_loader_free(struct loader *l);

/* A position in one thread's packets. */
struct thread_packets {
	uint32_t thread;
	size_t next, end;       /* into store_reader.packets */
	struct unpack unpack;
};
/* Starts at the thread's first packet. False if the thread has no records. */
bool thread_packets_begin(struct store_reader *r, uint32_t thread, struct thread_packets *out);
/* Decodes the next packet into l->words and begins to unpack it. 1; 0 if there is none; -errno and
 * *err on damage. */
int thread_packets_load(struct store_reader *r, struct thread_packets *t, struct loader *l,
			struct err *err);
/* Puts the times of an event of this file right. last: of the thread's event before, 0: none. */
void thread_packets_place(const struct store_reader *r, struct event *e, uint64_t *last);
/* thread_packets_place() for an event that tells of a start (store_start_next()). */
void thread_packets_place_start(const struct store_reader *r, struct event *e, uint64_t *last);
/* The TSC at which the packet begins that is loaded next, or one before. There must be such a
 * packet. */
uint64_t thread_packets_next_tsc(const struct store_reader *r, const struct thread_packets *t);
/* The bytes of that packet's payload. */
uint64_t thread_packets_next_bytes(const struct store_reader *r, const struct thread_packets *t);
/* The TSC at which that packet ends, or one behind. */
uint64_t thread_packets_next_last_tsc(const struct store_reader *r, const struct thread_packets *t);
/* The TSC at which the thread's last packet ends. */
uint64_t thread_packets_last_tsc(const struct store_reader *r, const struct thread_packets *t);

/* Reads the packet at *entry into l->packet, checks it and completes entry->head. The payload is
 * l->packet's last head.payload bytes. 0, or -errno and *err. */
int reader_packet(struct store_reader *r, struct packet_entry *entry, struct loader *l,
		  struct err *err);
/* reader_packet for info and index packets, decompressed to l->raw. */
int reader_raw(struct store_reader *r, struct packet_entry *entry, struct loader *l,
	       struct err *err);

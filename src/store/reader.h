/* SPDX-License-Identifier: MIT */
/* An opened trace file: unchanged after store_open, so any number of threads may read it. */
#pragma once
#include "store/columns.h"
#include "store/index.h"
#include "store/store.h"
#include "trace/unpack.h"

struct store_reader {
	int fd;                 /* -1: bytes */
	const uint8_t *bytes;
	uint64_t size;
	char *name;
	struct trace_info *info;
	uint64_t created_ns;
	uint32_t version;
	struct places places;   /* whole chunks, in the file's order */
	bool cut;
	uint64_t cut_bytes;
	/* Record chunks by thread, each thread's in the file's order: thread t has
	 * chunks.at[first[t]] to chunks.at[first[t + 1] - 1], indices into places. */
	VEC(uint32_t) chunks;
	VEC(uint32_t) first;
};

/* Scratch that one reading thread needs. */
struct loader {
	struct bytes chunk;
	struct bytes raw;
	uint64_t *words;        /* of the chunk decoded last */
	size_t room;
	struct decoder *decoder;
	int error;              /* positive errno: the file could not be read. It is not known to be damaged then. */
};
void loader_free(struct loader *l);

/* One thread's chunks. */
struct track {
	uint32_t thread;
	size_t next, end;       /* into store_reader.chunks */
	struct unpack unpack;
};
/* False if the thread has no records. */
bool track_begin(struct store_reader *r, uint32_t thread, struct track *out);
/* Decodes the next chunk and begins to unpack it, in l->words: 1; 0 if there is none; -errno
 * on damage. */
int track_load(struct store_reader *r, struct track *t, struct loader *l, struct err *err);
/* The TSC at which the next chunk begins; there must be one. */
uint64_t track_next_tsc(const struct store_reader *r, const struct track *t);
/* The TSC at which the last one ends. */
uint64_t track_last_tsc(const struct store_reader *r, const struct track *t);

/* Reads the chunk at *place into l->chunk, checks it and completes place->head; the payload is
 * l->chunk's last head.payload bytes. */
int reader_chunk(struct store_reader *r, struct chunk_place *place, struct loader *l, struct err *err);
/* The same for info and index chunks, decompressed to l->raw. */
int reader_raw(struct store_reader *r, struct chunk_place *place, struct loader *l, struct err *err);

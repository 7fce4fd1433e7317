/* SPDX-License-Identifier: MIT */
/* A session memory in a file that outlives both the tracer and the programs (record --ring). Behind
 * the memory stands a label, which tells whose it is; programs do not map that page. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define RING_ID 33        /* bytes of an id: 32 hexadecimal digits and a NUL */
#define RING_BYTES (UINT64_C(128) << 20) /* sub-buffers, if nobody says how many */
#define RING_LEAST_KB 1024u
#define RING_MOST_KB (UINT64_C(64) << 20)

/* Makes the file for a memory of `size` bytes, whole pages, and maps it shared and writable to
 * *mapped. All its blocks are taken at once, so that a full disk is an error here and no SIGBUS
 * later. Nobody but its owner may read it, and nobody may open it for writing: a file that is
 * shortened while it is mapped kills who looks at the missing part. Returns a descriptor to close,
 * or -errno and *err; then no file is left. -EEXIST, -EBUSY: there is one, of a session that died
 * or one that lives. */
int ring_file_create(const char *path, uint64_t size, const char *id, void **mapped,
		     struct err *err);

/* A ring as it was found. */
struct ring_file {
	int fd;
	uint64_t size;            /* of its memory, which begins at 0; without the label */
	char id[RING_ID];
	bool this_boot;           /* false: the machine was started anew since */
	uint64_t holes;           /* ring_file_holes() */
};

/* Opens what a session left. All in the file is untrusted but the struct's own members. 0, or
 * -errno and *err (-EPROTO: no ring; -EBUSY: its tracer lives). The caller closes out->fd. */
int ring_file_open(const char *path, struct ring_file *out, struct err *err);

/* The part that reads: whether the file fd is a ring, by its label; then *out has fd. */
bool ring_file_read(int fd, struct ring_file *out);

/* Bytes of the ring that have no blocks: it had all of them, so somebody took these out
 * (fallocate's FALLOC_FL_PUNCH_HOLE, a copy that leaves zeros out), and they read as zeros. 0 also
 * where the file system does not tell. A hole that a store filled again is not seen. */
uint64_t ring_file_holes(int fd);

/* Looks for holes in a ring of ours that is about to be closed, for ring_file_was_cut(). */
void ring_file_look(int fd);

/* Whether somebody shortened a ring of ours while it was in use, or took parts out of it; records
 * in it are gone. */
bool ring_file_was_cut(void);

/* SPDX-License-Identifier: MIT */
/* The agent's file as brace itself puts it into a process: its segments, the few relocations it
 * has, its descriptor. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "shared/memory.h"

struct agent_segment {
	uint64_t vaddr, offset, file_bytes, memory_bytes; /* in whole pages, except file_bytes */
	int prot;
};

/* The word at vaddr `at` is to become base + value. */
struct agent_relocation { uint64_t at, value; };

struct agent_file {
	uint8_t *bytes;           /* the whole file */
	size_t n;
	/* bytes of addresses that it takes, with a page behind it that stays empty */
	uint64_t span;
	uint64_t descriptor;        /* vaddr of struct agent_descriptor */
	uint8_t build_id[20];
	uint64_t build_id_at;     /* vaddr */
	struct agent_segment segments[4];
	unsigned n_segments;
	VEC(struct agent_relocation) relocations;
	/* vaddr of the word that holds the distance of a thread's block from the thread pointer */
	uint64_t tpoff;
};

/* Reads and checks the file. 0, or -errno and *err: it cannot be read, or is not the agent that
 * this brace was built with. The caller closes *out. */
int agent_file_open(const char *path, struct agent_file *out, struct err *err);
void agent_file_close(struct agent_file *f);
/* Returns the descriptor as the file has it; it belongs to *f. NULL only of a file that parse()
 * refuses. */
const struct agent_descriptor *agent_file_descriptor(const struct agent_file *f);
/* Writes the words that depend on the agent's place into `segment`, a copy of segment s' bytes
 * (file_bytes of it). `tls` is the distance of a thread's block from the thread pointer. */
void agent_file_relocate(const struct agent_file *f, uint64_t base, int64_t tls,
			 const struct agent_segment *s, uint8_t *segment);
/* Fills *out with the hello that an agent standing at base would send. */
void agent_file_hello(const struct agent_descriptor *c, uint64_t descriptor_at,
		      struct protocol_hello *out);

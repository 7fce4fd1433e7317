/* SPDX-License-Identifier: MIT */
/* The agent's file, as it is put into a process by hand: segments, the few relocations it has, its
 * contents. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "shared/memory.h"

struct agent_segment {
	uint64_t vaddr, offset, file_bytes, memory_bytes; /* whole pages but for file_bytes */
	int prot;
};

/* The word at vaddr `at` becomes base + value. */
struct agent_relocation { uint64_t at, value; };

struct agent_file {
	uint8_t *bytes;           /* the whole file */
	size_t n;
	uint64_t span;            /* of addresses it takes, with a page behind it that stays empty */
	uint64_t contents;        /* vaddr of struct agent_contents */
	uint8_t build_id[20];
	uint64_t build_id_at;     /* its vaddr */
	struct agent_segment segments[4];
	unsigned n_segments;
	VEC(struct agent_relocation) relocations;
	uint64_t tpoff;           /* vaddr of the word for the block's distance from the thread pointer */
};

/* 0, or -errno and *err: it cannot be read, or is not what this brace was built with. */
int agent_file_open(const char *path, struct agent_file *out, struct err *err);
void agent_file_close(struct agent_file *f);
const struct agent_contents *agent_file_contents(const struct agent_file *f);
/* Puts the words in place that depend on where it stands: into a copy of the writable segment's bytes
 * (file_bytes of it). `tls` is the block's distance from the thread pointer. */
void agent_file_relocate(const struct agent_file *f, uint64_t base, int64_t tls, const struct agent_segment *s,
			 uint8_t *segment);
/* What the agent says in its hello, when it stands at base. */
void agent_file_hello(const struct agent_contents *c, uint64_t contents_at, struct protocol_hello *out);

/* SPDX-License-Identifier: MIT */
/* Emits the code a hooked entry jumps to: template (trampoline.S), then the moved prologue. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86_64/relocate.h"

enum trampoline_kind {
	TRAMPOLINE_GRAPH,      /* entry and exit, by the call site's stub */
	TRAMPOLINE_CALL,       /* function tracer: RECORD_EVENT_CALL */
	TRAMPOLINE_ENTRY_ONLY, /* RECORD_EVENT_ENTRY_ONLY */
	TRAMPOLINE_STATE,      /* entry and exit with depth, threshold; may begin a graph */
	TRAMPOLINE_INNER,      /* the same, recorded only inside a graph function */
	TRAMPOLINE_STATE_ENTRY_ONLY, /* RECORD_EVENT_ENTRY_ONLY, by the same rules */
	TRAMPOLINE_INNER_ENTRY_ONLY,
	TRAMPOLINE_FAR,        /* entry and exit, or what the agent makes of it: AGENT_FAR processes */
	TRAMPOLINE_FAR_INNER,
	TRAMPOLINE_FAR_ENTRY_ONLY,
	TRAMPOLINE_FAR_INNER_ENTRY_ONLY,
	TRAMPOLINE_LEAVE,      /* a function that may leave its stack: all of it is the agent's */
	/* These record nothing: look-ups of unwinders, which must find an agent that ld.so does not know. */
	TRAMPOLINE_FIND_FDE, TRAMPOLINE_FIND_OBJECT, TRAMPOLINE_ITERATE_PHDR,
	TRAMPOLINE_KINDS
};

/* What all trampolines of a process share. Addresses are the traced process's. */
struct trampoline_env {
	int32_t tls;           /* struct agent_tls, from the thread pointer */
	int32_t key;           /* what the block's key is compared with, from the thread pointer; the key itself if nothing */
	uint64_t table;        /* site hash table */
	uint64_t gate;         /* gate page of the region */
	uint64_t pool;         /* struct trampoline_pool of the region */
	uint32_t max_depth;    /* 0 = none */
	bool calls_too;        /* what records for function_graph records for function before (RECORD_EVENT_CALL) */
	/* TRAMPOLINE_LEAVE: what its id word carries besides, and the function's bytes */
	uint32_t id_flags, function_size;
};

/* Stands once in each region of trampolines. */
struct trampoline_pool {
	uint64_t slow_record, slow_record2, slow_entry, slow_site, state_entry, slow_leave, arena, find_fde, find_object, iterate_phdr;
	uint64_t probe, syscall, delivery;
};

#define TRAMPOLINE_MAX_BYTES (512 + RELOCATE_MAX_BYTES)

/* The most bytes trampoline_emit writes for this recipe; at most TRAMPOLINE_MAX_BYTES. */
size_t trampoline_room(enum trampoline_kind kind, bool calls_too, const struct relocate_recipe *recipe);

/* Writes the trampoline of function `id` for runtime address `at`; the function (its patched
 * bytes) is at runtime address `from`, file address `vaddr`. Bytes written, or -ERANGE when something
 * is out of reach. `out` has TRAMPOLINE_MAX_BYTES bytes. */
int trampoline_emit(enum trampoline_kind kind, const struct trampoline_env *env, uint32_t id,
		    const struct relocate_recipe *recipe, const uint8_t *original, uint64_t vaddr,
		    uint64_t from, uint64_t at, uint8_t *out);

/* Writes `jmp rel32` (5 bytes). 0 or -ERANGE. */
int trampoline_jump(uint64_t from, uint64_t to, uint8_t *out);

/* SPDX-License-Identifier: MIT */
/* Emits the code that a hooked entry jumps to: a template (trampoline.S), then the moved
 * prologue. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/condition_code.h"
#include "arch/relocate.h"

enum trampoline_kind {
	TRAMPOLINE_GRAPH,      /* entry and exit, by the call site's stub */
	TRAMPOLINE_CALL,       /* function tracer: RECORD_EVENT_CALL */
	TRAMPOLINE_ENTRY_ONLY, /* RECORD_EVENT_ENTRY_ONLY */
	TRAMPOLINE_STATE,      /* entry and exit with depth, threshold; may begin a graph */
	TRAMPOLINE_INNER,      /* TRAMPOLINE_STATE, but recorded only inside of a graph function */
	TRAMPOLINE_STATE_ENTRY_ONLY, /* RECORD_EVENT_ENTRY_ONLY, by the rules of TRAMPOLINE_STATE */
	TRAMPOLINE_INNER_ENTRY_ONLY,
	TRAMPOLINE_NO_TLS,        /* entry and exit by C code, for AGENT_NO_TLS processes */
	TRAMPOLINE_NO_TLS_INNER,
	TRAMPOLINE_NO_TLS_ENTRY_ONLY,
	TRAMPOLINE_NO_TLS_INNER_ENTRY_ONLY,
	TRAMPOLINE_NONLOCAL,      /* a function that may leave its stack: the agent does all */
	/* Its calls open scopes of events, or are levels in one: C code decides. */
	TRAMPOLINE_SCOPE,
	TRAMPOLINE_LOCK,          /* takes or releases a lock: the agent adds up */
	/* Look-ups of unwinders: nothing is recorded; an agent unknown to ld.so is found. */
	TRAMPOLINE_FIND_FDE, TRAMPOLINE_FIND_OBJECT, TRAMPOLINE_ITERATE_PHDR,
	TRAMPOLINE_KINDS
};

/* Addresses that all trampolines of a process share; the traced process's. */
struct trampoline_env {
	int32_t tls;           /* offset of struct agent_tls from the thread pointer */
	/* Offset from the thread pointer to the word that the block's key is compared with; the
	 * key's own if there is none. */
	int32_t key;
	uint64_t table;        /* site hash tables, by enum memory_returned */
	uint64_t fork_guard;         /* fork guard's page of the region */
	uint64_t pool;         /* struct trampoline_pool of the region */
	uint32_t max_depth;    /* 0 = none */
	uint32_t returned;     /* enum memory_returned: what the function's exits tell */
	/* Before function_graph's record comes the function tracer's (RECORD_EVENT_CALL). */
	bool record_both;
	bool causal;           /* a stamp waits for the loads before it */
	/* Address of the function's struct arguments_site, which the agent is called with first;
	 * 0: its arguments are neither recorded nor compared. */
	uint64_t arguments;
	bool conditional;      /* the agent's answer decides whether the call is recorded */
	bool recorded;         /* the agent records the arguments of calls that are */
	/* With `conditional`: decides before the agent is called. Without a filter it does not. */
	struct condition_code condition;
	/* TRAMPOLINE_NONLOCAL: further flags of its id word, and the function's size in bytes. */
	uint32_t id_flags, function_size;
	uint32_t scope;      /* TRAMPOLINE_SCOPE: its last word (SCOPE_SILENT) */
	uint32_t lock_point; /* TRAMPOLINE_LOCK: what it does (shared/locks.h) */
};

/* Addresses of the agent's code; one copy in each region of trampolines. */
struct trampoline_pool {
	uint64_t slow_record, slow_record2, slow_entry, slow_site, state_entry, slow_nonlocal,
		arena, find_fde, find_object, iterate_phdr;
	uint64_t probe, syscall, delivery, arguments, lock;
};

/* The machine's part has TRAMPOLINE_MAX_BYTES, an upper bound of trampoline_emit()'s, and
 * TRAMPOLINE_ARGUMENTS_BYTES: with trampoline_env.arguments, so many more than trampoline_room()
 * says; with its `condition`, CONDITION_CODE_MAX more. */
#include MACHINE_HEADER(trampoline.h)

/* Returns an upper bound of the bytes that trampoline_emit() writes for this recipe; at most
 * TRAMPOLINE_MAX_BYTES. */
size_t trampoline_room(enum trampoline_kind kind, bool record_both,
		       const struct relocate_recipe *recipe);

/* Writes the trampoline of function `id` for runtime address `at`. The function's patched bytes are
 * at runtime address `from`, file address `vaddr`. Returns the bytes written, or -ERANGE when
 * something is out of reach. `out` has TRAMPOLINE_MAX_BYTES bytes. */
int trampoline_emit(enum trampoline_kind kind, const struct trampoline_env *env, uint32_t id,
		    const struct relocate_recipe *recipe, const uint8_t *original, uint64_t vaddr,
		    uint64_t from, uint64_t at, uint8_t *out);

/* Returns the offset of the moved instructions in what trampoline_emit() writes. */
size_t trampoline_body(enum trampoline_kind kind, const struct trampoline_env *env);

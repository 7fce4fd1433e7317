/* SPDX-License-Identifier: MIT */
/* Events that programs define with include/brace/event.h: the data that the tracer puts into such a
 * program while one of them is wanted. */
#pragma once
#include "shared/filter.h"

/* One word pair an event in the program's data, the struct brace__state of include/brace/event.h.
 * All 0 while nobody traces. */
struct event_state {
	uint64_t commit;         /* address of the agent's agent_event */
	uint64_t block;          /* of a struct event_block */
};

/* Lies among the trampolines, in memory that the program cannot write. */
struct event_block {
	uint32_t event;          /* number in the session */
	/* 0: all records. | EVENT_STACKED: the stack, too; no filter code then. | scopes */
	uint32_t filter_bytes;
	uint64_t header;         /* of a record without payload, and without its time */
	struct filter_program filter;
};
#define EVENT_BLOCK_BYTES __builtin_offsetof(struct event_block, filter)

#define EVENT_STACKED 0x80000000u
/* In event_block.filter_bytes, below EVENT_STACKED: the scopes, as in struct probe_site. With any
 * there is no filter code. */
#define EVENT_SCOPES_SHIFT 20
#define EVENT_FILTER_BYTES ((1u << EVENT_SCOPES_SHIFT) - 1)

#define EVENT_IDS 512u /* common_type of event number 0 */
#define EVENT_RECORD_MAX 512u /* including the first 8, which the program leaves free */

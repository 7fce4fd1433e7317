/* SPDX-License-Identifier: MIT */
/* Events that programs bring with them (include/brace/event.h): what the tracer puts into such a program while one of them
 * is wanted. */
#pragma once
#include "shared/filter.h"

/* In the program's data, all 0 while nobody traces: struct brace__state of include/brace/event.h. */
struct event_state {
	uint64_t commit;         /* address of the agent's agent_event */
	uint64_t block;          /* of a struct event_block */
};

/* Among the trampolines: in memory that the program cannot write. */
struct event_block {
	uint32_t event;          /* the session's number of it */
	uint32_t filter_bytes;   /* 0: every record passes. | EVENT_STACKED: the stack is wanted too; the filter is no code then */
	uint64_t header;         /* of a record of no payload, without its time */
	struct filter_program filter;
};
#define EVENT_BLOCK_BYTES __builtin_offsetof(struct event_block, filter)

#define EVENT_STACKED 0x80000000u

#define EVENT_IDS 512u /* common_type of event number 0 */
#define EVENT_RECORD_MAX 512u /* bytes, the first 8 included, that the program leaves free */

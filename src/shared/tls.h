/* SPDX-License-Identifier: MIT */
/* The agent's thread-local block, at a fixed distance from the thread pointer. All zero means "this
 * thread has not recorded yet": pos >= end sends its first record to the slow path. */
#pragma once
#ifndef __ASSEMBLER__
#include <stdint.h>

struct agent_tls {
	uint64_t pos;       /* where the next record goes; reserved by one unlocked xadd */
	uint64_t end;       /* of the sub-buffer */
	/* The CPU as last recorded, compared with rseq's; AGENT_KEY_IS_TID: the tid. */
	uint32_t key;
	union {
		uint32_t depth; /* state mode: how deep the innermost live call is; 0 = none */
		/* While pos is out of reach (nonlocal.c): end minus the real pos, signed. */
		uint32_t room;
	};
	union {
		/* State mode: stack address of the innermost live call's return address; 0 =
		 * none. */
		uint64_t top_sp;
		/* nonlocal.c: that of the call which does not tell where it was made; 0 = none. */
		uint64_t inner_sp;
	};
	uint64_t thread;    /* struct memory_thread, in this process */
	union {
		/* State mode: number of live calls, and above it a count of its changes
		 * (agent/live.h). */
		uint64_t live;
		/* nonlocal.c: struct nonlocal_info of the function that may leave */
		uint64_t leaving;
	};
	/* State mode: the live calls. Else, with lock points: struct lock_table, or 0
	 * (agent/lock_points.h). */
	uint64_t stack_base;
	uint32_t buffer;    /* index of the sub-buffer, MEMORY_NONE in the discard window */
	uint32_t known;     /* TLS_THREAD: the fields above are set; other bits: the agent's own */
};
_Static_assert(sizeof(struct agent_tls) == 64, "the TLS block is at most 64 bytes");
#endif

#define TLS_THREAD 1u /* agent_tls.known */
#define TLS_MOVED 16u /* of a block by thread id: it has what the thread's own block had */
#define TLS_LENT 8    /* a vfork child may use this block, too: agent/lend.c has theirs */
/* The part of `known` about the thread; above it, the session that its stack is for. */
#define TLS_KNOWN_MASK 0xffu
#define AGENT_STACK_BYTES (16u << 20) /* size of the stack at stack_base */

#define FORK_GUARD_EXIT 3   /* index of agent_fork_guard (agent/agent.h) */
#define TLS_POS 0
#define TLS_END 8
#define TLS_KEY 16
#define TLS_DEPTH 20
#define TLS_TOP_SP 24
#define TLS_KNOWN 60
#define HEADER_LOST_THREADLESS 208 /* struct memory_header */

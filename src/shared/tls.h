/* SPDX-License-Identifier: MIT */
/* The agent's thread-local block, at a fixed distance from the thread pointer. All zero
 * means "this thread has not recorded yet": pos >= end sends its first record the slow way. */
#pragma once
#ifndef __ASSEMBLER__
#include <stdint.h>

struct agent_tls {
	uint64_t pos;       /* where the next record goes; reserved by one unlocked xadd */
	uint64_t end;       /* of the sub-buffer */
	uint32_t key;       /* the CPU as last recorded, compared with rseq's; AGENT_KEY_IS_TID: the thread's id */
	union {
		uint32_t depth; /* state mode: how deep the innermost live call is; 0 = none */
		uint32_t room;  /* pos is out of reach (leave.c): end - it, signed */
	};
	union {
		uint64_t top_sp; /* state mode: where the innermost live call's return address stood; 0 = none */
		uint64_t inner_sp; /* leave.c: of the call that does not tell where it was made; 0 = none */
	};
	uint64_t thread;    /* struct memory_thread, in this process */
	union {
		uint64_t live;  /* state mode: how many calls are live, and above how often that changed (agent/live.h) */
		uint64_t leaving; /* leave.c: struct leave_about of the function that may leave */
	};
	uint64_t stack_base; /* state mode */
	uint32_t buffer;    /* index of the sub-buffer, MEMORY_NONE in the void */
	uint32_t known;     /* TLS_THREAD: the fields above are set; the other bits are the agent's own */
};
_Static_assert(sizeof(struct agent_tls) == 64, "the TLS block is at most 64 bytes");
#endif

#define TLS_THREAD 1u /* agent_tls.known */
#define TLS_LENT 8u   /* a vfork child may have this block too: agent/lend.c has theirs */
#define TLS_KNOWN_MASK 0xffu /* of it, what is known of the thread; above, the session that its stack is for */
#define AGENT_STACK_BYTES (16u << 20) /* behind stack_base */

#define TLS_POS 0
#define TLS_END 8
#define TLS_KEY 16
#define TLS_DEPTH 20
#define TLS_TOP_SP 24
#define TLS_KNOWN 60
#define HEADER_LOST_THREADLESS 208 /* struct memory_header */

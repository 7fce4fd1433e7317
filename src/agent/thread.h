/* SPDX-License-Identifier: MIT */
/* A thread's slot in the session memory, and the words by which its block is known as its own.
 * On the thread whose block it is, with signals blocked where nothing else is said. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"
#include "arch/inside.h"

/* Returns the thread's slot, NULL if none was free. agent_thread_slot() also checks that it is in
 * the present memory. */
static inline struct memory_thread *thread_slot(const struct agent_tls *t)
{
	return (struct memory_thread *)t->thread;
}

/* Reads the word that the fast path compares with agent_tls.key. False: there is none. Another
 * thread may take agent.key away meanwhile (no_tls.c). */
static inline bool thread_read_key(uint32_t *key)
{
	int64_t at = __atomic_load_n(&agent.key, __ATOMIC_RELAXED);

	if (at)
		*key = inside_thread_word(at);
	return at;
}

/* Returns that word; 0 if there is none. */
static inline uint32_t thread_key(void)
{
	uint32_t key = 0;

	thread_read_key(&key);
	return key;
}

/* Returns the CPU from rseq's word, if the key is that one, else from the kernel; 0 where a filter
 * forbids to ask. */
uint32_t thread_cpu(void);
/* Takes a slot for the thread and describes the thread there. Without a free one its records are
 * counted as lost. */
void thread_start(struct agent_tls *t);
/* The next record finds no room, and begins the thread anew. Also called for other threads' blocks,
 * in a child in which those threads do not run. */
void thread_forget_buffer(struct agent_tls *t);

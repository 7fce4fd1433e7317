/* SPDX-License-Identifier: MIT */
/* Sums of locks, by thread (lock_points.c). On the thread whose block it is. */
#pragma once
#include "agent/stacks.h"
#include "shared/locks.h"

#define LOCK_HELD 48u
#define LOCK_INDEX_BITS 10u

/* A lock that the thread holds. */
struct lock_held {
	uint64_t lock, since, site;
	uint64_t mixed;           /* of this lock and those that were held before it */
	uint32_t kind, depth;     /* depth: how often the thread has taken it */
};

/* The agent's own memory of one thread: it says where the sums are, and no other process can write
 * to it. */
struct lock_table {
	/* Stack address of a call that is at work in here, 0 = none. A handler that interrupts it
	 * must not touch the rest, nor give the rows' sub-buffer away for good. */
	uint64_t busy;
	uint64_t end;             /* agent_tls.end of the sub-buffer with the rows; 0 = none */
	uint32_t n_held, n_rows;
	struct lock_held held[LOCK_HELD];
	struct { uint64_t key, row; } index[1u << LOCK_INDEX_BITS]; /* row: address; 0 = free */
};

extern uint32_t lock_tables; /* number of tables there are */

/* Returns the thread's table, or NULL. */
static inline struct lock_table *lock_table_of(const struct agent_tls *t)
{
	return lock_tables && agent.settings.tracer != MEMORY_GRAPH_STATE && stack_is_there(t)
		       ? (struct lock_table *)t->stack_base
		       : NULL;
}

/* The thread leaves its sub-buffer: the rows in it are done with. */
static inline void lock_rows_forget(struct agent_tls *t)
{
	struct lock_table *table = lock_table_of(t);

	if (table)
		table->end = 0;
}

/* The block was that of a thread that has ended. */
static inline void lock_held_forget(struct agent_tls *t)
{
	struct lock_table *table = lock_table_of(t);

	if (table)
		table->n_held = 0;
}

/* True if this is a handler that has interrupted a change of a row in the sub-buffer. A call that
 * was left by a longjmp is not at work any more: the stack has gone back beyond it. */
static inline bool lock_rows_busy(struct agent_tls *t)
{
	const struct lock_table *table = lock_table_of(t);

	return table && table->busy > (uint64_t)__builtin_frame_address(0);
}

void lock_tables_after_fork(void); /* in a child: none is another thread's to be had */
void lock_tables_end(void);        /* at a detach: no thread is in here */

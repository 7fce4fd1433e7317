/* SPDX-License-Identifier: MIT */
/* Owns a drain for each session memory. Passes are the session's thread's; any thread may ask for a
 * slot's thread, which the traced program can spoil at any time. Nothing fails: what a program
 * spoiled is left out and counted (drain.c). */
#include "collect/memory_producer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct memory_producer {
	struct producer producer;
	struct memories *memories;
	/* by memory; NULL: the memory came since the last pass */
	struct drain *drains[MEMORIES_MAX];
};

/* A memory may come while the session runs: its drain is made when it is first seen. */
static struct drain *drain_of(struct memory_producer *m, uint32_t memory)
{
	if (!m->drains[memory])
		m->drains[memory] = drain_new(&m->memories->at[memory]);
	return m->drains[memory];
}

static int pass_one(struct drain *d, enum producer_pass pass, drain_sink *sink, void *context,
		    uint64_t *lost, struct err *err)
{
	switch (pass) {
	case PASS_KEEP:
		drain_recycle(d);
		return 0;
	case PASS_LAST:
		return drain_finish(d, sink, context, lost, err);
	default:
		return drain_pass(d, pass == PASS_PARTIAL, sink, context, err);
	}
}

/* The first memory that fails ends the pass. */
static int memory_pass(struct producer *p, enum producer_pass pass, drain_sink *sink, void *context,
		       uint64_t *lost, struct err *err)
{
	struct memory_producer *m = (struct memory_producer *)p;
	int r = 0;

	for (uint32_t i = 0, n = memories_n(m->memories); i < n && r >= 0; i++)
		r = pass_one(drain_of(m, i), pass, sink, context, lost, err);
	return r < 0 ? r : 0;
}

/* The program may have spoiled the name: it gets its end. */
static bool memory_thread(const struct producer *p, uint32_t slot, struct trace_thread *out)
{
	const struct memory_producer *m = (const struct memory_producer *)p;
	const struct memory_thread *t = memories_thread(m->memories, slot);

	*out = (struct trace_thread){
		.pid = t->pid, .tid = t->tid, .image = t->image, .tsc = t->tsc
	};
	memcpy(out->comm, t->comm, sizeof(out->comm));
	out->comm[sizeof(out->comm) - 1] = '\0';
	return true;
}

static void memory_free(struct producer *p)
{
	struct memory_producer *m = (struct memory_producer *)p;

	for (uint32_t i = 0; i < MEMORIES_MAX; i++)
		drain_free(m->drains[i]);
	free(m);
}

struct producer *memory_producer_new(struct memories *memories)
{
	static const struct producer_ops ops = { .pass = memory_pass,
						 .thread = memory_thread,
						 .free = memory_free };
	struct memory_producer *m = mem_zalloc(sizeof(*m));

	m->producer.ops = &ops;
	m->memories = memories;
	return &m->producer;
}

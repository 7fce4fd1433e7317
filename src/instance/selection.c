/* SPDX-License-Identifier: MIT */
/* Judges records by the event filters of an instance, on the tracer's side. The programs run the
 * same filters first when one instance wants an event; when several do they record it whole, and
 * each instance selects here. Readers call it under pump_lock; references are atomic, because
 * chunks are dropped by any thread. */
#include "instance/selection.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shared/filter.h"
#include "shared/record.h"

/* size of the fields before the event's own, which records in the session memory do not have */
#define COMMON_BYTES 8

struct selected {
	uint32_t index;
	uint16_t id;
	struct filter_program *program; /* NULL: all records */
};

struct selection {
	atomic_uint refs;
	struct addresses *addresses;
	VEC(struct selected) at;        /* by index */
};

/* The settings' own program may be freed by the next write. */
static struct filter_program *copy_program(const struct filter_program *p)
{
	struct filter_program *copy = p ? mem_zalloc(p->bytes) : NULL;

	if (p)
		memcpy(copy, p, p->bytes);
	return copy;
}

struct selection *selection_new(const struct event_set *set, struct addresses *addresses)
{
	struct selection *s = mem_zalloc(sizeof(*s));

	atomic_init(&s->refs, 1);
	s->addresses = addresses;
	for (size_t i = 0; i < set->at.n; i++) {
		const struct event_setting *e = &set->at.at[i];

		if (e->enabled)
			*vec_add(&s->at) =
				(struct selected){ e->index,
						   events_at(set->catalogue, e->index)->format->id,
						   copy_program(e->filter.program) };
	}
	return s;
}

struct selection *selection_get(struct selection *s)
{
	/* Relaxed: the caller holds a reference, so that the selection stays. */
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

/* Release and acquire: each pairs with the other selection_put() calls, so that the last holder has
 * seen all uses before it frees. */
void selection_put(struct selection *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < s->at.n; i++)
		free(s->at.at[i].program);
	vec_free(&s->at);
	free(s);
}

bool selection_is_empty(const struct selection *s)
{
	return !s->at.n;
}

static const struct selected *find_rule(const struct selection *s, uint32_t index)
{
	size_t i = vec_bisect(&s->at, e, e->index < index);

	return i < s->at.n && s->at.at[i].index == index ? &s->at.at[i] : NULL;
}

/* The process and time of a record, which resolve_address() translates addresses for. */
struct selection_context {
	struct addresses *addresses;
	const struct trace_info *info;
	uint32_t image;
	uint64_t tsc;
};

/* Gives filters the address that kallsyms shows. */
static uint64_t resolve_address(void *context, uint64_t address)
{
	const struct selection_context *m = context;

	return addresses_resolve(m->addresses, m->info, m->image, address, m->tsc);
}

/* Builds the record as the kernel has it: common fields, then payload. A filter that follows a
 * pointer (FILTER_NEEDS_FETCH) cannot be run here, since the program's memory has changed: the
 * program itself ran it when it made the record, so that every record that arrived passes. */
bool selection_passes(const struct filter_program *p, uint16_t id, const struct event *e,
		      const struct trace_info *info, struct addresses *addresses)
{
	const struct trace_thread *thread = &info->threads.at[e->thread];
	uint64_t record[1 + RECORD_PAYLOAD_MAX];
	struct selection_context selection_context = { addresses, info, thread->image, e->tsc };
	const struct filter_record r = { .bytes = (const uint8_t *)record,
					 .size = COMMON_BYTES + (uint32_t)e->count,
					 .cpu = e->cpu,
					 .comm = trace_thread_name_at(thread, e->tsc),
					 .resolve = resolve_address,
					 .context = &selection_context };

	if (e->count > 8 * RECORD_PAYLOAD_MAX)
		return false;
	if (p->needs & FILTER_NEEDS_FETCH)
		return true;
	record[0] = id | (uint64_t)thread->tid << 32;
	memcpy(record + 1, e->payload, e->count);
	return filter_run(p, p->bytes, &r);
}

bool selection_keeps(const struct selection *s, const struct event *e,
		     const struct trace_info *info)
{
	const struct selected *found = find_rule(s, e->fn);

	return found && (!found->program ||
			 selection_passes(found->program, found->id, e, info, s->addresses));
}

/* SPDX-License-Identifier: MIT */
/* Called on the session's thread alone. The kernel's threads, events and functions are kept in a
 * trace_info of its own, from which the session's gets what records need. A ring that cannot be
 * read ends the pass with -errno and a sentence. */
#include "kernel/producer.h"

#include <stdlib.h>

#include "collect/clock.h"
#include "kernel/symbols.h"
#include "shared/record.h"

struct kernel_producer {
	struct producer producer;
	struct kernel_source *source;
	struct trace_info *own;         /* its threads; and what the trace is still to get */
	struct thread_runs runs;
	uint64_t seen_lost;             /* losses that were told in records */
};

/* Function and depth are one word of payload (record_span()). A return has its duration besides,
 * and a call of the tracer `function` the address of its caller. */
uint64_t kernel_record_add(struct thread_runs *runs, const struct event *e)
{
	/* An unknown number counts as one. */
	const uint64_t lost = e->kind != EVENT_LOST ? 0 : e->count == UINT64_MAX ? 1 : e->count;
	const uint64_t words[2] = { record_span(e->fn, e->count, 0), e->value };
	const bool entry = e->kind == EVENT_ENTRY;
	struct cpu_record record = {
		.tsc = e->tsc, .thread = e->thread, .cpu = e->cpu, .payload = words,
		.type = entry                   ? RECORD_EVENT_KERNEL_ENTRY
			: e->kind == EVENT_CALL ? RECORD_EVENT_KERNEL_CALL
						: RECORD_EVENT_KERNEL_EXIT,
		.n = entry ? 1 : 2,
	};

	if (e->kind == EVENT_LOST) {
		thread_runs_lose(runs, e->thread, lost);
		return lost;
	}
	if (e->kind == EVENT_TRACE) {
		record.type = RECORD_EVENT_TRACE + e->fn;
		record.payload = e->payload;
		record.n = e->count / 8;
	}
	thread_runs_add(runs, &record);
	return 0;
}

void kernel_runs_renumber(thread_run_list *runs, struct kernel_used *used, struct trace_info *info)
{
	kernel_used_add(used, info, TRACE_KERNEL_IMAGE);
	for (size_t i = 0; i < runs->n; i++)
		kernel_used_renumber(used, runs->at[i].words.at, runs->at[i].words.n);
}

/* The sink of kernel_source_pass(). seen_lost repeats what the runs report to the session, so
 * that add_untold() can subtract it from the kernel's own count. */
static int take_event(void *context, const struct event *e, struct err *err)
{
	struct kernel_producer *k = context;

	k->seen_lost += kernel_record_add(&k->runs, e);
	return 0;
}

/* Losses that the kernel counts beyond those its pages told. Records that were overwritten behind
 * the last page which was read have no page that tells of them: only the counters of the last
 * pass know. */
static void add_untold(struct kernel_producer *k)
{
	const uint64_t all = kernel_source_lost(k->source);

	k->runs.lost += all > k->seen_lost ? all - k->seen_lost : 0;
}

/* In the pass that makes room in overwrite mode there is nothing to do: the kernel's buffers
 * overwrite their oldest records themselves. The last pass stops the kernel first, so that
 * everything up to its end is in the rings, and takes them without a bound of time. Every other
 * one leaves what is later than its beginning: rings are read one by one, and a thread that moved
 * to a CPU which was read before would seem to run backwards. */
static int pass(struct producer *p, enum producer_pass pass, drain_sink *sink, void *context,
		uint64_t *lost, struct err *err)
{
	struct kernel_producer *k = (struct kernel_producer *)p;
	const bool last = pass == PASS_LAST;
	const uint64_t now = clock_tsc();
	thread_run_list runs = { 0 };
	bool fresh;
	int e;

	if (pass == PASS_KEEP)
		return 0;
	kernel_source_set_clock(k->source, p->clock);
	if (last)
		kernel_source_stop(k->source);
	e = kernel_source_pass(k->source, last ? UINT64_MAX : now, take_event, k, &fresh, err);
	if (e)
		return e;
	if (last)
		add_untold(k);
	thread_runs_take(&k->runs, p->first_slot, &runs);
	kernel_runs_renumber(&runs, kernel_source_used(k->source), k->own);
	if (last && k->own->threads.n)
		thread_runs_take_losses(&k->runs, p->first_slot, now, &runs);
	else if (last)
		*lost += k->runs.lost;
	return thread_runs_give(&runs, sink, context, err);
}

/* The kernel tells the number of a thread, not of its process. Hence a thread counts as a process
 * of its own here; readers join it to the program's threads by its number. True always: a slot
 * that is not known yet has the kernel's image and no name. */
static bool describe_thread(const struct producer *p, uint32_t slot, struct trace_thread *out)
{
	const struct kernel_producer *k = (const struct kernel_producer *)p;
	const uint32_t i = slot - p->first_slot;

	*out = (struct trace_thread){ .image = TRACE_KERNEL_IMAGE };
	if (i < k->own->threads.n) {
		const struct trace_thread *t = &k->own->threads.at[i];

		*out = (struct trace_thread){ .pid = t->pid, .tid = t->tid, .tsc = t->tsc,
					      .image = TRACE_KERNEL_IMAGE };
		memcpy(out->comm, trace_thread_name(t), TRACE_COMM);
	}
	return true;
}

/* Moves events and functions that are new to the trace. Moved, not copied: the texts of formats
 * and the tables of functions have one owner, which frees them with the trace. `own` keeps its
 * threads, which describe_thread() is asked for by number. */
static void describe(struct producer *p, struct trace_info *info)
{
	struct kernel_producer *k = (struct kernel_producer *)p;

	for (size_t i = 0; i < k->own->events.n; i++)
		*vec_add(&info->events) = k->own->events.at[i];
	for (size_t i = 0; i < k->own->modules.n; i++)
		*vec_add(&info->modules) = k->own->modules.at[i];
	k->own->events.n = k->own->modules.n = 0;
}

/* The kernel's source stays its owner's. */
static void leave_source(struct producer *p)
{
}

void kernel_producer_free(struct kernel_producer *k)
{
	if (!k)
		return;
	thread_runs_free(&k->runs);
	trace_info_free(k->own);
	free(k);
}

struct kernel_producer *kernel_producer_new(struct kernel_source *source, struct err *err)
{
	static const struct producer_ops ops = {
		.of_kernel = true, .pass = pass, .thread = describe_thread, .describe = describe,
		.free = leave_source,
	};
	struct kernel_producer *k = mem_zalloc(sizeof(*k));

	k->producer.ops = &ops;
	k->source = source;
	k->own = trace_info_new();
	if (kernel_source_begin(source, k->own, true, KERNEL_FIRST_EVENT, err)) {
		kernel_producer_free(k);
		return NULL;
	}
	return k;
}

struct producer *kernel_producer_of(struct kernel_producer *k) { return &k->producer; }

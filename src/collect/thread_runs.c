/* SPDX-License-Identifier: MIT */
/* Owns the runs that wait to be passed on. Called by sources that are read by CPU, with their lock
 * held, except for thread_runs_give(). */
#include "collect/thread_runs.h"

#include <string.h>

#include "shared/record.h"

#define RUN_WORDS 8192u /* a longer run is begun anew */
/* The 40 bits of a record's time are told by the record before it, which is at most 2^39 ticks
 * older. */
#define RUN_GAP (UINT64_C(1) << 38)

static struct run_thread *thread_of(struct thread_runs *r, uint32_t thread)
{
	while (r->threads.n <= thread)
		*vec_add(&r->threads) = (struct run_thread){ 0 };
	return &r->threads.at[thread];
}

/* The newest run of the thread, if it has room; else a new one. */
static struct thread_run *run_of(struct thread_runs *r, struct run_thread *t,
				 const struct cpu_record *record, uint64_t tsc)
{
	struct thread_run *newest = t->run ? &r->at.at[t->run - 1] : NULL;

	if (newest && newest->words.n < RUN_WORDS && tsc < t->tsc + RUN_GAP)
		return newest;
	*vec_add(&r->at) = (struct thread_run){ .thread = record->thread,
						.run = { .cpu = record->cpu,
							 .near_tsc = tsc,
							 .lost = t->lost } };
	t->lost = 0;
	t->run = (uint32_t)r->at.n;
	t->cpu = record->cpu;
	return &r->at.at[r->at.n - 1];
}

static void put_record(struct thread_run *run, uint64_t tsc, unsigned type, const uint64_t *payload,
		       size_t n)
{
	*vec_add(&run->words) =
		record_word(tsc, record_event_id((unsigned)n, type), RECORD_EVENT);
	for (size_t i = 0; i < n; i++)
		*vec_add(&run->words) = payload[i];
}

void thread_runs_add(struct thread_runs *r, const struct cpu_record *record)
{
	struct run_thread *t = thread_of(r, record->thread);
	const uint64_t cpu = record->cpu, tsc = record->tsc > t->tsc ? record->tsc : t->tsc;
	struct thread_run *run = run_of(r, t, record, tsc);

	t->tsc = tsc;
	t->first_tsc = t->first_tsc ? t->first_tsc : tsc;
	if (t->cpu != record->cpu)
		put_record(run, tsc, RECORD_EVENT_CPU, &cpu, 1);
	t->cpu = record->cpu;
	put_record(run, tsc, record->type, record->payload, record->n);
	run->run.records++;
	run->run.calls += record_is_call(record_word(
		tsc, record_event_id((unsigned)record->n, record->type), RECORD_EVENT));
}

/* A loss stands before a run, so that the newest one ends here. */
void thread_runs_lose(struct thread_runs *r, uint32_t thread, uint64_t n)
{
	struct run_thread *t = thread_of(r, thread);

	t->lost += n;
	t->run = 0;
}

uint64_t thread_runs_first(const struct thread_runs *r, uint32_t thread)
{
	return thread < r->threads.n ? r->threads.at[thread].first_tsc : 0;
}

/* Completes a run, with the losses that no other bears. */
static void close_run(struct thread_runs *r, struct thread_run *run, uint32_t first_slot)
{
	struct run_thread *t = thread_of(r, run->thread);

	run->run.slot = first_slot + run->thread;
	run->run.lost += r->lost;
	run->run.position = t->position;
	run->run.words = run->words.at;
	run->run.n = run->words.n;
	t->position += run->run.records + run->run.lost;
	t->run = 0;
	r->lost = 0;
}

void thread_runs_take(struct thread_runs *r, uint32_t first_slot, thread_run_list *out)
{
	for (size_t i = 0; i < r->at.n; i++)
		close_run(r, &r->at.at[i], first_slot);
	*out = r->at;
	memset(&r->at, 0, sizeof(r->at));
}

void thread_runs_take_losses(struct thread_runs *r, uint32_t first_slot, uint64_t tsc,
			     thread_run_list *out)
{
	if (!r->lost)
		return;
	*vec_add(out) = (struct thread_run){ .run = { .near_tsc = tsc } };
	close_run(r, &out->at[out->n - 1], first_slot);
}

static void free_runs(thread_run_list *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		vec_free(&runs->at[i].words);
	vec_free(runs);
}

int thread_runs_give(thread_run_list *runs, drain_sink *sink, void *context, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < runs->n && r >= 0; i++)
		r = sink(context, &runs->at[i].run, err);
	free_runs(runs);
	return r;
}

void thread_runs_free(struct thread_runs *r)
{
	free_runs(&r->at);
	vec_free(&r->threads);
}

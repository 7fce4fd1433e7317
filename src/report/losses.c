/* SPDX-License-Identifier: MIT */
/* Sums over threads: those of a file that was cut short are counted by who opened it. */
#include "report/losses.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "report/json.h"
#include "shared/notes.h"

#define THREADS_SHOWN 8

struct losses losses_of(const struct trace_info *info)
{
	struct losses l = { 0 };

	for (size_t i = 0; i < info->threads.n; i++) {
		l.lost += info->threads.at[i].lost;
		l.records += info->threads.at[i].records;
	}
	for (size_t i = 0; i < info->notes.n; i++)
		if (info->notes.at[i].kind == NOTE_FULL)
			l.full = (int)info->notes.at[i].number;
	return l;
}

/* A loss is never 0.0 %, and what is left never 0.0 either. */
static double percent(uint64_t lost, uint64_t records)
{
	double p = 100.0 * (double)lost / ((double)lost + (double)records);

	if (p < 0.1)
		return 0.1;
	return records && p > 99.9 ? 99.9 : p;
}

void losses_sentence(const struct losses *l, struct out *o)
{
	if (!l->lost)
		return;
	out_printf(o, "%" PRIu64 " of %" PRIu64 " records (%.1f %%) were lost: counts and times are too low, and the nesting "
		   "is a guess where they are missing; ", l->lost, l->lost + l->records, percent(l->lost, l->records));
	if (l->full)
		out_printf(o, "the trace file could not take all: %s", strerror(l->full));
	else
		out_str(o, "--mode block loses none, a larger -b fewer");
}

static int by_loss(const void *a, const void *b)
{
	const struct trace_thread *x = *(const struct trace_thread *const *)a, *y = *(const struct trace_thread *const *)b;

	if (x->lost != y->lost)
		return x->lost > y->lost ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

typedef VEC(const struct trace_thread *) thread_list;

/* Those that lost something, the worst first. */
static thread_list losers(const struct trace_info *info)
{
	thread_list out = { 0 };

	for (size_t i = 0; i < info->threads.n; i++)
		if (info->threads.at[i].lost)
			*vec_add(&out) = &info->threads.at[i];
	if (out.n)
		qsort(out.at, out.n, sizeof(out.at[0]), by_loss);
	return out;
}

static void print_thread(const struct trace_thread *t, struct out *o)
{
	out_str(o, "#   ");
	out_foreign(o, trace_thread_name(t), sizeof(t->comm));
	out_printf(o, "-%" PRIu32 ": %" PRIu64 " of %" PRIu64 " (%.1f %%)\n", t->tid, t->lost, t->lost + t->records,
		   percent(t->lost, t->records));
}

void losses_print(const struct trace_info *info, struct out *o)
{
	const struct losses l = losses_of(info);
	thread_list threads;

	if (!l.lost)
		return;
	out_str(o, "# ");
	losses_sentence(&l, o);
	out_char(o, '\n');
	threads = losers(info);
	for (size_t i = 0; i < threads.n && i < THREADS_SHOWN; i++)
		print_thread(threads.at[i], o);
	if (threads.n > THREADS_SHOWN)
		out_printf(o, "#   and %zu threads more; brace info has them all\n", threads.n - THREADS_SHOWN);
	vec_free(&threads);
}

static void print_thread_json(const struct trace_thread *t, struct out *o)
{
	char comm[sizeof(t->comm) + 1];

	snprintf(comm, sizeof(comm), "%.16s", trace_thread_name(t));
	out_printf(o, "{\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"comm\":", t->pid, t->tid);
	json_string(o, comm);
	out_printf(o, ",\"records\":%" PRIu64 ",\"lost\":%" PRIu64 "}", t->records, t->lost);
}

void losses_print_json(const struct trace_info *info, struct out *o)
{
	const struct losses l = losses_of(info);
	thread_list threads = losers(info);

	out_printf(o, ",\"records\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"lost_by\":[", l.records, l.lost);
	for (size_t i = 0; i < threads.n; i++) {
		out_str(o, i ? "," : "");
		print_thread_json(threads.at[i], o);
	}
	out_char(o, ']');
	vec_free(&threads);
}

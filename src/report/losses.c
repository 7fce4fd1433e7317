/* SPDX-License-Identifier: MIT */
/* Sums losses over threads, for all reports. A file that was cut short has these counts from the
 * reader that opened it (store/reader.c). */
#include "report/losses.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "base/json.h"
#include "shared/messages.h"

#define THREADS_SHOWN 8

/* The message's number is the errno with which the file became full. Nothing is kept between two
 * calls: a live session's info grows. */
struct losses losses_of(const struct trace_info *info)
{
	struct losses l = { .kernel = trace_info_is_kernel(info) };

	for (size_t i = 0; i < info->threads.n; i++) {
		l.lost += info->threads.at[i].lost;
		l.records += info->threads.at[i].records;
		if (trace_info_is_kernel_thread(info, (uint32_t)i))
			l.of_kernel += info->threads.at[i].lost;
	}
	for (size_t i = 0; i < info->messages.n; i++)
		if (info->messages.at[i].kind == MESSAGE_FULL)
			l.full = (int)info->messages.at[i].number;
	return l;
}

/* Percentage of lost records. A loss never shows as 0.0 %, nor as 100 % while records are left.
 * lost is not 0: callers have looked. */
static double percent(uint64_t lost, uint64_t records)
{
	double p = 100.0 * (double)lost / ((double)lost + (double)records);

	if (p < 0.1)
		return 0.1;
	return records && p > 99.9 ? 99.9 : p;
}

/* Advice against such losses. The sentences name options of `brace record`: -b is the size of a
 * buffer, with k: of the kernel's. A program can wait for room (--mode block); the kernel
 * cannot. */
static const char *what_helps(const struct losses *l)
{
	if (l->kernel)
		return "a larger -b loses fewer";
	if (l->of_kernel == l->lost)
		return "all are the kernel's, of which a larger -b k:SIZE loses fewer";
	if (l->of_kernel)
		return "--mode block loses none of the program's, a larger -b fewer, and a larger -b k:SIZE fewer of the kernel's";
	return "--mode block loses none, a larger -b fewer";
}

void losses_sentence(const struct losses *l, struct out *o)
{
	if (!l->lost)
		return;
	out_printf(o,
		   "%" PRIu64 " of %" PRIu64
		   " records (%.1f %%) were lost: counts and times are too low, and the nesting "
		   "is a guess where they are missing; ",
		   l->lost, l->lost + l->records, percent(l->lost, l->records));
	if (l->full)
		out_printf(o, "the trace file could not take all: %s", strerror(l->full));
	else
		out_str(o, what_helps(l));
}

/* Equal losses by id, so that the list is always the same. */
static int by_loss(const void *a, const void *b)
{
	const struct trace_thread *x = *(const struct trace_thread *const *)a,
				  *y = *(const struct trace_thread *const *)b;

	if (x->lost != y->lost)
		return x->lost > y->lost ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Pointers into the trace_info, which does not change meanwhile. */
typedef VEC(const struct trace_thread *) thread_list;

/* The threads that lost something, the worst first. vec_free the result. */
static thread_list count_losers(const struct trace_info *info)
{
	thread_list out = { 0 };

	for (size_t i = 0; i < info->threads.n; i++)
		if (info->threads.at[i].lost)
			*vec_add(&out) = &info->threads.at[i];
	if (out.n)
		qsort(out.at, out.n, sizeof(out.at[0]), by_loss);
	return out;
}

/* "#   NAME-TID: LOST of ALL (P %)" */
static void print_thread(const struct trace_thread *t, struct out *o)
{
	out_str(o, "#   ");
	out_foreign(o, trace_thread_name(t), sizeof(t->comm));
	out_printf(o, "-%" PRIu32 ": %" PRIu64 " of %" PRIu64 " (%.1f %%)\n", t->tid, t->lost,
		   t->lost + t->records, percent(t->lost, t->records));
}

/* Names the THREADS_SHOWN that lost most: a program may have thousands. */
void losses_print(const struct trace_info *info, struct out *o)
{
	const struct losses l = losses_of(info);
	thread_list threads;

	if (!l.lost)
		return;
	out_str(o, "# ");
	losses_sentence(&l, o);
	out_char(o, '\n');
	threads = count_losers(info);
	for (size_t i = 0; i < threads.n && i < THREADS_SHOWN; i++)
		print_thread(threads.at[i], o);
	if (threads.n > THREADS_SHOWN)
		out_printf(o, "#   and %zu threads more; brace info has them all\n",
			   threads.n - THREADS_SHOWN);
	vec_free(&threads);
}

static void print_thread_json(const struct trace_thread *t, struct out *o)
{
	/* comm may lack its NUL. */
	char comm[sizeof(t->comm) + 1];

	snprintf(comm, sizeof(comm), "%.16s", trace_thread_name(t));
	out_printf(o, "{\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"comm\":", t->pid, t->tid);
	json_string(o, comm);
	out_printf(o, ",\"records\":%" PRIu64 ",\"lost\":%" PRIu64 "}", t->records, t->lost);
}

/* Threads by their losses, the greatest first; none if nothing was lost. */
void losses_print_json(const struct trace_info *info, struct out *o)
{
	const struct losses l = losses_of(info);
	thread_list threads = count_losers(info);

	out_printf(o, ",\"records\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"lost_by\":[", l.records,
		   l.lost);
	for (size_t i = 0; i < threads.n; i++) {
		out_str(o, i ? "," : "");
		print_thread_json(threads.at[i], o);
	}
	out_char(o, ']');
	vec_free(&threads);
}

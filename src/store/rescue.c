/* SPDX-License-Identifier: MIT */
/* Ends a file that cannot take everything: a full disk, a quota, a limit, no memory to compress.
 * The information that makes a file readable stands at its end, so that as many of its last
 * packets as needed make room for it, and the records that are not in the file are reported as
 * lost, thread by thread. store_end calls it in the writer's thread, after the workers have
 * ended. */
#include <errno.h>

#include "shared/messages.h"
#include "store/pipeline.h"
#include "store/writer.h"

/* By thread: records and losses that there were (all), and what the file has of them. */
struct counts { uint64_t all, kept, told, calls; };

static void count_all(const struct trace_info *info, struct counts *counts)
{
	for (size_t t = 0; t < info->threads.n; t++)
		counts[t].all = info->threads.at[t].records + info->threads.at[t].lost;
}

/* Counts what the packets in the file have. */
static void count_kept(const struct pipeline *p, struct counts *counts, size_t n)
{
	const struct packet_entry *entries;
	size_t n_entries = pipeline_index(p, &entries);

	for (size_t t = 0; t < n; t++)
		counts[t].kept = counts[t].told = counts[t].calls = 0;
	for (size_t i = 0; i < n_entries; i++) {
		const struct packet_records *r = &entries[i].head.records;

		if (entries[i].head.type != PACKET_RECORDS || r->thread >= n)
			continue;
		counts[r->thread].kept += r->records;
		counts[r->thread].told += r->lost;
		counts[r->thread].calls += r->calls;
	}
}

/* Puts the counts of the file into info, for the items that are written next. */
static void tell_losses(struct trace_info *info, const struct counts *counts)
{
	info->total = (struct trace_total){ .bytes = info->total.bytes };
	for (size_t t = 0; t < info->threads.n; t++) {
		struct trace_thread *thread = &info->threads.at[t];

		thread->records = counts[t].kept;
		thread->lost = counts[t].all > counts[t].kept ? counts[t].all - counts[t].kept : 0;
		info->total.records += thread->records;
		info->total.lost += thread->lost;
		info->total.calls += counts[t].calls;
	}
}

/* Writes each thread's loss behind the last of its records in the file. */
static int put_losses(struct store_writer *w, const struct trace_info *info,
		      const struct counts *counts, struct err *err)
{
	int r = 0;

	for (uint32_t t = 0; t < info->threads.n && !r; t++)
		if (info->threads.at[t].lost > counts[t].told)
			r = writer_put_lost(w, t, info->threads.at[t].lost - counts[t].told, err);
	return r;
}

/* Errors that less content may avoid. */
static bool is_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG;
}

/* Losses, then items, then the index. */
static int put_end(struct store_writer *w, const struct trace_info *info,
		   const struct counts *counts, struct err *err)
{
	int r = put_losses(w, info, counts, err);

	if (!r)
		r = writer_put_rest(w, err);
	return r ? r : pipeline_end(writer_pipeline(w), err);
}

/* Writes the end of the file, giving up more and more packets (1, 2, 4, ...) until it fits. Returns
 * 0 if the file has an end, otherwise the last error. */
static int rescue_counts(struct store_writer *w, struct trace_info *info, int error,
			 struct err *err)
{
	struct counts *counts = mem_zalloc((info->threads.n + 1) * sizeof(*counts));
	struct pipeline *p = writer_pipeline(w);
	const struct packet_entry *entries;
	size_t keep, less = 1;
	int r = error;

	pipeline_stop(p);
	keep = pipeline_index(p, &entries);
	*vec_add(&info->messages) = (struct trace_message){ .kind = MESSAGE_FULL,
							    .number = (uint32_t)-error,
							    .count = 1 };
	count_all(info, counts);
	/* Another error than a full file (memory for the compressor) may not come again: one
	 * try. */
	for (bool first = true; (first || is_full(r)) && pipeline_keep(p, keep) == 0;
	     first = false) {
		/* Everything of info that was written may just have been cut off. */
		writer_begin_anew(w);
		count_kept(p, counts, info->threads.n);
		tell_losses(info, counts);
		r = put_end(w, info, counts, err);
		if (!r || !keep)
			break;
		keep -= less < keep ? less : keep;
		less *= 2;
	}
	/* info must not claim what the file does not have. */
	if (r) {
		count_kept(p, counts, info->threads.n);
		tell_losses(info, counts);
	}
	free(counts);
	return r;
}

int store_end(struct store_writer *w, struct trace_info *info, struct err *why, struct err *err)
{
	int r = store_count(w, info, why), closed;

	if (!r)
		r = writer_put_all(w, why);
	if (!r)
		r = pipeline_end(writer_pipeline(w), why);
	if (r)
		r = rescue_counts(w, info, r, err);
	closed = pipeline_finish(writer_pipeline(w), true, r ? NULL : err);
	writer_free(w);
	return r ? r : closed;
}

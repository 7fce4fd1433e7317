/* SPDX-License-Identifier: MIT */
/* The end of a file that cannot take all: a full disk, a quota, a limit for the size of files. What makes sense of a file stands at its
 * end, so as many of its last chunks as are needed make room for it, and what is not in the file is told as lost, thread by thread. */
#include <errno.h>

#include "shared/notes.h"
#include "store/pipeline.h"
#include "store/writer.h"

/* By thread: records and losses that there were, and those that the file has. */
struct counts { uint64_t all, kept, told, calls; };

static void count_all(const struct trace_info *info, struct counts *counts)
{
	for (size_t t = 0; t < info->threads.n; t++)
		counts[t].all = info->threads.at[t].records + info->threads.at[t].lost;
}

static void count_kept(const struct pipeline *p, struct counts *counts, size_t n)
{
	const struct chunk_place *places;
	size_t n_places = pipeline_places(p, &places);

	for (size_t t = 0; t < n; t++)
		counts[t].kept = counts[t].told = counts[t].calls = 0;
	for (size_t i = 0; i < n_places; i++) {
		const struct chunk_records *r = &places[i].head.records;

		if (places[i].head.type != CHUNK_RECORDS || r->thread >= n)
			continue;
		counts[r->thread].kept += r->records;
		counts[r->thread].told += r->lost;
		counts[r->thread].calls += r->calls;
	}
}

static void tell(struct trace_info *info, const struct counts *counts)
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

/* Each thread's loss stands behind the last of its records that is there. */
static int put_losses(struct store_writer *w, const struct trace_info *info, const struct counts *counts, struct err *err)
{
	int r = 0;

	for (uint32_t t = 0; t < info->threads.n && !r; t++)
		if (info->threads.at[t].lost > counts[t].told)
			r = writer_put_lost(w, t, info->threads.at[t].lost - counts[t].told, err);
	return r;
}

static bool is_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG;
}

static int put_end(struct store_writer *w, const struct trace_info *info, const struct counts *counts, struct err *err)
{
	int r = put_losses(w, info, counts, err);

	if (!r)
		r = writer_put_rest(w, err);
	return r ? r : pipeline_end(writer_pipeline(w), err);
}

/* 0: the file has an end. */
static int rescue(struct store_writer *w, struct trace_info *info, int error, struct err *err)
{
	struct counts *counts = mem_zalloc((info->threads.n + 1) * sizeof(*counts));
	struct pipeline *p = writer_pipeline(w);
	const struct chunk_place *places;
	size_t keep, less = 1;
	int r = error;

	pipeline_stop(p);
	keep = pipeline_places(p, &places);
	*vec_add(&info->notes) = (struct trace_note){ .kind = NOTE_FULL, .number = (uint32_t)-error, .count = 1 };
	count_all(info, counts);
	while (is_full(r) && pipeline_keep(p, keep) == 0) {
		writer_begin_anew(w);
		count_kept(p, counts, info->threads.n);
		tell(info, counts);
		r = put_end(w, info, counts, err);
		if (!r || !keep)
			break;
		keep -= less < keep ? less : keep;
		less *= 2;
	}
	if (r) {
		count_kept(p, counts, info->threads.n);
		tell(info, counts);
	}
	free(counts);
	return r;
}

int store_end(struct store_writer *w, struct trace_info *info, struct err *why, struct err *err)
{
	int r = writer_put_all(w, why), closed;

	if (!r)
		r = pipeline_end(writer_pipeline(w), why);
	if (r)
		r = rescue(w, info, r, err);
	closed = pipeline_finish(writer_pipeline(w), true, r ? NULL : err);
	writer_free(w);
	return r ? r : closed;
}

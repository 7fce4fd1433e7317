/* SPDX-License-Identifier: MIT */
/* The layout is linux/perf_event.h's, for attr.sample_type KERNEL_PERF_SAMPLE and sample_id_all.
 * Called by tracepoints_rings.c for each record, and by the fuzz target. Nothing is kept. Any
 * thread. A damaged record is of the kind OTHER. */
#include "kernel/perf_record.h"

#include <linux/perf_event.h>

#include "base/cursor.h"

/* pid, tid, time, cpu and a word of nothing. */
#define ID_BYTES 24u
/* A tracepoint's common fields, without which nobody knows whose record it is. */
#define COMMON_BYTES 8u

static void read_id(struct cursor *c, struct kernel_perf_record *out)
{
	cursor_u32(c);
	out->tid = cursor_u32(c);
	out->time = cursor_u64(c);
	cursor_u64(c);
}

/* The data's size counts the bytes that fill it up to whole words, too. */
static bool read_sample(struct cursor c, struct kernel_perf_record *out)
{
	read_id(&c, out);
	out->n = cursor_u32(&c);
	out->data = cursor_bytes(&c, out->n);
	out->kind = KERNEL_PERF_SAMPLE_OF;
	return !c.bad && out->n >= COMMON_BYTES;
}

static void read_comm(struct cursor c, struct kernel_perf_record *out)
{
	cursor_u32(&c);
	out->tid = cursor_u32(&c);
	for (size_t i = 0; i + 1 < sizeof(out->comm) && cursor_left(&c); i++) {
		const char letter = (char)cursor_u8(&c);

		if (!letter)
			break;
		/* A name is a line's end elsewhere. */
		out->comm[i] = letter == '\n' ? ' ' : letter;
	}
	out->kind = KERNEL_PERF_COMM;
}

/* pid, ppid, tid, ptid. */
static void read_fork(struct cursor c, struct kernel_perf_record *out)
{
	cursor_u64(&c);
	out->tid = cursor_u32(&c);
	out->parent = cursor_u32(&c);
	out->kind = KERNEL_PERF_FORK;
}

/* An id, then the number. */
static void read_lost(struct cursor c, struct kernel_perf_record *out)
{
	cursor_u64(&c);
	out->lost = cursor_u64(&c);
	out->kind = KERNEL_PERF_LOST;
}

/* The thread's and the time come last, in records that are no samples. */
static bool read_beside(const struct perf_event_header *h, struct cursor c,
			struct kernel_perf_record *out)
{
	struct cursor id = c;

	if (cursor_left(&c) < ID_BYTES)
		return false;
	cursor_bytes(&id, cursor_left(&c) - ID_BYTES);
	c.end -= ID_BYTES;
	read_id(&id, out);
	if (h->type == PERF_RECORD_COMM)
		read_comm(c, out);
	else if (h->type == PERF_RECORD_FORK)
		read_fork(c, out);
	else if (h->type == PERF_RECORD_LOST)
		read_lost(c, out);
	else if (h->type == PERF_RECORD_SWITCH && !(h->misc & PERF_RECORD_MISC_SWITCH_OUT))
		out->kind = KERNEL_PERF_RUNS;
	return out->kind != KERNEL_PERF_OTHER;
}

bool kernel_perf_record_read(const void *bytes, size_t n, struct kernel_perf_record *out)
{
	struct cursor c = cursor_of(bytes, n);
	const struct perf_event_header *at = cursor_bytes(&c, sizeof(*at));
	struct perf_event_header h;
	bool is;

	*out = (struct kernel_perf_record){ 0 };
	if (!at)
		return false;
	memcpy(&h, at, sizeof(h));
	is = h.type == PERF_RECORD_SAMPLE ? read_sample(c, out) : read_beside(&h, c, out);
	if (!is)
		out->kind = KERNEL_PERF_OTHER;
	return is;
}

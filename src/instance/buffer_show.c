/* SPDX-License-Identifier: MIT */
/* Prints an instance's buffer and its snapshot (`cat trace`, `cat snapshot`, ftrace_dump) without
 * taking anything away. Callers have pump_lock, because printing needs the names in trace_info;
 * b->lock is only taken to copy what is printed, so that recording goes on meanwhile. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "instance/buffer_internal.h"
#include "report/callers.h"

/* The nanoseconds by which the clock is ahead of CLOCK_MONOTONIC, which is what the kernel's own
 * clocks count from. */
static int64_t clock_ahead(clockid_t id)
{
	struct timespec mono, other;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(id, &other);
	return (other.tv_sec - mono.tv_sec) * INT64_C(1000000000) + other.tv_nsec - mono.tv_nsec;
}

void buffer_set_clock(struct trace_clock *clock, enum clock_choice choice)
{
	/* By clock: its unit, and the kernel's clock whose zero it has. */
	static const struct { enum trace_clock_unit unit; clockid_t id; } of[TRACE_CLOCKS_N] = {
		[TRACE_CLOCK_LOCAL] = { CLOCK_IN_NS, CLOCK_MONOTONIC },
		[TRACE_CLOCK_GLOBAL] = { CLOCK_IN_NS, CLOCK_MONOTONIC },
		[TRACE_CLOCK_COUNTER] = { CLOCK_IN_RECORDS, CLOCK_MONOTONIC },
		[TRACE_CLOCK_UPTIME] = { CLOCK_IN_TICKS, CLOCK_MONOTONIC },
		[TRACE_CLOCK_PERF] = { CLOCK_IN_NS, CLOCK_MONOTONIC },
		[TRACE_CLOCK_MONO] = { CLOCK_IN_NS, CLOCK_MONOTONIC },
		[TRACE_CLOCK_MONO_RAW] = { CLOCK_IN_NS, CLOCK_MONOTONIC_RAW },
		[TRACE_CLOCK_BOOT] = { CLOCK_IN_NS, CLOCK_BOOTTIME },
		[TRACE_CLOCK_TAI] = { CLOCK_IN_NS, CLOCK_TAI },
		[TRACE_CLOCK_STAMP] = { CLOCK_IN_TSC, CLOCK_MONOTONIC },
	};

	clock->unit = of[choice].unit;
	/* The difference is that of now: of a clock that is set while the trace is recorded,
	 * earlier times are off. */
	clock->ahead_ns = of[choice].id == CLOCK_MONOTONIC ? 0 : clock_ahead(of[choice].id);
}

void buffer_choose_clock(struct trace_info *info, const struct settings *s)
{
	buffer_set_clock(&info->clock, s->clock);
}

/* The session records a union: what a reader sees is this instance's tracer. */
void buffer_name_tracer(struct trace_info *info, const struct settings *s)
{
	buffer_choose_clock(info, s);
	free(info->tracer);
	info->tracer = mem_strdup(s->tracer->name);
}

void buffer_off(struct buffer *b, off_periods *out)
{
	pthread_mutex_lock(&b->lock);
	off_periods_copy(out, &b->off);
	off_periods_unite(out, &b->pauses);
	pthread_mutex_unlock(&b->lock);
}

/* Takes the chunks over. Records of times when recording was off, or that were cleared, are left
 * out. */
static struct source *merge_all(struct buffer *b, struct trace_info *info, chunk_list *chunks,
				struct merge_filter filter)
{
	struct source *source;

	pthread_mutex_lock(&b->lock);
	off_periods_copy(&filter.off, &b->off);
	off_periods_unite(&filter.off, &b->pauses);
	off_discards_copy(&filter.gone, &b->gone);
	pthread_mutex_unlock(&b->lock);
	/* The merge copies the lists of the filter. */
	source = merge_chunks(info, chunks, &filter);
	vec_free(&filter.off);
	vec_free(&filter.gone);
	return source;
}

struct source *buffer_merge_until(struct buffer *b, struct trace_info *info, chunk_list *chunks,
				  uint64_t until)
{
	return merge_all(b, info, chunks,
			 (struct merge_filter){ .until = until, .clock = b->clock });
}

struct source *buffer_merge_before(struct buffer *b, struct trace_info *info, chunk_list *chunks,
				   unsigned cpu, uint64_t tsc)
{
	return merge_all(b, info, chunks,
			 (struct merge_filter){ .one_cpu = cpu != BUFFER_ALL_CPUS,
						.cpu = (uint16_t)cpu,
						.before = tsc,
						.clock = b->clock });
}

struct source *buffer_merge(struct buffer *b, struct trace_info *info, chunk_list *chunks,
			    unsigned cpu)
{
	return buffer_merge_before(b, info, chunks, cpu, 0);
}

/* Prints the source's events, with a header if there is one, and closes the source. callers: NULL
 * if not wanted; freed here. 0, or the source's -errno and *err. */
static int print_all(struct source *source, struct callers *callers,
		     const struct trace_header *header, uint64_t options, struct out *out,
		     struct err *err)
{
	struct printer printer;
	struct event e;
	int r;

	printer_open(&printer, source->info, options, out);
	printer_set_callers(&printer, callers);
	if (header)
		printer_header(&printer, header);
	while ((r = source->ops->next(source, &e, err)) > 0)
		printer_event(&printer, &e);
	printer_close(&printer);
	source->ops->close(source);
	callers_free(callers);
	return r;
}

/* For funcgraph-retaddr. The list stays the caller's. */
static struct callers *find_callers(struct buffer *b, struct trace_info *info,
				    const chunk_list *chunks, unsigned cpu, uint64_t options)
{
	chunk_list copy = { 0 };
	struct err ignored;

	if (!printer_wants_callers(info, options))
		return NULL;
	chunk_list_copy(&copy, chunks->at, chunks->n);
	return callers_find(buffer_merge(b, info, &copy, cpu), &ignored);
}

/* A sink that cannot fail. */
int buffer_take_text(void *text, const char *bytes, size_t n)
{
	buffer_text *t = text;

	vec_reserve(t, t->n + n);
	memcpy(t->at + t->n, bytes, n);
	t->n += n;
	return 0;
}

/* For the trigger `dump`: the text is kept until the next one. Needs pump_lock, which keeps info
 * as it is. */
void buffer_dump(struct buffer *b, struct trace_info *info, unsigned cpu)
{
	static const char line[] = "---------------------------------\n";
	buffer_text dumped = { 0 }, old;
	struct settings s;
	chunk_list chunks = { 0 };
	struct callers *callers;
	struct out out;
	struct err ignored;

	/* Copies the settings, because printing takes long and b->lock keeps records out. */
	pthread_mutex_lock(&b->lock);
	settings_copy(&s, &b->settings);
	pthread_mutex_unlock(&b->lock);
	out_init_raw(&out, buffer_take_text, &dumped);
	out_printf(&out, "Dumping ftrace buffer:\n%s", line);
	ring_copy(&b->ring, &chunks);
	buffer_name_tracer(info, &s);
	callers = find_callers(b, info, &chunks, cpu, s.options);
	print_all(buffer_merge(b, info, &chunks, cpu), callers, NULL, s.options, &out, &ignored);
	out_str(&out, line);
	out_flush(&out);
	out_free(&out);
	settings_free(&s);
	pthread_mutex_lock(&b->lock);
	/* A reader gets the old text or the new one, whole. */
	old = b->dumped;
	b->dumped = dumped;
	pthread_mutex_unlock(&b->lock);
	vec_free(&old);
}

#define PRINTED_MOST (4u << 20) /* the older half goes then */

void buffer_print(struct buffer *b, const char *line)
{
	size_t over;

	pthread_mutex_lock(&b->lock);
	buffer_take_text(&b->dumped, line, strlen(line));
	over = b->dumped.n > PRINTED_MOST ? b->dumped.n / 2 : 0;
	while (over && over < b->dumped.n && b->dumped.at[over - 1] != '\n')
		over++; /* whole lines stay */
	memmove(b->dumped.at, b->dumped.at + over, b->dumped.n - over);
	b->dumped.n -= over;
	pthread_mutex_unlock(&b->lock);
}

void buffer_show_dump(struct buffer *b, struct out *out)
{
	pthread_mutex_lock(&b->lock);
	out_bytes(out, b->dumped.at, b->dumped.n);
	pthread_mutex_unlock(&b->lock);
}

/* The second figure counts records that are there, were overwritten, or were lost. */
static struct trace_header make_trace_header(const struct ring_counts *c)
{
	return (struct trace_header){ .empty = !c->entries,
				      .entries = c->entries,
				      .written = c->entries + c->overrun + c->lost,
				      .overrun = c->overrun > 0 };
}

/* Whether records of some CPU were read or cleared. Their chunks are still in the ring, so the
 * ring's own counts are too high. */
static bool has_gone(struct buffer *b)
{
	bool gone;

	pthread_mutex_lock(&b->lock);
	gone = b->gone.n;
	pthread_mutex_unlock(&b->lock);
	return gone;
}

/* The counts for the head of the text. Counting one CPU's records means unpacking them all, so it
 * is only done where the ring's counters do not do. */
static struct ring_counts count_for(struct buffer *b, struct trace_info *info, unsigned cpu)
{
	struct ring_counts all = ring_counts(&b->ring);
	uint64_t oldest;

	if (cpu != BUFFER_ALL_CPUS)
		return buffer_count(b, info, cpu, &oldest);
	if (has_gone(b))
		all.entries = buffer_count(b, info, cpu, &oldest).entries;
	return all;
}

/* Says what a condition on returned values leaves out of the text. */
static void say_held(const struct buffer *b, struct out *out)
{
	struct held_counts c = buffer_held(b);

	if (c.open)
		out_printf(out, "# %" PRIu32 " call%s with a condition on $retval %s not returned, "
				"and %s left out\n",
			   c.open, c.open == 1 ? "" : "s", c.open == 1 ? "has" : "have",
			   c.open == 1 ? "is" : "are");
	if (c.too_long)
		out_printf(out, "# %" PRIu32 " call%s with a condition on $retval could not be held "
				"back until the return, and %s left out\n",
			   c.too_long, c.too_long == 1 ? "" : "s", c.too_long == 1 ? "is" : "are");
}

/* The file `trace`: reading it takes nothing away. */
int buffer_show(struct buffer *b, struct trace_info *info, const struct settings *s, unsigned cpu,
		struct out *out, struct err *err)
{
	/* The head's figures are of before the copy: records may come in between. */
	struct ring_counts counts = count_for(b, info, cpu);
	struct trace_header header = make_trace_header(&counts);
	struct callers *callers;
	chunk_list chunks = { 0 };

	/* A latency tracer's `trace` is what it has kept; before that, nothing. */
	if (buffer_has_latency(b)) {
		header = (struct trace_header){ .empty = true };
		if (buffer_snapshot_show(b, info, s, cpu, out))
			return 0;
	} else {
		ring_copy(&b->ring, &chunks);
	}
	buffer_name_tracer(info, s);
	callers = find_callers(b, info, &chunks, cpu, s->options);
	say_held(b, out);
	return print_all(buffer_merge(b, info, &chunks, cpu), callers, &header, s->options, out,
			 err);
}

/* Closes the source. */
static struct ring_counts count_all(struct source *source, uint64_t *oldest_tsc)
{
	struct ring_counts counts = { 0 };
	struct event e;
	struct err ignored;

	*oldest_tsc = 0;
	while (source->ops->next(source, &e, &ignored) > 0) {
		/* Sleeps are no records of the trace, only times within calls. */
		if (e.kind == EVENT_SLEPT)
			continue;
		if (!*oldest_tsc)
			*oldest_tsc = e.tsc;
		if (e.kind == EVENT_LOST)
			counts.lost += e.count;
		else
			counts.entries++;
	}
	source->ops->close(source);
	counts.bytes = counts.entries * sizeof(uint64_t);
	return counts;
}

struct ring_counts buffer_count(struct buffer *b, struct trace_info *info, unsigned cpu,
				uint64_t *oldest_tsc)
{
	chunk_list chunks = { 0 };

	ring_copy(&b->ring, &chunks);
	return count_all(buffer_merge(b, info, &chunks, cpu), oldest_tsc);
}

/* --- the snapshot ------------------------------------------------------------------- */

void buffer_snapshot_free(struct buffer_snapshot *s)
{
	chunk_list_free(&s->chunks);
	vec_free(&s->off);
	vec_free(&s->gone);
	*s = (struct buffer_snapshot){ 0 };
}

/* The ring begins anew; its chunks are moved, not copied. */
void buffer_snapshot_take(struct buffer *b)
{
	off_periods off = { 0 };

	if (buffer_has_latency(b))
		return; /* the place is the tracer's, as in ftrace */
	/* buffer_off() takes b->lock itself. */
	buffer_off(b, &off);
	pthread_mutex_lock(&b->snapshot_raw.lock);
	pthread_mutex_lock(&b->lock);
	buffer_raw_drop(&b->snapshot_raw);
	buffer_snapshot_free(&b->snapshot);
	b->snapshot.taken = true;
	b->snapshot.off = off;
	off_discards_copy(&b->snapshot.gone, &b->gone);
	b->snapshot.counts = ring_move(&b->ring, &b->snapshot.chunks);
	pthread_mutex_unlock(&b->lock);
	pthread_mutex_unlock(&b->snapshot_raw.lock);
}

bool buffer_has_latency(struct buffer *b)
{
	bool has;

	pthread_mutex_lock(&b->lock);
	has = b->settings.tracer->wakes;
	pthread_mutex_unlock(&b->lock);
	return has;
}

void buffer_snapshot_keep(struct buffer *b, struct ring *from, const struct trace_latency *l)
{
	pthread_mutex_lock(&b->snapshot_raw.lock);
	pthread_mutex_lock(&b->lock);
	buffer_raw_drop(&b->snapshot_raw);
	buffer_snapshot_free(&b->snapshot);
	b->snapshot.taken = b->snapshot.is_latency = true;
	b->snapshot.latency = *l;
	b->snapshot.counts = ring_move(from, &b->snapshot.chunks);
	b->max_latency_us = l->us;
	pthread_mutex_unlock(&b->lock);
	pthread_mutex_unlock(&b->snapshot_raw.lock);
}

void buffer_snapshot_drop(struct buffer *b)
{
	pthread_mutex_lock(&b->snapshot_raw.lock);
	pthread_mutex_lock(&b->lock);
	buffer_raw_drop(&b->snapshot_raw);
	buffer_snapshot_free(&b->snapshot);
	pthread_mutex_unlock(&b->lock);
	pthread_mutex_unlock(&b->snapshot_raw.lock);
}

void buffer_snapshot_clear_cpu(struct buffer *b, unsigned cpu)
{
	/* UINT64_MAX: all of its records are from before it. */
	pthread_mutex_lock(&b->lock);
	off_discard_before(&b->snapshot.gone, cpu, UINT64_MAX);
	pthread_mutex_unlock(&b->lock);
	buffer_raw_clear_cpu(&b->snapshot_raw, cpu);
}

/* NULL: there is no snapshot, or it is empty. */
struct source *buffer_snapshot_merge(struct buffer *b, struct trace_info *info, unsigned cpu)
{
	struct merge_filter filter = { .one_cpu = cpu != BUFFER_ALL_CPUS,
				       .cpu = (uint16_t)cpu,
				       .clock = b->clock };
	struct source *source = NULL;
	chunk_list chunks = { 0 };

	pthread_mutex_lock(&b->lock);
	if (b->snapshot.taken && b->snapshot.counts.entries) {
		filter.off = b->snapshot.off;
		filter.gone = b->snapshot.gone;
		chunk_list_copy(&chunks, b->snapshot.chunks.at, b->snapshot.chunks.n);
		source = merge_chunks(info, &chunks, &filter);
	}
	pthread_mutex_unlock(&b->lock);
	return source;
}

/* Records that were read, or cleared by CPU, do not count any more; those that were gone before the
 * snapshot was taken still do. */
static struct ring_counts count_snapshot(struct buffer *b, struct trace_info *info, unsigned cpu)
{
	struct ring_counts counts;
	struct source *source;
	uint64_t oldest;
	bool gone;

	pthread_mutex_lock(&b->lock);
	counts = b->snapshot.counts;
	gone = b->snapshot.gone.n;
	pthread_mutex_unlock(&b->lock);
	source = gone ? buffer_snapshot_merge(b, info, cpu) : NULL;
	if (source)
		counts.entries = count_all(source, &oldest).entries;
	return counts;
}

/* False: the snapshot is no latency tracer's. */
static bool snapshot_latency(struct buffer *b, struct trace_latency *out)
{
	bool is;

	pthread_mutex_lock(&b->lock);
	is = b->snapshot.is_latency;
	*out = b->snapshot.latency;
	pthread_mutex_unlock(&b->lock);
	return is;
}

/* False: there is nothing to show, and the file says so. */
bool buffer_snapshot_show(struct buffer *b, struct trace_info *info, const struct settings *s,
			  unsigned cpu, struct out *out)
{
	struct ring_counts counts = count_snapshot(b, info, cpu);
	struct trace_header header = make_trace_header(&counts);
	struct trace_latency latency;
	struct source *source = counts.entries ? buffer_snapshot_merge(b, info, cpu) : NULL,
		      *again = NULL;
	struct err ignored;

	if (!source)
		return false;
	if (snapshot_latency(b, &latency))
		header.latency = &latency;
	buffer_name_tracer(info, s);
	if (printer_wants_callers(info, s->options))
		/* callers_find() reads a source to its end, and the printer needs one as well. */
		again = buffer_snapshot_merge(b, info, cpu);
	print_all(source, again ? callers_find(again, &ignored) : NULL, &header, s->options, out,
		  &ignored);
	return true;
}

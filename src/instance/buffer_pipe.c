/* SPDX-License-Identifier: MIT */
/* trace_pipe of an instance and of its CPUs: prints records as they arrive and removes what was
 * printed. Readers come from the tree's threads, with pump_lock; `reading` serializes them and is
 * taken before b->lock. A reader that finds nothing gets -EAGAIN and waits in the tree until
 * instance_wake.
 *
 * The reader of all CPUs takes chunks out of the ring. The reader of one CPU cannot, because chunks
 * have records of several CPUs: it copies them and remembers how far it read (b->gone). target.c
 * calls it. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "instance/buffer_internal.h"

/* The time that a call without an end may wait for it: if the end comes, one line `f();` is printed
 * instead of two. */
#define HELD_BACK_NS 100000000u
/* Text that is printed ahead of a reader: enough for a large read, and a bound for the memory. */
#define PIPE_TEXT 65536u

/* Closes the printer, and drops the records that it has not printed yet. */
static void close_pipe(struct buffer_pipe *p)
{
	if (!p->open)
		return;
	printer_close(&p->printer);
	out_flush(&p->out);
	out_free(&p->out);
	if (p->source && p->source != p->lasting)
		p->source->ops->close(p->source);
	if (p->lasting)
		p->lasting->ops->close(p->lasting);
	p->source = p->lasting = NULL;
	p->open = false;
	p->fed_ns = 0;
}

/* Opens the printer, or replaces it if the tracer or the options have changed since. Takes
 * b->lock. */
static void open_pipe(struct buffer *b, struct buffer_pipe *p, struct trace_info *info)
{
	pthread_mutex_lock(&b->lock);
	if (p->open && (p->tracer != b->settings.tracer || p->options != b->settings.options))
		close_pipe(p);
	if (!p->open) {
		p->tracer = b->settings.tracer;
		p->options = b->settings.options;
		buffer_name_tracer(info, &b->settings);
		out_init_raw(&p->out, buffer_take_text, &p->text);
		printer_open(&p->printer, info, p->options, &p->out);
		p->open = true;
	}
	buffer_choose_clock(info, &b->settings);
	pthread_mutex_unlock(&b->lock);
}

/* The instance's options for a printer of info, whose tracer is the instance's from now on. */
static uint64_t options_of(struct buffer *b, struct trace_info *info)
{
	uint64_t options;

	pthread_mutex_lock(&b->lock);
	options = b->settings.options;
	buffer_name_tracer(info, &b->settings);
	pthread_mutex_unlock(&b->lock);
	return options;
}

bool buffer_is_binary(struct buffer *b, struct trace_info *info)
{
	const uint64_t options = options_of(b, info);

	return printer_is_binary(info, options);
}

/* By a printer of its own: the pipe's is opened by its first reader. */
void buffer_print_header(struct buffer *b, struct trace_info *info, struct out *out)
{
	const uint64_t options = options_of(b, info);
	struct printer printer;

	printer_begin(&printer, info, options, out);
	printer_close(&printer);
}

/* Takes all resolved chunks out of the ring, for a reader of all CPUs. */
static void take_chunks(struct buffer *b, struct buffer_pipe *p, struct trace_info *info)
{
	chunk_list chunks = { 0 };

	ring_take(&b->ring, true, &chunks);
	if (chunks.n)
		p->source = buffer_merge(b, info, &chunks, BUFFER_ALL_CPUS);
	else
		vec_free(&chunks);
}

/* Takes all resolved chunks of a whole buffer, by time: records from before `until` can be printed,
 * later ones wait. */
static void take_chunks_by_time(struct buffer *b, struct buffer_pipe *p, struct trace_info *info,
				uint64_t until)
{
	chunk_list chunks = { 0 };

	if (!until)
		return;
	ring_take(&b->ring, true, &chunks);
	if (p->lasting)
		merge_more(p->lasting, &chunks, until);
	else
		p->lasting = buffer_merge_until(b, info, &chunks, until);
	p->source = p->lasting;
}

/* Copies what the CPU recorded since the last read. Chunks hold records of all CPUs, so they stay
 * in the ring; b->gone remembers as a time what was read. */
static void take_cpu(struct buffer *b, struct buffer_pipe *p, struct trace_info *info,
		     uint64_t until)
{
	chunk_list chunks = { 0 };
	uint64_t from;

	pthread_mutex_lock(&b->lock);
	from = off_discarded_before(&b->gone, p->cpu);
	pthread_mutex_unlock(&b->lock);
	if (until <= from)
		return;
	ring_copy_since(&b->ring, from, &chunks);
	p->source = buffer_merge_before(b, info, &chunks, p->cpu, until);
	pthread_mutex_lock(&b->lock);
	if (off_discarded_before(&b->gone, p->cpu) < until) /* else it was cleared meanwhile */
		off_discard_before(&b->gone, p->cpu, until);
	pthread_mutex_unlock(&b->lock);
}

/* Prints records until PIPE_TEXT bytes wait for the reader or no record is left. 0, or -errno and
 * *err. */
static int feed_printer(struct buffer *b, struct buffer_pipe *p, struct trace_info *info,
			uint64_t until, struct err *err)
{
	struct event e;
	int r = 1;

	if (!p->source && p->cpu == BUFFER_ALL_CPUS && b->whole)
		take_chunks_by_time(b, p, info, until);
	else if (!p->source && p->cpu == BUFFER_ALL_CPUS)
		take_chunks(b, p, info);
	else if (!p->source)
		take_cpu(b, p, info, until);
	while (p->source && r > 0 && p->text.n < PIPE_TEXT) {
		r = p->source->ops->next(p->source, &e, err);
		if (r > 0) {
			printer_event(&p->printer, &e);
			/* A sleep has no line of its own and does not end the wait for a call's
			 * end. */
			p->events += e.kind != EVENT_SLEPT;
			p->fed_ns = e.kind == EVENT_SLEPT ? p->fed_ns : monotonic_ns();
		}
		if (r <= 0) {
			if (p->source != p->lasting)
				p->source->ops->close(p->source);
			p->source = NULL;
		}
	}
	return r < 0 ? r : 0;
}

/* Whether the printer has waited long enough for the end of a call. */
static bool holds_back_too_long(const struct buffer_pipe *p)
{
	return p->fed_ns && monotonic_ns() - p->fed_ns > HELD_BACK_NS;
}

/* Copies printed text to the reader. A reader may take a line in pieces; the buffer is reset once
 * all was read. */
static size_t give_text(struct buffer_pipe *p, char *buf, size_t n)
{
	size_t have = p->text.n - p->read;

	if (n > have)
		n = have;
	if (n)
		memcpy(buf, p->text.at + p->read, n);
	p->read += n;
	if (p->read == p->text.n)
		p->text.n = p->read = 0;
	return n;
}

/* Prints the next piece unless text is left from the last time. `all`: no more records will come,
 * so that nothing is held back. */
static int print_until(struct buffer *b, struct buffer_pipe *p, struct trace_info *info,
		       uint64_t until, bool all, struct err *err)
{
	int r;

	if (p->text.n > p->read)
		return 0;
	open_pipe(b, p, info);
	r = feed_printer(b, p, info, until, err);
	/* Only when no record is left: a flush in between would split a call that has its end in
	 * the next chunk. */
	if (!p->source && (all ? p->fed_ns : holds_back_too_long(p))) {
		printer_flush(&p->printer);
		p->fed_ns = 0;
	}
	out_flush(&p->out);
	return r;
}

/* -EAGAIN: there is no text now. b->reading is held. */
static ssize_t read_pipe(struct buffer *b, struct buffer_pipe *p, struct trace_info *info,
			 uint64_t until, char *buf, size_t n, struct err *err)
{
	int r = print_until(b, p, info, until, false, err);
	size_t given = give_text(p, buf, n);

	return r < 0 ? r : given ? (ssize_t)given : -EAGAIN;
}

/* --- of all CPUs -------------------------------------------------------------------- */

/* trace_pipe: what is given is gone from the buffer. */
ssize_t buffer_read(struct buffer *b, struct trace_info *info, uint64_t until, char *buf, size_t n,
		    struct err *err)
{
	ssize_t got;

	pthread_mutex_lock(&b->reading);
	b->pipe.cpu = BUFFER_ALL_CPUS;
	got = read_pipe(b, &b->pipe, info, until, buf, n, err);
	pthread_mutex_unlock(&b->reading);
	return got;
}

/* Whether a pipe has text, or records that make some. */
static bool has_some(const struct buffer_pipe *p)
{
	return p->source || p->text.n > p->read || holds_back_too_long(p);
}

/* The ring is looked at first, without the lock: a reader may hold it while it prints. */
bool buffer_is_readable(struct buffer *b)
{
	bool readable;

	if (!ring_is_empty(&b->ring))
		return true;
	pthread_mutex_lock(&b->reading);
	readable = has_some(&b->pipe);
	for (size_t i = 0; i < b->cpu_pipes.n && !readable; i++)
		readable = b->cpu_pipes.at[i] && has_some(b->cpu_pipes.at[i]);
	pthread_mutex_unlock(&b->reading);
	return readable;
}

/* --- of one ------------------------------------------------------------------------- */

/* Returns the CPU's pipe, made at its first use. Called with b->reading held. */
static struct buffer_pipe *pipe_of(struct buffer *b, unsigned cpu)
{
	while (b->cpu_pipes.n <= cpu)
		*vec_add(&b->cpu_pipes) = NULL;
	if (!b->cpu_pipes.at[cpu]) {
		b->cpu_pipes.at[cpu] = mem_zalloc(sizeof(struct buffer_pipe));
		b->cpu_pipes.at[cpu]->cpu = cpu;
	}
	return b->cpu_pipes.at[cpu];
}

/* per_cpu/cpuN/trace_pipe. Each file has a text of its own, so that two readers do not share a
 * line. */
ssize_t buffer_cpu_read(struct buffer *b, struct trace_info *info, unsigned cpu, uint64_t until,
			char *buf, size_t n, struct err *err)
{
	ssize_t got;

	pthread_mutex_lock(&b->reading);
	got = read_pipe(b, pipe_of(b, cpu), info, until, buf, n, err);
	pthread_mutex_unlock(&b->reading);
	return got;
}

bool buffer_cpu_is_readable(struct buffer *b, struct trace_info *info, unsigned cpu, uint64_t until)
{
	struct err ignored;
	bool readable;

	/* poll needs to know whether the records print anything: only printing them tells. */
	pthread_mutex_lock(&b->reading);
	print_until(b, pipe_of(b, cpu), info, until, false, &ignored);
	readable = pipe_of(b, cpu)->text.n > pipe_of(b, cpu)->read;
	pthread_mutex_unlock(&b->reading);
	return readable;
}

/* At the end: also what a further record might still have completed. */
ssize_t buffer_read_rest(struct buffer *b, struct trace_info *info, unsigned cpu, uint64_t until,
			 char *buf, size_t n, struct err *err)
{
	struct buffer_pipe *p;
	int r = 0;

	pthread_mutex_lock(&b->reading);
	b->pipe.cpu = BUFFER_ALL_CPUS;
	p = cpu == BUFFER_ALL_CPUS ? &b->pipe : pipe_of(b, cpu);
	do {
		r = print_until(b, p, info, until, true, err);
	} while (r == 0 && p->source && p->text.n == p->read);
	n = give_text(p, buf, n);
	pthread_mutex_unlock(&b->reading);
	return r < 0 ? r : (ssize_t)n;
}

/* 0 also where nobody has opened this CPU's pipe. */
uint64_t buffer_cpu_was_read(struct buffer *b, unsigned cpu)
{
	uint64_t n;

	pthread_mutex_lock(&b->reading);
	n = cpu < b->cpu_pipes.n && b->cpu_pipes.at[cpu] ? b->cpu_pipes.at[cpu]->events : 0;
	pthread_mutex_unlock(&b->reading);
	return n;
}

/* The counts of read events in per_cpu/cpuN/stats begin anew, as after clearing in ftrace. */
void buffer_pipes_forget(struct buffer *b, unsigned cpu)
{
	pthread_mutex_lock(&b->reading);
	for (size_t i = 0; i < b->cpu_pipes.n; i++)
		if (b->cpu_pipes.at[i] && (cpu == BUFFER_ALL_CPUS || i == cpu))
			b->cpu_pipes.at[i]->events = 0;
	pthread_mutex_unlock(&b->reading);
}

/* Records of the CPU from before tsc are left out by every reader from now on; they stay in the
 * ring until it is overwritten. */
void buffer_cpu_clear(struct buffer *b, unsigned cpu, uint64_t tsc)
{
	pthread_mutex_lock(&b->lock);
	off_discard_before(&b->gone, cpu, tsc);
	pthread_mutex_unlock(&b->lock);
	buffer_raw_clear_cpu(&b->raw, cpu);
	buffer_pipes_forget(b, cpu);
}

/* --- the end ------------------------------------------------------------------------ */

static void free_pipe(struct buffer_pipe *p)
{
	close_pipe(p);
	vec_free(&p->text);
}

void buffer_pipes_free(struct buffer *b)
{
	free_pipe(&b->pipe);
	for (size_t i = 0; i < b->cpu_pipes.n; i++)
		if (b->cpu_pipes.at[i]) {
			free_pipe(b->cpu_pipes.at[i]);
			free(b->cpu_pipes.at[i]);
		}
	vec_free(&b->cpu_pipes);
}

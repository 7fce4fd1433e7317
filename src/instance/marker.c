/* SPDX-License-Identifier: MIT */
/* trace_marker and trace_marker_raw: text that a program writes into the trace, recorded as
 * ftrace's events `print` and `raw_data`; and the records of user events. The writer need not be
 * traced. The tree's threads call instances_marker and instances_user_event; the record goes to the
 * arrays' buffers directly, not through the session memory, and gets a thread of trace_info under
 * pump_lock. A write is refused with -errno where the array does not record. */
#include <errno.h>
#include <string.h>

#include "instance/internal.h"
#include "collect/clock.h"
#include "shared/record.h"
#include "tracee/proc_status.h"

/* Text of one record; longer text is split. The record has an address before it and a newline and a
 * NUL behind it, as the kernel's (trace-cmd record --date looks for that). */
#define TEXT_MAX (8 * (RECORD_PAYLOAD_MAX - 1) - 2)
#define RAW_MAX (8 * RECORD_PAYLOAD_MAX)

/* Never 0, which is the number of a writer in a foreign namespace. */
static uint64_t writer_key(uint32_t tid)
{
	return (uint64_t)tid + 1;
}

/* Returns the writer's index in trace_info; NUMBER_NONE: no thread has its number. The latest that
 * has it is taken: numbers are reused. Called under pump_lock. */
static uint64_t find_writer(struct instances *l, const struct trace_info *info, pid_t tid)
{
	/* Threads are never removed, and none gets another number. */
	for (; l->writers_seen < info->threads.n; l->writers_seen++)
		number_map_set(&l->writers, writer_key(info->threads.at[l->writers_seen].tid),
			       l->writers_seen);
	return number_map_get(&l->writers, writer_key((uint32_t)tid));
}

/* Returns find_writer()'s index; a thread that trace_info does not have is appended. Called under
 * pump_lock. */
static uint32_t writer_index(struct instances *l, struct trace_info *info, pid_t tid, bool named)
{
	struct trace_thread t = { .tid = (uint32_t)tid, .pid = (uint32_t)tid, .tsc = clock_tsc(),
				  .unnamed = !named, .untraced = true };
	const uint64_t known = find_writer(l, info, tid);
	struct proc_status status;

	if (known != NUMBER_NONE)
		return (uint32_t)known;
	if (proc_status_read(tid, &status) == 0) {
		t.pid = (uint32_t)status.tgid;
		memcpy(t.comm, status.name, sizeof(t.comm));
	}
	*vec_add(&info->threads) = t;
	return (uint32_t)info->threads.n - 1;
}

/* Whether the thread may have records of its own that are not here yet. They come first: the writer
 * waits for the answer to its write, and a buffer has each thread's records in their order. */
static bool may_be_traced(struct instances *l, pid_t tid)
{
	const struct trace_info *info = pump_lock(l->pump);
	const uint64_t index = find_writer(l, info, tid);
	const bool may = index == NUMBER_NONE || !info->threads.at[index].untraced;

	pump_unlock(l->pump);
	return may;
}

/* An index in trace_info stays valid after pump_unlock: threads are never removed. */
uint32_t instances_writer(struct instances *l, pid_t tid)
{
	struct trace_info *info;
	uint32_t index;

	if (may_be_traced(l, tid))
		pump_sync(l->pump);
	info = pump_lock(l->pump);
	index = writer_index(l, info, tid,
			     option_is_set(l->top->settings.options, OPTION_RECORD_CMD));
	pump_unlock(l->pump);
	return index;
}

/* cpu: the writer waits for the answer to its write, so its last CPU is the one it wrote on. */
struct marker { struct trace_array *array; uint32_t thread, event; uint16_t cpu; };

/* Stamps and offers one record. False: recording is off. */
static bool write_record(const struct marker *m, uint64_t *words, size_t payload)
{
	uint64_t tsc = clock_tsc();

	words[0] =
		record_word(tsc, record_event_id((unsigned)payload, RECORD_EVENT_TRACE + m->event),
			    RECORD_EVENT);
	return buffer_write(&m->array->buffer, m->thread, m->cpu, words, 1 + payload, tsc);
}

/* A newline ends each record; text that brings one gets a NUL in its place. */
static bool write_text(const struct marker *m, const char *text, size_t n)
{
	bool on = true;

	/* The loop stops when recording is turned off in between. */
	for (size_t at = 0, piece; at < n && on; at += piece) {
		uint64_t words[1 + RECORD_PAYLOAD_MAX] = { 0 };

		piece = n - at < TEXT_MAX ? n - at : TEXT_MAX;
		memcpy(words + 2, text + at, piece);
		((char *)(words + 2))[piece] = text[at + piece - 1] == '\n' ? '\0' : '\n';
		on = write_record(m, words, 1 + (piece + 1) / 8 + 1);
	}
	return on;
}

static bool write_raw(const struct marker *m, const char *bytes, size_t n)
{
	uint64_t words[1 + RECORD_PAYLOAD_MAX] = { 0 };

	memcpy(words + 1, bytes, n);
	return write_record(m, words, (n + 7) / 8);
}

static bool write_marker(const struct marker *m, const char *text, size_t n, bool raw)
{
	bool on = raw ? write_raw(m, text, n) : write_text(m, text, n);

	instance_wake(m->array->instance);
	return on;
}

/* The top's marker goes to all instances with the option, of which the top is one. *buffers: their
 * number. Returns how many of them record now. */
static unsigned write_copies(struct marker *m, const char *text, size_t n, bool raw,
			     unsigned *buffers)
{
	struct instances *l = m->array->instances;
	unsigned took = 0;

	*buffers = 0;
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->arrays.n; i++) {
		m->array = l->arrays.at[i];
		if (!buffer_copies_markers(&m->array->buffer))
			continue;
		++*buffers;
		took += write_marker(m, text, n, raw);
	}
	pthread_mutex_unlock(&l->lock);
	return took;
}

int instances_marker(void *arg, pid_t thread, const char *text, size_t n, bool raw, struct err *err)
{
	struct trace_array *tr = arg;
	struct marker m = {
		tr, 0,
		events_find(tr->instances->events, "ftrace", raw ? "raw_data" : "print")->index,
		writer_cpus_last(&tr->instances->writer_cpus, thread)
	};
	unsigned buffers = 1, took;

	if (raw && n > RAW_MAX)
		return err_set(err, EINVAL, "a raw marker has %u bytes at most, with its id",
			       RAW_MAX);
	m.thread = instances_writer(tr->instances, thread);
	took = tr->name ? write_marker(&m, text, n, raw) : write_copies(&m, text, n, raw, &buffers);
	if (!buffers)
		return err_set(
			err, ENODEV,
			"no instance takes what is written here: the option copy_trace_marker is 0 in all of them");
	return took ? 0 : err_set(err, EBADF, "nothing is recorded now: tracing_on is 0");
}

/* --- user events ------------------------------------------------------------------------------ */

/* The buffers judge it as any program's event: filters, triggers and lists of threads hold. */
int instances_user_event(void *arg, pid_t thread, const struct event_entry *event,
			 const void *bytes, size_t n, struct err *err)
{
	struct instances *l = ((struct trace_array *)arg)->instances;
	const size_t payload = (n + 7) / 8;
	uint64_t words[1 + RECORD_PAYLOAD_MAX] = { 0 };
	struct drain_run run = { .cpu = writer_cpus_last(&l->writer_cpus, thread),
				 .words = words, .n = 1 + payload, .records = 1 };
	struct chunk *c;

	if (payload > RECORD_PAYLOAD_MAX)
		return err_code(err, E2BIG);
	run.slot = instances_writer(l, thread);
	run.near_tsc = clock_tsc();
	words[0] = record_word(run.near_tsc,
			       record_event_id((unsigned)payload,
					       RECORD_EVENT_TRACE + event->index),
			       RECORD_EVENT);
	memcpy(words + 1, bytes, n);
	c = chunk_new(&run);
	c->resolved = true;
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->arrays.n; i++) {
		if (!buffer_wants(&l->arrays.at[i]->buffer, event->index))
			continue;
		buffer_offer(&l->arrays.at[i]->buffer, c, thread);
		instance_wake(l->arrays.at[i]->instance);
	}
	pthread_mutex_unlock(&l->lock);
	chunk_put(c);
	return 0;
}

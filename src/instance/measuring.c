/* SPDX-License-Identifier: MIT */
/* Between the settings of instances and the threads that measure. The tree's threads call, with
 * l->changing held; the measuring threads call the four functions of `use`, which take l->lock, a
 * buffer's lock, or pump_lock, and never `changing`: the thread that joins them holds it.
 *
 * A measuring thread reads of an array only `measures`, under l->lock, and its buffer. */
#include "instance/measuring.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/clock.h"
#include "event/osnoise.h"
#include "instance/buffer_internal.h"
#include "instance/internal.h"
#include "instance/measure.h"
#include "shared/record.h"

struct measuring {
	struct instances *instances;
	struct measure *threads;        /* NULL: nobody measures */
	struct measure_request request; /* of the threads */
	atomic_bool gap_events;         /* any array's */
};

/* instances outlives it; no thread runs yet. */
struct measuring *measuring_new(struct instances *l)
{
	struct measuring *m = mem_zalloc(sizeof(*m));

	m->instances = l;
	return m;
}

/* Called without l->lock: the threads that are joined may be waiting for it. */
void measuring_free(struct measuring *m)
{
	if (m)
		measure_stop(m->threads);
	free(m);
}

/* --- what the threads call -------------------------------------------------------------------- */

/* The number of a thread of the trace that has brace's own as its writer. */
static uint32_t begin_thread(void *arg, pid_t tid)
{
	return instances_writer(((struct measuring *)arg)->instances, tid);
}

/* Whether any buffer would take a record: measuring for nobody would only disturb. */
static bool is_wanted(void *arg)
{
	struct instances *l = ((struct measuring *)arg)->instances;
	bool wanted = false;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->arrays.n; i++)
		wanted |= l->arrays.at[i]->measures && buffer_is_on(&l->arrays.at[i]->buffer);
	pthread_mutex_unlock(&l->lock);
	return wanted;
}

/* Into each array that has the tracer. Readers that wait are woken here, because no pump brings
 * these records. */
static void take_record(void *arg, const struct tracer *t, uint32_t who, unsigned cpu,
			uint64_t tsc, const void *payload, size_t bytes)
{
	struct instances *l = ((struct measuring *)arg)->instances;
	const struct event_entry *e = events_find(l->events, "ftrace", t->name);
	uint64_t words[1 + RECORD_PAYLOAD_MAX] = { 0 };
	size_t n = (bytes + 7) / 8;

	words[0] = record_word(tsc, record_event_id((unsigned)n, RECORD_EVENT_TRACE + e->index),
			       RECORD_EVENT);
	memcpy(words + 1, payload, bytes);
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->arrays.n; i++) {
		struct trace_array *tr = l->arrays.at[i];

		if (tr->measures &&
		    buffer_write(&tr->buffer, who, (uint16_t)cpu, words, 1 + n, tsc))
			instance_wake(tr->instance);
	}
	pthread_mutex_unlock(&l->lock);
}

/* Makes a record of an event of the system osnoise; the buffers judge it as any program's. */
static void offer_event(struct instances *l, const char *name, uint32_t who, unsigned cpu,
			const void *payload, size_t bytes)
{
	const struct event_entry *e = events_find(l->events, "osnoise", name);
	uint64_t words[1 + RECORD_PAYLOAD_MAX] = { 0 }, tsc = clock_tsc();
	size_t n = bytes / 8;
	const struct drain_run run = { .slot = who, .cpu = (uint16_t)cpu, .near_tsc = tsc,
				       .words = words, .n = 1 + n, .records = 1 };
	struct chunk *c;

	if (!e)
		return;
	words[0] = record_word(tsc, record_event_id((unsigned)n, RECORD_EVENT_TRACE + e->index),
			       RECORD_EVENT);
	memcpy(words + 1, payload, bytes);
	c = chunk_new(&run);
	c->resolved = true;
	for (size_t i = 0; i < l->arrays.n; i++)
		if (l->arrays.at[i]->gap_events)
			buffer_offer(&l->arrays.at[i]->buffer, c, gettid());
	chunk_put(c);
}

/* The thread that took the processor is not known without root. */
static void take_gap(void *arg, uint32_t who, unsigned cpu, uint64_t start_ns, uint64_t ns,
		     bool switched)
{
	const struct osnoise_threshold threshold = { start_ns, ns, switched };
	const struct osnoise_thread thread = { "<...>", start_ns, ns, -1, 0 };
	struct measuring *m = arg;
	struct instances *l = m->instances;

	/* Relaxed, as the store: offer_event() looks again with the lock held. */
	if (!atomic_load_explicit(&m->gap_events, memory_order_relaxed))
		return;
	pthread_mutex_lock(&l->lock);
	if (switched)
		offer_event(l, "thread_noise", who, cpu, &thread, sizeof(thread));
	offer_event(l, "sample_threshold", who, cpu, &threshold, sizeof(threshold));
	pthread_mutex_unlock(&l->lock);
}

/* Turns recording off as `echo 0 > tracing_on` does, for all arrays that measure: the sample that
 * exceeded the limit is the last one in the buffer. */
static void stop_recording(void *arg)
{
	struct instances *l = ((struct measuring *)arg)->instances;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->arrays.n; i++)
		if (l->arrays.at[i]->measures)
			buffer_turn(&l->arrays.at[i]->buffer, false, clock_tsc());
	pthread_mutex_unlock(&l->lock);
}

/* --- settings --------------------------------------------------------------------------------- */

/* -EBUSY: two tracers that measure would each take the processor from the other, and tell that as
 * noise. */
int measuring_check(const struct trace_array *tr, const struct settings *next, struct err *err)
{
	const struct instances *l = tr->instances;

	for (size_t i = 0; i < l->arrays.n && next->tracer->measures; i++) {
		const struct tracer *other = l->arrays.at[i]->settings.tracer;

		if (l->arrays.at[i] != tr && other->measures && other != next->tracer)
			return err_set(err, EBUSY,
				       "another instance has the tracer %s: they disturb each other, so that one measures at a time",
				       other->name);
	}
	return 0;
}

/* The threads' work; the files of osnoise/ and hwlat_detector/ are the top's. */
static struct measure_request wanted_request(const struct instances *l)
{
	const struct tracer *t = NULL;
	struct measure_request r;

	for (size_t i = 0; i < l->arrays.n && !t; i++)
		if (l->arrays.at[i]->settings.tracer->measures)
			t = l->arrays.at[i]->settings.tracer;
	measure_request_make(t, &l->top->settings, &r);
	if (r.tracer)
		r.hz = consumer_info(l->session)->clock.hz;
	return r;
}

/* Gaps are told one by one only if an event of the system osnoise is on: the record of a sample
 * has their sum. */
static bool arms_gap_events(const struct settings *s)
{
	for (size_t i = 0; i < s->events.at.n; i++) {
		uint32_t index = s->events.at.at[i].index;

		if (events_at(s->events.catalogue, index)->provider == &osnoise_provider &&
		    event_set_armed(&s->events, index))
			return true;
	}
	return false;
}

/* Copies into the arrays what the measuring threads may know of them. */
static void tell_arrays(struct measuring *m)
{
	struct instances *l = m->instances;
	bool any = false;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->arrays.n; i++) {
		struct trace_array *tr = l->arrays.at[i];

		tr->measures = tr->settings.tracer->measures;
		tr->gap_events = tr->measures && arms_gap_events(&tr->settings);
		any |= tr->gap_events;
	}
	atomic_store_explicit(&m->gap_events, any, memory_order_relaxed);
	pthread_mutex_unlock(&l->lock);
}

/* Called after each change of settings. The threads go on if nothing of theirs has changed;
 * compared as bytes. */
int measuring_update(struct measuring *m, struct err *err)
{
	struct instances *l = m->instances;
	const struct measure_use use = { begin_thread, is_wanted, take_record,
					 take_gap, stop_recording, m };
	struct measure_request r = wanted_request(l);

	tell_arrays(m);
	if (!memcmp(&r, &m->request, sizeof(r)))
		return 0;
	measure_stop(m->threads);
	m->threads = NULL;
	m->request = r;
	if (!r.tracer)
		return 0;
	m->threads = measure_start(&r, &use, err);
	if (m->threads)
		return 0;
	memset(&m->request, 0, sizeof(m->request));
	return -err->code;
}

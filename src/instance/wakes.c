/* SPDX-License-Identifier: MIT */
/* Decides whether a wake-up is the longest, and sets its records aside. Called by whoever runs the
 * triggers, with pump_lock. What the kernel tells of a thread (its policy, its user) is asked for
 * when the wake-up is found, which is some milliseconds after it: a thread that has ended by then
 * counts as one of the usual policy. Nothing fails. */
#include "instance/wakes.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "instance/buffer_internal.h"
#include "instance/chunk_builder.h"
#include "instance/open_calls.h"
#include "shared/record.h"
#include "tracee/proc_status.h"

/* The kernel's priorities (p->prio): real-time ones stand below 100, deadline's is -1. */
#define PRIO_RT 99
#define PRIO_NORMAL 120
#define PRIO_DEADLINE (-1)

#define SWITCH_WORDS 2u           /* of the payload of ftrace:wakeup and ftrace:context_switch */
#define STATE_RUNNING 0u          /* the kernel's task_state_index() */

/* A thread's scheduling, as the kernel tells it. */
struct wakes_task { int policy, rt_prio, nice; };

/* getpriority() may return -1 as an answer: errno alone tells a failure. SCHED_RESET_ON_FORK is a
 * flag in the policy's number (sched(7)). */
static struct wakes_task task_of(pid_t tid)
{
	struct sched_param p = { 0 };
	int policy = sched_getscheduler(tid);
	struct wakes_task t = { .policy = SCHED_OTHER };

	if (policy >= 0)
		t.policy = policy & ~SCHED_RESET_ON_FORK;
	if (policy >= 0 && sched_getparam(tid, &p) == 0)
		t.rt_prio = p.sched_priority;
	errno = 0;
	t.nice = getpriority(PRIO_PROCESS, (id_t)tid);
	if (errno)
		t.nice = 0;
	return t;
}

/* wakeup_dl follows deadline tasks alone, wakeup_rt those and the real-time ones, wakeup all: the
 * rule of the kernel's probe_wakeup(). */
static bool is_watched(enum tracer_wakes wakes, const struct wakes_task *t)
{
	const bool deadline = t->policy == SCHED_DEADLINE;

	if (wakes == TRACER_WAKES_DL)
		return deadline;
	return wakes != TRACER_WAKES_RT || deadline || t->policy == SCHED_FIFO ||
	       t->policy == SCHED_RR;
}

static int prio_of(const struct wakes_task *t)
{
	if (t->policy == SCHED_DEADLINE)
		return PRIO_DEADLINE;
	return t->rt_prio ? PRIO_RT - t->rt_prio : PRIO_NORMAL + t->nice;
}

int wakes_priority(pid_t tid)
{
	const struct wakes_task t = task_of(tid);

	return prio_of(&t);
}

/* The real user of a thread; 0 if it has ended. */
static uint32_t user_of(pid_t tid)
{
	struct proc_status s;

	return proc_status_read(tid, &s) == 0 ? s.uid[0] : 0;
}

/* --- is it the longest ------------------------------------------------------------------------ */

/* The rule of the kernel's report_latency(). Called with b->lock held. The maximum is compared in
 * whole microseconds, as tracing_max_latency shows it: two wake-ups of one microsecond do not
 * replace each other. */
static bool is_longest(const struct buffer *b, uint64_t ns)
{
	const uint64_t thresh = b->settings.tracing_thresh_ns;

	return thresh ? ns >= thresh : ns / 1000 > b->max_latency_us;
}

/* Whether the instance records at the wake-up's end, and its lists let the woken thread pass. */
static bool is_wanted(struct buffer *b, const struct wakeup_found *f, pid_t tid, uint64_t ns,
		      enum tracer_wakes *wakes)
{
	const struct settings *s = &b->settings;
	bool wanted;

	pthread_mutex_lock(&b->lock);
	*wakes = s->tracer->wakes;
	wanted = *wakes && !off_at(&b->off, f->in) && !off_at(&b->pauses, f->in) &&
		 cpumask_has(&s->cpumask, f->wakee_cpu) &&
		 pid_lists_allow(&s->pids, &s->notrace_pids, tid) && is_longest(b, ns);
	pthread_mutex_unlock(&b->lock);
	return wanted;
}

/* --- its records ------------------------------------------------------------------------------ */

/* Adds a record of brace's own, n words behind words[0], which is filled here. The chunk is
 * complete and known (`resolved`), so that readers take it at once; the ring has its own
 * reference. */
static void add_record(struct ring *to, const struct event_entry *e, uint32_t thread, uint16_t cpu,
		       uint64_t tsc, uint64_t *words, unsigned n)
{
	const struct drain_run run = { .slot = thread, .cpu = cpu, .near_tsc = tsc,
				       .words = words, .n = 1 + n, .records = 1 };
	struct chunk_ref k = { .what = CHUNK_EVENTS };

	words[0] = record_word(tsc, record_event_id(n, RECORD_EVENT_TRACE + e->index),
			       RECORD_EVENT);
	k.chunk = chunk_new(&run);
	k.chunk->resolved = true;
	ring_push(to, &k);
	chunk_put(k.chunk);
}

/* Adds the stack of a thread, as far as its functions are recorded: ftrace:kernel_stack, a number
 * and so many addresses. */
static void add_stack(struct ring *to, const struct trace_info *info, const struct event_entry *e,
		      uint32_t thread, uint16_t cpu, uint64_t tsc, const uint32_t *functions,
		      unsigned n)
{
	uint64_t words[1 + RECORD_PAYLOAD_MAX];
	const uint32_t image = info->threads.at[thread].image;

	if (!e || !n)
		return;
	words[1] = n;
	for (unsigned i = 0; i < n; i++)
		words[2 + i] = open_calls_function(info, image, functions[i]);
	add_record(to, e, thread, cpu, tsc, words, 1 + n);
}

/* The layout of ftrace:wakeup behind its common fields: who ran or woke (prev), and who runs or is
 * woken. (struct ctx_switch_entry of the kernel's trace_entries.h.) */
static void pack(uint64_t words[SWITCH_WORDS], uint32_t prev, int prev_prio, uint32_t next,
		 int next_prio, uint32_t cpu)
{
	const uint8_t rest[4] = { (uint8_t)prev_prio, STATE_RUNNING, (uint8_t)next_prio,
				  STATE_RUNNING };
	uint32_t low;

	memcpy(&low, rest, sizeof(low));
	words[0] = prev | (uint64_t)next << 32;
	words[1] = cpu | (uint64_t)low << 32;
}

/* The wake is the waker's record. */
static void add_wake(struct ring *to, const struct trace_info *info, const struct event_entry *e,
		     const struct wakeup_found *f, const struct wakes_task *woken)
{
	const uint32_t waker = info->threads.at[f->waker].tid;
	const struct wakes_task wakes = task_of((pid_t)waker);
	uint64_t words[1 + SWITCH_WORDS];

	pack(words + 1, waker, prio_of(&wakes), info->threads.at[f->wakee].tid, prio_of(woken),
	     f->wakee_cpu);
	add_record(to, e, f->waker, f->waker_cpu, f->enter, words, SWITCH_WORDS);
}

/* The switch is the woken thread's: who had the CPU before is told to nobody without root. */
static void add_switch(struct ring *to, const struct trace_info *info, const struct event_entry *e,
		       const struct wakeup_found *f, const struct wakes_task *woken)
{
	uint64_t words[1 + SWITCH_WORDS];

	pack(words + 1, UINT32_MAX, 0, info->threads.at[f->wakee].tid, prio_of(woken),
	     f->wakee_cpu);
	add_record(to, e, f->wakee, f->wakee_cpu, f->in, words, SWITCH_WORDS);
}

static void copy_item(struct chunk_builder *c, const struct stream_item *i)
{
	if (i->event->kind == EVENT_LOST)
		chunk_builder_lost(c, i);
	else if (i->event->kind == EVENT_TRACE)
		chunk_builder_record(c, i, i->words);
	else if (i->event->kind != EVENT_SLEPT)
		chunk_builder_call(c, i, i->words);
}

/* Copies what all threads recorded from the wake to the run. Chunks are longer than that, and one
 * thread's may hold records of before: so records are copied, not chunks. */
static void copy_records(struct ring *to, struct buffer *b, const struct wakeup_found *f)
{
	struct stream *stream = stream_new(false);
	struct chunk_builder builder = { 0 };
	chunk_list chunks = { 0 };
	off_periods off = { 0 };
	struct stream_item i;

	buffer_off(b, &off);
	ring_copy_since(&b->ring, f->enter, &chunks);
	for (size_t k = 0; k < chunks.n; k++)
		if (chunks.at[k].chunk->resolved)
			stream_add(stream, &chunks.at[k]);
	chunk_list_free(&chunks);
	while (stream_next(stream, f->in + 1, &i))
		if (i.time >= f->enter && !off_at(&off, i.time))
			copy_item(&builder, &i);
	chunk_builder_flush(&builder, to);
	chunk_builder_free(&builder);
	stream_free(stream);
	vec_free(&off);
}

static void describe(struct trace_latency *l, const struct trace_info *info,
		     const struct wakeup_found *f, uint64_t ns, const struct wakes_task *woken)
{
	const struct trace_thread *t = &info->threads.at[f->wakee];

	*l = (struct trace_latency){ .us = ns / 1000,
				     .start_tsc = f->enter,
				     .cpu = f->wakee_cpu,
				     .tid = t->tid,
				     .uid = user_of((pid_t)t->tid),
				     .nice = woken->nice,
				     .policy = woken->policy,
				     .rt_prio = woken->rt_prio };
	memcpy(l->comm, trace_thread_name_at(t, f->in), sizeof(l->comm));
}

/* The records are complete before the buffer gets them, so that no reader sees half a wake-up. The
 * ring has no limit of bytes, because one wake-up's records are few, and all of them are wanted. */
static void keep_longest(struct buffer *b, const struct trace_info *info,
			 struct event_catalogue *events, const struct wakeup_found *f, uint64_t ns,
			 const struct wakes_task *woken)
{
	const struct event_entry *wake = events_find(events, "ftrace", "wakeup");
	const struct event_entry *change = events_find(events, "ftrace", "context_switch");
	const struct event_entry *stack = events_find(events, "ftrace", "kernel_stack");
	struct trace_latency longest;
	struct ring kept;

	ring_init(&kept, UINT64_MAX, true);
	if (wake)
		add_wake(&kept, info, wake, f, woken);
	add_stack(&kept, info, stack, f->waker, f->waker_cpu, f->enter, f->waker_functions,
		  f->waker_n);
	copy_records(&kept, b, f);
	if (change)
		add_switch(&kept, info, change, f, woken);
	add_stack(&kept, info, stack, f->wakee, f->wakee_cpu, f->in, f->wakee_functions,
		  f->wakee_n);
	describe(&longest, info, f, ns, woken);
	buffer_snapshot_keep(b, &kept, &longest);
	ring_free(&kept);
}

void wakes_take(struct buffer *b, const struct trace_info *info, struct event_catalogue *events,
		const struct wakeup_found *f)
{
	const pid_t tid = (pid_t)info->threads.at[f->wakee].tid;
	const uint64_t ns = trace_clock_delta_ns(&info->clock, f->in - f->enter);
	struct wakes_task woken;
	enum tracer_wakes wakes;

	if (!is_wanted(b, f, tid, ns, &wakes))
		return;
	woken = task_of(tid);
	if (is_watched(wakes, &woken))
		keep_longest(b, info, events, f, ns, &woken);
}

/* SPDX-License-Identifier: MIT */
/* The state of one instance's buffer and the way of a chunk into it: offered by the pump
 * (buffer_offer), judged by thread lists and fork_follow, then pushed into the ring at once, or
 * kept in `pending` until buffer_resolve can pass it through the record filter, or given to the
 * triggers.
 *
 * The pump's thread offers, whoever has pump_lock resolves and runs, and writes to the tree
 * configure. `lock` protects the buffer's own members; the ring has a lock of its own, which is
 * taken inside. Nothing here fails. */
#include "instance/buffer_internal.h"

#include <unistd.h>

#include "collect/clock.h"
#include "instance/rules.h"
#include "instance/triggers.h"
#include "model/buffer_sizes.h"
#include "session/held_calls.h"

/* Pauses older than the last PAUSES_MAX concern records that the ring has dropped by now. */
#define PAUSES_MAX 4096

/* --- settings ----------------------------------------------------------------------- */

/* ftrace gives sizes per CPU. The ring here is one for all CPUs, so its limit is their sum, in
 * bytes. */
static uint64_t limit_of(const struct settings *s)
{
	return buffer_size_total(s, (unsigned)sysconf(_SC_NPROCESSORS_ONLN)) * 1024;
}

/* Replaces the selection under which new chunks are kept. Chunks in the ring keep theirs, so what
 * they show does not change. NULL instead of an empty selection lets keep_chunk() drop events
 * cheaply. */
static void select_events(struct buffer *b)
{
	selection_put(b->events);
	b->events = selection_new(&b->settings.events, b->addresses);
	if (selection_is_empty(b->events)) {
		selection_put(b->events);
		b->events = NULL;
	}
}

/* addresses outlives b. Nothing else knows the buffer yet: no lock is taken. */
void buffer_init(struct buffer *b, const struct settings *settings, struct addresses *addresses)
{
	*b = (struct buffer){ .on = settings->tracing_on, .addresses = addresses };
	pthread_mutex_init(&b->lock, NULL);
	pthread_mutex_init(&b->reading, NULL);
	ring_init(&b->ring, limit_of(settings), option_is_set(settings->options, OPTION_OVERWRITE));
	settings_copy(&b->settings, settings);
	b->max_latency_us = b->told_latency_us = settings->max_latency_us;
	b->masked = !cpumask_is_all(&settings->cpumask);
	select_events(b);
	b->holding = function_list_has_returned(&settings->graph_function) ? HOLDING_CALLS
									   : HOLDING_NOT;
	if (rules_wanted(settings))
		b->triggers = triggers_new(b, settings);
	buffer_raw_init(&b->raw);
	buffer_raw_init(&b->snapshot_raw);
	/* A buffer that starts off has always been off: records may be older than the buffer. */
	if (!b->on)
		*vec_add(&b->off) = (struct off_period){ 0, UINT64_MAX };
}

void buffer_take_all(struct buffer *b, uint64_t bytes)
{
	b->whole = true;
	ring_configure(&b->ring, bytes, false);
}

void buffer_set_times(struct buffer *b, const struct clock *clock)
{
	b->clock = clock;
}

uint64_t buffer_time_of(const struct buffer *b, const struct event *stamped)
{
	struct event e = *stamped;

	if (b->clock)
		clock_place(b->clock, &e);
	return e.tsc;
}

/* Called with b->lock held. tsc may lie in the past: then `on` is what holds after the list's last
 * change. */
static void turn_recording(struct buffer *b, bool on, uint64_t tsc)
{
	off_turn(&b->off, on, tsc);
	b->on = !off_now(&b->off);
}

/* tsc: the instant of the switch, by which records are judged that arrive later. */
void buffer_turn(struct buffer *b, bool on, uint64_t tsc)
{
	pthread_mutex_lock(&b->lock);
	turn_recording(b, on, tsc);
	pthread_mutex_unlock(&b->lock);
}

/* Pauses are kept apart from tracing_on's periods: triggers may turn tracing_on at a time that lies
 * before or within a pause, because they run late. */
void buffer_pause(struct buffer *b, bool begins, uint64_t tsc)
{
	pthread_mutex_lock(&b->lock);
	if (begins && !b->paused++)
		off_turn(&b->pauses, false, tsc);
	else if (!begins && b->paused && !--b->paused)
		off_turn(&b->pauses, true, tsc);
	off_forget(&b->pauses, 0, PAUSES_MAX);
	pthread_mutex_unlock(&b->lock);
}

/* Whether recording is off now and already was at tsc. A chunk from before the switch may still be
 * wanted, however late it arrives. */
static bool stands_still(const struct buffer *b, uint64_t tsc)
{
	return (!b->on && tsc >= b->off.at[b->off.n - 1].from) ||
	       (b->paused && tsc >= b->pauses.at[b->pauses.n - 1].from);
}

/* Keeps what the buffer wants of a chunk. Called with b->lock held. `allowed`: the chunk_content
 * that the lists of threads let pass. */
static void keep_chunk(struct buffer *b, struct chunk *c, unsigned allowed)
{
	struct chunk_ref k = { .chunk = c };

	if (b->whole) {
		k.what = CHUNK_FUNCTIONS | CHUNK_EVENTS | CHUNK_SLEEPS;
	/* Triggers see all records, also those of periods in which recording is off: one of them
	 * may be a traceon. */
	} else if (b->triggers || !stands_still(b, c->near_tsc)) {
		if (settings_functions(&b->settings))
			k.what |= allowed & CHUNK_FUNCTIONS;
		if (k.what && settings_exclude_sleep(&b->settings))
			k.what |= CHUNK_SLEEPS;
		if ((b->events || b->triggers) && allowed & CHUNK_EVENTS) {
			k.what |= CHUNK_EVENTS;
			k.events = b->events;
		}
	}
	if (b->triggers)
		triggers_offer(b->triggers, &k);
	/* Once one chunk is pending all later ones must wait behind it, or a thread's chunks would
	 * overtake each other. */
	else if (k.what &&
		 (b->pending.n || b->masked || b->holding ||
		  (k.what & CHUNK_FUNCTIONS && b->record_filter)))
		*vec_add(&b->pending) = chunk_ref_get(&k);
	else if (k.what)
		ring_push(&b->ring, &k);
}

/* Moves chunks whose threads are judged out of the fork_follow. Called with b->lock held. complete
 * UINT64_MAX empties it. */
static void run_fork_follow(struct buffer *b, uint64_t complete, uint64_t patience)
{
	struct chunk *c;
	unsigned what;

	while (b->fork_follow && fork_follow_next(b->fork_follow, complete, patience, &c, &what)) {
		keep_chunk(b, c, what);
		chunk_put(c);
	}
}

/* Judges all waiting chunks by the lists as they are, then removes the fork_follow. Called with
 * b->lock held. */
static void unfollow_threads(struct buffer *b)
{
	run_fork_follow(b, UINT64_MAX, 0);
	fork_follow_free(b->fork_follow);
	b->fork_follow = NULL;
}

/* Creates triggers when the new settings need them. Existing triggers are told of every change,
 * also of one that leaves them nothing to run: they are freed once they are idle (buffer_run). */
static void configure_triggers(struct buffer *b, const struct settings *next, uint64_t tsc)
{
	if (!b->triggers && rules_wanted(next))
		b->triggers = triggers_new(b, &b->settings);
	if (b->triggers)
		triggers_configure(b->triggers, &b->settings, next, tsc);
}

/* Whether the tracer differs: nop, function or function_graph. */
static bool is_other_tracer(const struct settings *a, const struct settings *b)
{
	return a->tracer != b->tracer;
}

/* Also discards chunks that are still on their way: a period that is off from 0 to tsc hides their
 * records when they arrive. What a latency tracer has set aside stays. */
static void clear_records(struct buffer *b, uint64_t tsc)
{
	pthread_mutex_lock(&b->lock);
	b->off.n = 0;
	*vec_add(&b->off) = (struct off_period){ 0, b->on ? tsc : UINT64_MAX };
	pthread_mutex_unlock(&b->lock);
	ring_clear(&b->ring);
	buffer_raw_clear(&b->raw);
	buffer_pipes_forget(b, BUFFER_ALL_CPUS);
}

/* Called after a write to one of the instance's files, with the settings as they are now. */
void buffer_configure(struct buffer *b, const struct settings *settings, uint64_t tsc)
{
	bool other, had_latency, other_form;

	pthread_mutex_lock(&b->lock);
	other = is_other_tracer(&b->settings, settings);
	had_latency = b->settings.tracer->wakes || settings->tracer->wakes;
	other_form = settings_display_graph(&b->settings) != settings_display_graph(settings);
	/* else a trigger may have turned it meanwhile */
	if (settings->tracing_on != b->settings.tracing_on)
		turn_recording(b, settings->tracing_on, tsc);
	configure_triggers(b, settings, tsc);
	if (b->fork_follow && !fork_follow_wanted(settings))
		unfollow_threads(b);
	settings_free(&b->settings);
	settings_copy(&b->settings, settings);
	/* A latency that was found since the settings were read counts, unless a write has changed
	 * it. */
	if (other || settings->max_latency_us != b->told_latency_us)
		b->max_latency_us = b->told_latency_us = settings->max_latency_us;
	b->masked = !cpumask_is_all(&settings->cpumask);
	select_events(b);
	/* The ring has its own lock and buffer_clear() takes b->lock again. */
	pthread_mutex_unlock(&b->lock);
	ring_configure(&b->ring, limit_of(settings),
		       option_is_set(settings->options, OPTION_OVERWRITE));
	if (other && had_latency)
		buffer_snapshot_drop(b);
	if (other)
		buffer_clear(b, tsc);
	else if (other_form)
		clear_records(b, tsc);
}

void buffer_clear(struct buffer *b, uint64_t tsc)
{
	clear_records(b, tsc);
	if (buffer_has_latency(b))
		buffer_snapshot_drop(b);
}

/* The pump's, for each run of records. tid 0: of no thread that lists of pids could name. c gets
 * a reference if it is kept. */
void buffer_offer(struct buffer *b, struct chunk *c, pid_t tid)
{
	const struct settings *s = &b->settings;

	pthread_mutex_lock(&b->lock);
	if (!tid)
		keep_chunk(b, c, CHUNK_FUNCTIONS | CHUNK_EVENTS);
	else if (b->fork_follow)
		fork_follow_offer(b->fork_follow, c, tid);
	else
		keep_chunk(
			b, c,
			(pid_lists_allow(&s->pids, &s->notrace_pids, tid) ? CHUNK_FUNCTIONS : 0) |
				(pid_lists_allow(&s->event_pids, &s->event_notrace_pids, tid)
					 ? CHUNK_EVENTS
					 : 0));
	pthread_mutex_unlock(&b->lock);
}

/* threads: those that there are when event-fork or function-fork is turned on. */
void buffer_follow(struct buffer *b, const struct pid_list *threads)
{
	pthread_mutex_lock(&b->lock);
	if (b->fork_follow)
		fork_follow_configure(b->fork_follow, &b->settings, threads);
	else
		b->fork_follow = fork_follow_new(&b->settings, threads);
	pthread_mutex_unlock(&b->lock);
}

/* s NULL: the programs record for this instance alone, and nothing has to be sorted out. */
void buffer_share(struct buffer *b, const struct settings *s, bool alone)
{
	pthread_mutex_lock(&b->lock);
	/* record_filter_configure() keeps the open calls that the old filter knows; only another
	 * tracer needs a new filter. */
	if (!s || !b->record_filter || !record_filter_configure(b->record_filter, s)) {
		record_filter_free(b->record_filter);
		b->record_filter = s ? record_filter_new(s, alone) : NULL;
	}
	pthread_mutex_unlock(&b->lock);
}

/* Calls that were held before the condition went end as they would have. */
void buffer_hold(struct buffer *b, bool holds)
{
	pthread_mutex_lock(&b->lock);
	if (holds)
		b->holding = HOLDING_CALLS;
	else if (b->holding)
		b->holding = HOLDING_ENDS;
	pthread_mutex_unlock(&b->lock);
}

/* Needs pump_lock, as all that touches b->held. */
void buffer_renew(struct buffer *b)
{
	if (b->held)
		held_calls_renew(b->held);
}

/* Pushes the chunk's records of these CPUs into the ring. */
static void push_chunk(struct buffer *b, const struct cpumask *cpus, const struct chunk_ref *k)
{
	struct chunk_ref own = *k;

	own.chunk = cpumask_is_all(cpus) ? chunk_get(k->chunk) : chunk_on_cpus(k->chunk, cpus);
	if (own.chunk)
		ring_push(&b->ring, &own);
	chunk_put(own.chunk);
}

struct held_counts buffer_held(const struct buffer *b)
{
	struct held_counts sum = b->was_held, now = { 0 };

	if (b->held)
		now = held_calls_counts(b->held);
	sum.open += now.open;
	sum.too_long += now.too_long;
	return sum;
}

/* Where records go that have waited: like the chunk that let them go. */
struct held_way { struct buffer *b; const struct cpumask *cpus; struct chunk_ref like; };

/* drain_sink of held_calls. */
static int push_held(void *context, const struct drain_run *run, struct err *err)
{
	struct held_way *w = context;

	(void)err;
	w->like.chunk = chunk_new(run);
	w->like.chunk->resolved = true;
	push_chunk(w->b, w->cpus, &w->like);
	chunk_put(w->like.chunk);
	return 0;
}

/* Losses without records come from threads that have ended, or are nobody's: nothing waits for
 * them. */
static void pass_held(struct buffer *b, const struct trace_info *info, const struct cpumask *cpus,
		      const struct chunk_ref *k)
{
	const struct chunk *c = k->chunk;
	const struct drain_run run = { .slot = c->thread, .cpu = c->cpu, .near_tsc = c->near_tsc,
				       .lost = c->lost, .words = c->words, .n = c->n,
				       .records = c->records, .calls = c->calls };
	struct held_way way = { b, cpus, *k };
	struct err ignored;

	if (!b->held)
		b->held = held_calls_new(info);
	if (c->n)
		held_calls_take(b->held, c->thread, &run, push_held, &way, &ignored);
	else
		push_chunk(b, cpus, k);
}

/* Calls that have not returned yet are left out. Needs pump_lock. */
static void end_held(struct buffer *b, const struct cpumask *cpus)
{
	struct held_way way = { b, cpus, { .what = CHUNK_FUNCTIONS } };
	struct err ignored;

	if (b->held)
		held_calls_end(b->held, push_held, &way, &ignored);
	b->was_held = buffer_held(b);
	held_calls_free(b->held);
	b->held = NULL;
}

/* Pushes the instance's share of a pending chunk into the ring. A refused chunk is dropped: nobody
 * knows its thread. */
static void pass_record_filter(struct buffer *b, const struct trace_info *info,
			       const struct cpumask *cpus, const struct chunk_ref *k, bool holds)
{
	struct chunk_ref own = *k;

	if (!k->chunk->resolved)
		return;
	own.chunk = b->record_filter && k->what & CHUNK_FUNCTIONS
			    ? record_filter_chunk(b->record_filter, info, k->chunk)
			    : chunk_get(k->chunk);
	if (own.chunk && holds && k->what & CHUNK_FUNCTIONS)
		pass_held(b, info, cpus, &own);
	else if (own.chunk)
		push_chunk(b, cpus, &own);
	chunk_put(own.chunk);
}

/* Called under pump_lock, so that only one thread uses the record filter, and b->lock need not be
 * held while chunks are filtered. Chunks that arrive meanwhile are appended behind those that
 * remain. */
void buffer_resolve(struct buffer *b, const struct trace_info *info, uint64_t complete)
{
	chunk_list pending;
	struct cpumask cpus;
	enum buffer_holding holding;
	size_t n = 0;

	pthread_mutex_lock(&b->lock);
	run_fork_follow(b, complete, info->clock.hz);
	holding = b->holding;
	cpus = b->settings.cpumask;
	pending = b->pending;
	b->pending = (chunk_list){ 0 };
	/* Without b->lock: filtering takes long, and the pump's thread offers chunks under it. */
	pthread_mutex_unlock(&b->lock);
	for (; n < pending.n && (pending.at[n].chunk->resolved || pending.at[n].chunk->refused);
	     n++)
		pass_record_filter(b, info, &cpus, &pending.at[n], holding);
	if (holding == HOLDING_ENDS)
		end_held(b, &cpus);
	/* Puts the unresolved rest in front of what has arrived since. */
	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < b->pending.n; i++)
		*vec_add(&pending) = b->pending.at[i];
	vec_free(&b->pending);
	for (size_t i = n; i < pending.n; i++)
		*vec_add(&b->pending) = pending.at[i];
	if (holding == HOLDING_ENDS && b->holding == HOLDING_ENDS)
		b->holding = HOLDING_NOT;
	pthread_mutex_unlock(&b->lock);
	/* Only the chunks that were passed on are dropped from here. */
	pending.n = n;
	chunk_list_free(&pending);
}

/* For records that brace makes itself (markers, measurements). False: recording is off; whoever
 * wrote is told nothing, as in ftrace. */
bool buffer_write(struct buffer *b, uint32_t thread, uint16_t cpu, const uint64_t *words, size_t n,
		  uint64_t tsc)
{
	const struct drain_run run = {
		.slot = thread, .cpu = cpu, .near_tsc = tsc, .words = words, .n = n, .records = 1
	};
	struct chunk_ref k = { .what = CHUNK_EVENTS };
	bool on;

	pthread_mutex_lock(&b->lock);
	/* A marker of a CPU outside tracing_cpumask is refused like one while recording is off:
	 * ftrace drops both. */
	on = b->on && !b->paused && cpumask_has(&b->settings.cpumask, cpu);
	if (on) {
		k.chunk = chunk_new(&run);
		k.chunk->resolved = true;
	}
	if (on && b->triggers)
		triggers_offer(b->triggers, &k);
	else if (on)
		ring_push(&b->ring, &k);
	pthread_mutex_unlock(&b->lock);
	chunk_put(k.chunk);
	return on;
}

/* Each of these takes b->lock: not to be called with it. */
bool buffer_copies_markers(struct buffer *b)
{
	bool copies;

	pthread_mutex_lock(&b->lock);
	copies = option_is_set(b->settings.options, OPTION_COPY_TRACE_MARKER);
	pthread_mutex_unlock(&b->lock);
	return copies;
}

/* --- triggers ----------------------------------------------------------------------- */

bool buffer_has_triggers(struct buffer *b)
{
	bool has;

	pthread_mutex_lock(&b->lock);
	has = b->triggers;
	pthread_mutex_unlock(&b->lock);
	return has;
}

uint64_t buffer_may_wait(struct buffer *b)
{
	const uint64_t limit = ring_limit(&b->ring);

	return buffer_has_triggers(b) || limit < TRIGGERS_BEHIND_MOST ? TRIGGERS_BEHIND_MOST
								       : limit;
}

bool buffer_await(struct buffer *b, bool awaited, uint64_t more)
{
	return ring_await(&b->ring, awaited, more);
}

bool buffer_is_behind(struct buffer *b, uint64_t tsc)
{
	bool is;

	pthread_mutex_lock(&b->lock);
	is = b->triggers && triggers_horizon(b->triggers) < tsc;
	pthread_mutex_unlock(&b->lock);
	return is;
}

bool buffer_follows_forks(struct buffer *b)
{
	bool has;

	pthread_mutex_lock(&b->lock);
	has = b->fork_follow;
	pthread_mutex_unlock(&b->lock);
	return has;
}

/* Needs pump_lock. Runs the triggers up to `until`, at most `most` records. */
void buffer_run(struct buffer *b, struct trace_info *info, uint64_t until, size_t most)
{
	struct triggers *t, *idle = NULL;

	pthread_mutex_lock(&b->lock);
	t = b->triggers;
	pthread_mutex_unlock(&b->lock);
	/* t stays valid without the lock: only this function frees triggers, and its callers have
	 * pump_lock. */
	if (!t || triggers_run(t, info, until, most))
		return;
	/* The pump may have offered chunks since triggers_run() looked, so idleness is asked again
	 * under the lock. */
	pthread_mutex_lock(&b->lock);
	if (triggers_are_idle(t)) {
		idle = t;
		b->triggers = NULL;
	}
	pthread_mutex_unlock(&b->lock);
	triggers_free(idle);
}

bool buffer_wants(struct buffer *b, uint32_t event)
{
	bool wants;

	pthread_mutex_lock(&b->lock);
	wants = event_set_armed(&b->settings.events, event);
	pthread_mutex_unlock(&b->lock);
	return wants;
}

bool buffer_is_on(struct buffer *b)
{
	bool on;

	pthread_mutex_lock(&b->lock);
	on = b->on;
	pthread_mutex_unlock(&b->lock);
	return on;
}

/* Before a file is read: triggers and commands may have changed what the settings say. */
void buffer_present(struct buffer *b, struct settings *s)
{
	pthread_mutex_lock(&b->lock);
	/* The buffer's own copy must follow too: buffer_configure() compares with it what a write
	 * changes. */
	b->settings.tracing_on = b->on;
	if (b->triggers)
		triggers_present(b->triggers, &b->settings.events);
	if (b->triggers)
		triggers_present(b->triggers, &s->events);
	if (b->fork_follow)
		fork_follow_present(b->fork_follow, s);
	s->tracing_on = b->on;
	b->settings.max_latency_us = s->max_latency_us = b->told_latency_us = b->max_latency_us;
	pthread_mutex_unlock(&b->lock);
}

/* Nobody reads or writes it any more. */
void buffer_free(struct buffer *b)
{
	triggers_free(b->triggers);
	fork_follow_free(b->fork_follow);
	vec_free(&b->dumped);
	buffer_pipes_free(b);
	buffer_snapshot_free(&b->snapshot);
	chunk_list_free(&b->pending);
	record_filter_free(b->record_filter);
	held_calls_free(b->held);
	buffer_raw_free(&b->raw);
	buffer_raw_free(&b->snapshot_raw);
	vec_free(&b->off);
	vec_free(&b->pauses);
	vec_free(&b->gone);
	selection_put(b->events);
	settings_free(&b->settings);
	ring_free(&b->ring);
	pthread_mutex_destroy(&b->lock);
	pthread_mutex_destroy(&b->reading);
}

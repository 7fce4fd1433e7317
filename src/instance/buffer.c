/* SPDX-License-Identifier: MIT */
#include "instance/buffer_internal.h"

#include <unistd.h>

#include "instance/rules.h"
#include "instance/triggers.h"
#include "model/buffer_sizes.h"

/* Pauses of longer ago are of records that are gone by now. */
#define PAUSES_MAX 4096

/* --- settings ----------------------------------------------------------------------- */

/* Sizes are of each CPU, as ftrace's; the ring is one for all of them. */
static uint64_t limit_of(const struct settings *s)
{
	return buffer_size_total(s, (unsigned)sysconf(_SC_NPROCESSORS_ONLN)) * 1024;
}

static void select_events(struct buffer *b)
{
	selection_put(b->events);
	b->events = selection_new(&b->settings.events, b->addresses);
	if (selection_is_empty(b->events)) {
		selection_put(b->events);
		b->events = NULL;
	}
}

void buffer_init(struct buffer *b, const struct settings *settings, struct addresses *addresses)
{
	*b = (struct buffer){ .on = settings->tracing_on, .addresses = addresses };
	pthread_mutex_init(&b->lock, NULL);
	pthread_mutex_init(&b->reading, NULL);
	ring_init(&b->ring, limit_of(settings), option_is_set(settings->options, OPTION_OVERWRITE));
	settings_copy(&b->settings, settings);
	b->masked = !cpumask_is_all(&settings->cpumask);
	select_events(b);
	if (rules_wanted(settings))
		b->triggers = triggers_new(b, settings);
	buffer_raw_init(&b->raw);
	if (!b->on)
		*vec_add(&b->off) = (struct off_period){ 0, UINT64_MAX };
}

static void turn(struct buffer *b, bool on, uint64_t tsc)
{
	off_turn(&b->off, on, tsc);
	b->on = !off_now(&b->off);
}

void buffer_turn(struct buffer *b, bool on, uint64_t tsc)
{
	pthread_mutex_lock(&b->lock);
	turn(b, on, tsc);
	pthread_mutex_unlock(&b->lock);
}

/* It is remembered apart from what tracing_on says, which triggers may turn long after. */
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

/* Neither now nor when it stopped. */
static bool stands_still(const struct buffer *b, uint64_t tsc)
{
	return (!b->on && tsc >= b->off.at[b->off.n - 1].from) || (b->paused && tsc >= b->pauses.at[b->pauses.n - 1].from);
}

/* Locked. */
static void keep_chunk(struct buffer *b, struct chunk *c, unsigned allowed)
{
	struct chunk_ref k = { .chunk = c };

	if (b->triggers || !stands_still(b, c->near_tsc)) {
		if (!b->settings.nop)
			k.what |= allowed & CHUNK_FUNCTIONS;
		if (k.what && !option_is_set(b->settings.options, OPTION_SLEEP_TIME))
			k.what |= CHUNK_SLEEPS;
		if ((b->events || b->triggers) && allowed & CHUNK_EVENTS) {
			k.what |= CHUNK_EVENTS;
			k.events = b->events;
		}
	}
	if (b->triggers)
		triggers_offer(b->triggers, &k);
	else if (k.what && (b->pending.n || b->masked || (k.what & CHUNK_FUNCTIONS && b->record_filter)))
		*vec_add(&b->pending) = chunk_ref_get(&k);
	else if (k.what)
		ring_push(&b->ring, &k);
}

/* Locked. What waits now waits no more if the fork_follow goes. */
static void run_fork_follow(struct buffer *b, uint64_t complete, uint64_t patience)
{
	struct chunk *c;
	unsigned what;

	while (b->fork_follow && fork_follow_next(b->fork_follow, complete, patience, &c, &what)) {
		keep_chunk(b, c, what);
		chunk_put(c);
	}
}

/* Locked. */
static void unfollow(struct buffer *b)
{
	run_fork_follow(b, UINT64_MAX, 0);
	fork_follow_free(b->fork_follow);
	b->fork_follow = NULL;
}

/* Those that have to be run, or had to be until now. */
static void configure_triggers(struct buffer *b, const struct settings *next, uint64_t tsc)
{
	if (!b->triggers && rules_wanted(next))
		b->triggers = triggers_new(b, &b->settings);
	if (b->triggers)
		triggers_configure(b->triggers, &b->settings, next, tsc);
}

static bool is_other_tracer(const struct settings *a, const struct settings *b)
{
	return a->nop != b->nop || a->graph != b->graph;
}

void buffer_configure(struct buffer *b, const struct settings *settings, uint64_t tsc)
{
	bool other;

	pthread_mutex_lock(&b->lock);
	other = is_other_tracer(&b->settings, settings);
	if (settings->tracing_on != b->settings.tracing_on) /* else a trigger may have turned it meanwhile */
		turn(b, settings->tracing_on, tsc);
	configure_triggers(b, settings, tsc);
	if (b->fork_follow && !fork_follow_wanted(settings))
		unfollow(b);
	settings_free(&b->settings);
	settings_copy(&b->settings, settings);
	b->masked = !cpumask_is_all(&settings->cpumask);
	select_events(b);
	pthread_mutex_unlock(&b->lock);
	ring_configure(&b->ring, limit_of(settings), option_is_set(settings->options, OPTION_OVERWRITE));
	if (other)
		buffer_clear(b, tsc);
}

/* What is on its way here, too. */
void buffer_clear(struct buffer *b, uint64_t tsc)
{
	pthread_mutex_lock(&b->lock);
	b->off.n = 0;
	*vec_add(&b->off) = (struct off_period){ 0, b->on ? tsc : UINT64_MAX };
	pthread_mutex_unlock(&b->lock);
	ring_clear(&b->ring);
	buffer_raw_clear(&b->raw);
	buffer_pipes_forget(b, BUFFER_ALL_CPUS);
}

void buffer_offer(struct buffer *b, struct chunk *c, pid_t tid)
{
	const struct settings *s = &b->settings;

	pthread_mutex_lock(&b->lock);
	if (b->fork_follow)
		fork_follow_offer(b->fork_follow, c, tid);
	else
		keep_chunk(b, c, (pid_lists_allow(&s->pids, &s->notrace_pids, tid) ? CHUNK_FUNCTIONS : 0) |
				 (pid_lists_allow(&s->event_pids, &s->event_notrace_pids, tid) ? CHUNK_EVENTS : 0));
	pthread_mutex_unlock(&b->lock);
}

void buffer_follow(struct buffer *b, const struct pid_list *threads)
{
	pthread_mutex_lock(&b->lock);
	if (b->fork_follow)
		fork_follow_configure(b->fork_follow, &b->settings, threads);
	else
		b->fork_follow = fork_follow_new(&b->settings, threads);
	pthread_mutex_unlock(&b->lock);
}

void buffer_share(struct buffer *b, const struct settings *s, bool alone)
{
	pthread_mutex_lock(&b->lock);
	if (!s || !b->record_filter || !record_filter_configure(b->record_filter, s)) {
		record_filter_free(b->record_filter);
		b->record_filter = s ? record_filter_new(s, alone) : NULL;
	}
	pthread_mutex_unlock(&b->lock);
}

static void pass_record_filter(struct buffer *b, const struct trace_info *info, const struct cpumask *cpus, const struct chunk_ref *k)
{
	struct chunk_ref own = *k;

	if (!k->chunk->resolved)
		return;
	own.chunk = b->record_filter && k->what & CHUNK_FUNCTIONS ? record_filter_chunk(b->record_filter, info, k->chunk) : chunk_get(k->chunk);
	if (own.chunk && !cpumask_is_all(cpus)) {
		struct chunk *all = own.chunk;

		own.chunk = chunk_on_cpus(all, cpus);
		chunk_put(all);
	}
	if (own.chunk)
		ring_push(&b->ring, &own);
	chunk_put(own.chunk);
}

/* Nobody else has the record_filter: whoever resolves has the trace_info to himself. What came meanwhile waits. */
void buffer_resolve(struct buffer *b, const struct trace_info *info, uint64_t complete)
{
	chunk_list pending;
	struct cpumask cpus;
	size_t n = 0;

	pthread_mutex_lock(&b->lock);
	run_fork_follow(b, complete, info->clock.hz);
	cpus = b->settings.cpumask;
	pending = b->pending;
	b->pending = (chunk_list){ 0 };
	pthread_mutex_unlock(&b->lock);
	for (; n < pending.n && (pending.at[n].chunk->resolved || pending.at[n].chunk->refused); n++)
		pass_record_filter(b, info, &cpus, &pending.at[n]);
	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < b->pending.n; i++)
		*vec_add(&pending) = b->pending.at[i];
	vec_free(&b->pending);
	for (size_t i = n; i < pending.n; i++)
		*vec_add(&b->pending) = pending.at[i];
	pthread_mutex_unlock(&b->lock);
	pending.n = n;
	chunk_list_free(&pending);
}

bool buffer_write(struct buffer *b, uint32_t thread, uint16_t cpu, const uint64_t *words, size_t n, uint64_t tsc)
{
	const struct drain_run run = { .slot = thread, .cpu = cpu, .near_tsc = tsc, .words = words, .n = n, .records = 1 };
	struct chunk_ref k = { .what = CHUNK_EVENTS };
	bool on;

	pthread_mutex_lock(&b->lock);
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

/* --- triggers ----------------------------------------------------------------------- */

bool buffer_has_triggers(struct buffer *b)
{
	bool has;

	pthread_mutex_lock(&b->lock);
	has = b->triggers;
	pthread_mutex_unlock(&b->lock);
	return has;
}

bool buffer_follows_forks(struct buffer *b)
{
	bool has;

	pthread_mutex_lock(&b->lock);
	has = b->fork_follow;
	pthread_mutex_unlock(&b->lock);
	return has;
}

void buffer_run(struct buffer *b, struct trace_info *info, uint64_t until, size_t most)
{
	struct triggers *t, *idle = NULL;

	pthread_mutex_lock(&b->lock);
	t = b->triggers;
	pthread_mutex_unlock(&b->lock);
	if (!t || triggers_run(t, info, until, most))
		return;
	pthread_mutex_lock(&b->lock);
	if (triggers_are_idle(t)) {
		idle = t;
		b->triggers = NULL;
	}
	pthread_mutex_unlock(&b->lock);
	triggers_free(idle);
}

bool buffer_is_on(struct buffer *b)
{
	bool on;

	pthread_mutex_lock(&b->lock);
	on = b->on;
	pthread_mutex_unlock(&b->lock);
	return on;
}

void buffer_present(struct buffer *b, struct settings *s)
{
	pthread_mutex_lock(&b->lock);
	b->settings.tracing_on = b->on;
	if (b->triggers)
		triggers_present(b->triggers, &b->settings.events);
	if (b->triggers)
		triggers_present(b->triggers, &s->events);
	if (b->fork_follow)
		fork_follow_present(b->fork_follow, s);
	s->tracing_on = b->on;
	pthread_mutex_unlock(&b->lock);
}

void buffer_free(struct buffer *b)
{
	triggers_free(b->triggers);
	fork_follow_free(b->fork_follow);
	vec_free(&b->dumped);
	buffer_pipes_free(b);
	buffer_snapshot_free(&b->snapshot);
	chunk_list_free(&b->pending);
	record_filter_free(b->record_filter);
	buffer_raw_free(&b->raw);
	vec_free(&b->off);
	vec_free(&b->pauses);
	vec_free(&b->gone);
	selection_put(b->events);
	settings_free(&b->settings);
	ring_free(&b->ring);
	pthread_mutex_destroy(&b->lock);
	pthread_mutex_destroy(&b->reading);
}

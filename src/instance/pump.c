/* SPDX-License-Identifier: MIT */
/* The thread between the session memory and the buffers. It runs passes: take what programs
 * recorded, offer it to each buffer as chunks, resolve the chunks' threads, wake readers, wait.
 * Every other thread reaches trace_info through pump_lock, which is `names`.
 *
 * The pass only tries to lock `names`: a reader may hold it for long, and the programs' memory has
 * to be emptied meanwhile. Chunks then stay unresolved until the reader's own pump_lock resolved
 * them, or the next pass. If more of them wait than any buffer may keep, the pass waits, too.
 * `lock` is taken after `names` and is never held for long. After an error of a pass the next one
 * tries again; the first error is kept for who asks (pump_failed()). */
#include "instance/pump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "collect/clock.h"

/* The longest delay of a record: 1/100 s. A thread that is preempted between reading the clock and
 * storing its record delays it. A later record is still sorted in by its time, but triggers have
 * passed it by. */
#define LATE_PER_SECOND 100
#define NS 1000000000u
/* Records that triggers look at between two passes: about 10 ms of work. The pump must come back to
 * the programs' memory before it is full. */
#define RUN_MOST 100000
/* A holder of `names` may stop a program that waits for room in its memory: after so long a pass
 * goes on without the lock. */
#define NAMES_PATIENCE_S 1

struct pump {
	struct session *session;
	pthread_t thread;
	void (*woken)(void *context);
	bool (*lags)(void *context, uint64_t more);
	void *context;

	/* held while chunks are resolved and while trace_info is used; protects these two, too */
	pthread_mutex_t names;
	void (*fed)(void *context, const struct chunk *c);
	void *fed_context;

	pthread_mutex_t lock;      /* protects what follows; taken after `names` */
	pthread_cond_t passed;
	VEC(struct buffer *) buffers; /* changed under `names` too */
	chunk_list unresolved;
	uint64_t unresolved_bytes;
	uint64_t begun, done;      /* numbers of passes */
	uint64_t wanted;           /* the pass that pump_sync() waits for: it is not put off */
	bool held;                 /* no pass is made: a reader lags */
	bool hurried;              /* pump_hurry() */
	/* when the current pass began; how late a record may be, in ticks */
	uint64_t begun_tsc, late;
	uint64_t begun_ns;         /* the same instant on CLOCK_MONOTONIC_RAW */
	uint64_t complete;         /* all records from before this TSC are in the buffers */
	uint64_t complete_ns;      /* the same instant */
	bool over, ending;
	struct err failed;         /* the first failure; code 0: none */
};

/* --- records ------------------------------------------------------------------------ */

/* The slot of records that were lost by threads without one. */
#define THREADLESS UINT32_MAX

/* Remembers the first failure. */
static void note_failure(struct pump *p, int r, const struct err *err)
{
	pthread_mutex_lock(&p->lock);
	if (r < 0 && !p->failed.code)
		p->failed = *err;
	pthread_mutex_unlock(&p->lock);
}

/* Offers the chunk to the buffers before its thread is known, by the thread's number alone, so that
 * no buffer waits for `names`. */
static void offer_run(struct pump *p, const struct drain_run *run, pid_t tid)
{
	struct chunk *c = chunk_new(run);

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->buffers.n; i++)
		buffer_offer(p->buffers.at[i], c, tid);
	*vec_add(&p->unresolved) = (struct chunk_ref){ .chunk = c };
	p->unresolved_bytes += sizeof(*c) + c->n * sizeof(c->words[0]);
	pthread_mutex_unlock(&p->lock);
}

/* The drain's sink, called for each run of a pass. */
static int pump_run(void *context, const struct drain_run *run, struct err *err)
{
	struct pump *p = context;
	pid_t tid;

	(void)err;
	consumer_pid(p->session, run->slot, &tid);
	offer_run(p, run, tid);
	return 0;
}

/* Losses that came with no run, known when the session is over. */
static void take_threadless(struct pump *p, uint64_t lost)
{
	if (lost)
		offer_run(p, &(struct drain_run){ .slot = THREADLESS, .lost = lost,
						  .near_tsc = clock_tsc() }, 0);
}

/* Adds up what the buffers hold back and leave out, for the session's messages. Called with `names`
 * held. */
static void count_held(struct pump *p)
{
	struct trace_info *info = consumer_info(p->session);

	info->held_open = info->held_too_long = 0;
	for (size_t i = 0; i < p->buffers.n; i++) {
		struct held_counts c = buffer_held(p->buffers.at[i]);

		info->held_open += c.open;
		info->held_too_long += c.too_long;
	}
}

/* Lets each buffer take what was resolved, and run its triggers. Called with `names` held, which
 * keeps the list of buffers as it is; p->lock is not held, because this takes long. */
static void resolve_in_buffers(struct pump *p, uint64_t complete, size_t most)
{
	for (size_t i = 0; i < p->buffers.n; i++) {
		buffer_resolve(p->buffers.at[i], consumer_info(p->session), complete);
		buffer_run(p->buffers.at[i], consumer_info(p->session), complete, most);
	}
	count_held(p);
}

/* For the file of a session that has one. */
static void keep_chunks(struct pump *p, const chunk_list *chunks)
{
	for (size_t i = 0; i < chunks->n; i++) {
		const struct chunk *c = chunks->at[i].chunk;
		const struct drain_run run = { .cpu = c->cpu,
					       .near_tsc = c->near_tsc,
					       .lost = c->lost,
					       .words = c->words,
					       .n = c->n };

		if (c->resolved)
			consumer_keep(p->session, c->thread, &run);
	}
	consumer_kept(p->session);
}

/* Gives each chunk its thread of trace_info, and watchers the chunk. A chunk whose thread cannot be
 * found is marked as refused; no reader shows it. Called with `names` held. */
static void resolve_chunks(struct pump *p, chunk_list chunks)
{
	bool renewed;

	for (size_t i = 0; i < chunks.n; i++) {
		struct chunk *c = chunks.at[i].chunk;
		const struct drain_run run = { .slot = c->thread,
					       .cpu = c->cpu,
					       .near_tsc = c->near_tsc,
					       .lost = c->lost,
					       .calls = c->calls,
					       .records = c->records,
					       .words = c->words,
					       .n = c->n };
		struct err err;
		int r;

		if (c->thread == THREADLESS) {
			c->thread = consumer_threadless(p->session, c->lost);
			c->resolved = true;
			continue;
		}
		r = consumer_resolve(p->session, &run, &c->thread, &err);
		note_failure(p, r, &err);
		c->resolved = r == 0;
		c->refused = !c->resolved;
	}
	/* Resolving may have added threads that modules and images have to be read for. */
	renewed = consumer_catch_up(p->session);
	for (size_t i = 0; i < p->buffers.n && renewed; i++)
		buffer_renew(p->buffers.at[i]);
	for (size_t i = 0; i < chunks.n && p->fed; i++)
		if (chunks.at[i].chunk->resolved)
			p->fed(p->fed_context, chunks.at[i].chunk);
	keep_chunks(p, &chunks);
	chunk_list_free(&chunks);
}

/* Resolves what has arrived. Called with `names` held. `most` limits the records that triggers look
 * at per buffer. */
static void resolve(struct pump *p, size_t most)
{
	chunk_list chunks;
	uint64_t complete;

	/* The list is taken out, so that pump_run() can go on. */
	pthread_mutex_lock(&p->lock);
	chunks = p->unresolved;
	p->unresolved = (chunk_list){ 0 };
	p->unresolved_bytes = 0;
	complete = p->complete;
	pthread_mutex_unlock(&p->lock);
	resolve_chunks(p, chunks);
	resolve_in_buffers(p, complete, most);
}

/* --- the thread --------------------------------------------------------------------- */

static bool is_ending(struct pump *p)
{
	bool ending;

	pthread_mutex_lock(&p->lock);
	ending = p->ending;
	pthread_mutex_unlock(&p->lock);
	return ending;
}

static void note_begin(struct pump *p)
{
	pthread_mutex_lock(&p->lock);
	p->begun++;
	clock_instant(&p->begun_tsc, &p->begun_ns);
	pthread_mutex_unlock(&p->lock);
}

/* Everything recorded before the pass began has been taken, but for records that are late. */
static void note_taken(struct pump *p, bool over)
{
	pthread_mutex_lock(&p->lock);
	p->complete = over ? UINT64_MAX : p->begun_tsc - p->late;
	p->complete_ns = over ? UINT64_MAX : p->begun_ns - NS / LATE_PER_SECOND;
	pthread_mutex_unlock(&p->lock);
}

static void note_done(struct pump *p, bool over)
{
	pthread_mutex_lock(&p->lock);
	p->done = p->begun;
	p->over = over;
	pthread_cond_broadcast(&p->passed);
	pthread_mutex_unlock(&p->lock);
}

/* Whether more waits for `names` than a buffer may keep. The programs' memory fills meanwhile:
 * programs wait, or lose records that are counted. */
static bool is_full(struct pump *p)
{
	uint64_t most = 0;
	bool full;

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->buffers.n; i++) {
		const uint64_t of = buffer_may_wait(p->buffers.at[i]);

		most = of > most ? of : most;
	}
	full = p->unresolved_bytes > most;
	pthread_mutex_unlock(&p->lock);
	return full;
}

/* Whether to make no pass now: the programs' memory fills, and programs wait, until a reader has
 * taken what is in its buffer. The session's heartbeat is the socket thread's. */
static bool is_held(struct pump *p)
{
	uint64_t more;
	bool held;

	pthread_mutex_lock(&p->lock);
	more = p->unresolved_bytes;
	held = p->wanted <= p->done && !p->hurried;
	pthread_mutex_unlock(&p->lock);
	/* Without the lock: the function locks the instances. */
	held = held && p->lags(p->context, more);
	pthread_mutex_lock(&p->lock);
	p->held = held;
	pthread_mutex_unlock(&p->lock);
	return held;
}

/* Locks `names`, if nobody has it or too much waits for it. */
static bool lock_names(struct pump *p)
{
	struct timespec until;

	if (pthread_mutex_trylock(&p->names) == 0)
		return true;
	if (!is_full(p))
		return false;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += NAMES_PATIENCE_S;
	return pthread_mutex_timedlock(&p->names, &until) == 0;
}

/* Takes what programs have recorded. */
static void take_records(struct pump *p, bool over)
{
	uint64_t lost = 0;
	struct err err;

	note_begin(p);
	note_failure(p, consumer_pass(p->session, over, pump_run, p, &lost, &err), &err);
	take_threadless(p, lost);
	/* Records that stay in the programs' memory are in no buffer. */
	if (over || !consumer_keeps(p->session))
		note_taken(p, over);
}

static void *pump_thread(void *arg)
{
	struct pump *p = arg;
	bool over = false, held;

	while (!over) {
		/* The last pass comes after the session has stopped: it finds all that was
		 * recorded. */
		over = is_ending(p);
		if (over)
			session_stop(p->session);
		over |= consumer_over(p->session);
		held = is_held(p) && !over;
		if (!held)
			take_records(p, over);
		/* A holder of `names` resolves everything itself in pump_lock(). */
		if (lock_names(p)) {
			resolve(p, over ? SIZE_MAX : RUN_MOST);
			pthread_mutex_unlock(&p->names);
		}
		if (!held)
			note_done(p, over);
		p->woken(p->context);
		if (!over)
			consumer_wait(p->session);
	}
	return NULL;
}

int pump_start(struct session *s, const struct pump_user *user, struct buffer *first,
	       struct pump **out, struct err *err)
{
	struct pump *p = mem_zalloc(sizeof(*p));
	int e;

	p->session = s;
	p->woken = user->woken;
	p->lags = user->lags;
	p->context = user->context;
	p->fed = user->fed;
	p->fed_context = user->context;
	/* TSC ticks. */
	p->late = consumer_info(s)->clock.hz / LATE_PER_SECOND;
	pthread_mutex_init(&p->names, NULL);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->passed, NULL);
	*vec_add(&p->buffers) = first;
	e = pthread_create(&p->thread, NULL, pump_thread, p);
	if (e) {
		vec_free(&p->buffers);
		free(p);
		return err_set(err, e, "cannot start a thread: %s", strerror(e));
	}
	*out = p;
	return 0;
}

void pump_stop(struct pump *p)
{
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_mutex_unlock(&p->lock);
	/* The thread may be asleep in consumer_wait(). */
	consumer_wake(p->session);
	pthread_join(p->thread, NULL);
	chunk_list_free(&p->unresolved);
	vec_free(&p->buffers);
	pthread_cond_destroy(&p->passed);
	pthread_mutex_destroy(&p->lock);
	pthread_mutex_destroy(&p->names);
	free(p);
}

/* --- buffers ------------------------------------------------------------------------ */

void pump_add(struct pump *p, struct buffer *b)
{
	/* Both locks: `names` for resolve_in_buffers(), `lock` for pump_run(). */
	pthread_mutex_lock(&p->names);
	pthread_mutex_lock(&p->lock);
	*vec_add(&p->buffers) = b;
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_unlock(&p->names);
}

void pump_remove(struct pump *p, struct buffer *b)
{
	size_t kept = 0;

	pthread_mutex_lock(&p->names);
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->buffers.n; i++)
		if (p->buffers.at[i] != b)
			p->buffers.at[kept++] = p->buffers.at[i];
	p->buffers.n = kept;
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_unlock(&p->names);
}

void pump_share(struct pump *p, struct buffer *b, const struct settings *s, bool alone)
{
	/* pump_lock() resolves everything under the buffer's old record filter first. */
	pump_lock(p);
	buffer_share(b, s, alone);
	pump_unlock(p);
}

void pump_watch(struct pump *p, void (*fed)(void *context, const struct chunk *c), void *context)
{
	p->fed = fed;
	p->fed_context = context;
}

void pump_hurry(struct pump *p, bool hurried)
{
	pthread_mutex_lock(&p->lock);
	p->hurried = hurried;
	pthread_mutex_unlock(&p->lock);
	consumer_wake(p->session);
}

void pump_was_read(struct pump *p)
{
	bool held;

	pthread_mutex_lock(&p->lock);
	held = p->held;
	pthread_mutex_unlock(&p->lock);
	if (held)
		consumer_wake(p->session);
}

/* Waits for the end of a pass that began after the call. The pass that is under way may already
 * have passed the place where the caller's records are. */
void pump_sync(struct pump *p)
{
	uint64_t want;

	pthread_mutex_lock(&p->lock);
	want = p->begun + 1;
	if (p->wanted < want)
		p->wanted = want;
	while (p->done < want && !p->over) {
		/* Again in every round: a wake that comes while the thread is not asleep yet is
		 * lost otherwise. */
		consumer_wake(p->session);
		pthread_cond_wait(&p->passed, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
}

/* 2 ms: `complete` trails by 1/100 s, so that several passes are needed. */
static void nap(void)
{
	const struct timespec time = { .tv_nsec = 2000000 };

	nanosleep(&time, NULL);
}

/* Runs the triggers over what is complete; passes stop after RUN_MOST records. False: those of some
 * buffer have not come to `want`. */
static bool run_triggers(struct pump *p, uint64_t want)
{
	bool all = true;

	pump_lock(p);
	for (size_t i = 0; i < p->buffers.n; i++)
		all &= !buffer_is_behind(p->buffers.at[i], want);
	pump_unlock(p);
	return all;
}

void pump_complete(struct pump *p)
{
	uint64_t want = clock_tsc();
	bool complete = false;

	while (!complete) {
		pump_sync(p);
		pthread_mutex_lock(&p->lock);
		complete = p->complete >= want;
		pthread_mutex_unlock(&p->lock);
		complete = complete && run_triggers(p, want);
		if (!complete)
			nap();
	}
}

uint64_t pump_horizon(struct pump *p)
{
	uint64_t horizon;

	pthread_mutex_lock(&p->lock);
	/* After the end nothing is missing. */
	horizon = p->over ? clock_tsc() : p->complete;
	pthread_mutex_unlock(&p->lock);
	return horizon;
}

struct pump_instant pump_complete_until(struct pump *p)
{
	struct pump_instant complete;

	pthread_mutex_lock(&p->lock);
	complete = (struct pump_instant){ p->complete, p->complete_ns };
	pthread_mutex_unlock(&p->lock);
	return complete;
}

bool pump_failed(struct pump *p, struct err *err)
{
	bool failed;

	pthread_mutex_lock(&p->lock);
	failed = p->failed.code;
	if (failed)
		*err = p->failed;
	pthread_mutex_unlock(&p->lock);
	return failed;
}

struct trace_info *pump_lock(struct pump *p)
{
	pthread_mutex_lock(&p->names);
	resolve(p, SIZE_MAX);
	return consumer_info(p->session);
}

void pump_unlock(struct pump *p)
{
	pthread_mutex_unlock(&p->names);
}

bool pump_is_over(struct pump *p)
{
	bool over;

	pthread_mutex_lock(&p->lock);
	over = p->over;
	pthread_mutex_unlock(&p->lock);
	return over;
}

void pump_wait(struct pump *p)
{
	pthread_mutex_lock(&p->lock);
	while (!p->over)
		pthread_cond_wait(&p->passed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

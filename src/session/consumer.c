/* SPDX-License-Identifier: MIT */
/* The session as its instances see it. Each function passes on to the session's own. The pump's
 * thread makes passes; threads that read files resolve, with the names locked. Errors are the
 * session's. */
#include "session/consumer.h"

#include "session/control.h"
#include "session/internal.h"
#include "store/store.h"
#include "tracee/proc_status.h"

/* The longest that a few records wait in a buffer that does not fill. */
#define WAIT_MS 20

/* Attached processes are left before the last pass: then nobody writes, and the pass takes
 * everything. */
int consumer_pass(struct session *s, bool last, drain_sink *sink, void *context, uint64_t *lost,
		  struct err *err)
{
	session_heartbeat(s);
	if (last)
		session_detach(s);
	/* In overwrite mode records stay in the programs' memory until the end. */
	if (!last && session_overwrites(s))
		return session_pass(s, PASS_KEEP, NULL, NULL, NULL, err);
	return session_pass(s, last ? PASS_LAST : PASS_PARTIAL, sink, context, lost, err);
}

bool consumer_keeps(const struct session *s)
{
	return session_overwrites(s);
}

bool consumer_over(struct session *s)
{
	return session_over(s);
}

/* The reading of wakeups comes here, and not before the pass: a wake between pass and wait costs
 * WAIT_MS at most. */
void consumer_wait(struct session *s)
{
	memories_read_wakeups(&s->memories);
	memories_wait(&s->memories, WAIT_MS);
}

void consumer_wake(struct session *s)
{
	memories_wake(&s->memories);
}

/* For a pump that keeps records itself: counts the run and tells its thread's number. */
int consumer_resolve(struct session *s, const struct drain_run *run, uint32_t *thread,
		     struct err *err)
{
	int r = session_account(s, run, err);

	if (r == 0)
		*thread = session_thread(s, run->slot);
	return r;
}

uint32_t consumer_threadless(struct session *s, uint64_t lost)
{
	return session_threadless(s, lost);
}

bool consumer_catch_up(struct session *s)
{
	return session_catch_up(s);
}

struct trace_info *consumer_info(struct session *s)
{
	return s->info;
}

/* The program's image, by which a printer sees that the kernel is not alone. */
void consumer_print(struct session *s, enum trace_sides sides)
{
	s->info->sides = sides;
	if (s->first_image)
		session_catch_up(s);
}

void consumer_show(struct session *s)
{
	s->clock.printed = true;
}

const struct clock *consumer_clock(const struct session *s)
{
	return &s->clock;
}

void consumer_renew_names(struct session *s)
{
	thread_names_all(s);
}

/* The option record-cmd: without it readers show <...>, as in ftrace. */
void consumer_name_threads(struct session *s, bool named)
{
	struct proc_status status;

	if (named && s->unnamed)
		for (size_t i = 0; i < s->info->threads.n; i++) {
			struct trace_thread *t = &s->info->threads.at[i];

			/* Names were not followed meanwhile: a thread that runs gets its present
			 * name again. A reused tid belongs to another process now. */
			if (t->unnamed && proc_status_read((pid_t)t->tid, &status) == 0 &&
			    (uint32_t)status.tgid == t->pid)
				t->unnamed = false;
		}
	s->unnamed = !named;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Records wait at most so long to be written: what waits is lost when the session is killed. A file
 * of `brace record` has larger packets instead. */
#define FLUSHES_PER_SECOND 5

static bool takes_more(const struct session *s)
{
	return s->store && !s->full.code;
}

void consumer_keep(struct session *s, uint32_t thread, const struct drain_run *run)
{
	if (!takes_more(s))
		return;
	session_tell_ring(s, false);
	/* Images and threads of these records come before them in the file. */
	if (store_sync_info(s->store, &s->full) == 0)
		store_records(s->store, thread, run->near_tsc, run->cpu, run->lost, run->words,
			      run->n, &s->full);
}

/* Also what gives records a meaning is written at once: when all are dead nobody else can tell. */
void consumer_kept(struct session *s)
{
	if (!takes_more(s))
		return;
	session_tell_ring(s, false);
	thread_names_look(s);
	if (store_flush_info(s->store, &s->full) == 0)
		store_flush(s->store, clock_tsc() - s->info->clock.hz / FLUSHES_PER_SECOND,
			    &s->full);
	if (rotation_due(s))
		rotation_turn(s);
}

void consumer_end_file(struct session *s)
{
	if (!s->output)
		return;
	session_tell_ring(s, false);
	clock_refine(&s->clock, &s->info->clock);
	session_end_file(s);
}

/* The numbers of a slot in a memory are the program's to change: a wrong one misnames that
 * program's own records. */
pid_t consumer_pid(const struct session *s, uint32_t slot, pid_t *tid)
{
	struct trace_thread t;

	producers_thread(&s->producers, slot, &t);
	*tid = (pid_t)t.tid;
	return (pid_t)t.pid;
}

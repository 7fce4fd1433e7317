/* SPDX-License-Identifier: MIT */
/* Drains a session into its trace file until the programs end. session_record() runs on the
 * session's thread. A file that cannot take all does not end the recording: what it lacks is
 * counted. A program that spoils the memory ends it with -EPROTO; the program runs on. */
#include <sys/stat.h>

#include "session/held_calls.h"
#include "session/internal.h"
#include "shared/points.h"
#include "store/store.h"

/* The longest that memories_wait() waits for a full sub-buffer. */
#define WAIT_MS 50
#define FLUSH_S 2  /* an idle program's records wait at most so long to be written */
/* idle threads' records are taken this often: their times need a near anchor */
#define PARTIAL_NS UINT64_C(60000000000)

/* False after the first failed write: what comes then is counted as lost. */
static bool takes_more(const struct session *s)
{
	return !s->full.code;
}

/* drain_sink: accounts the run, and writes it while the file takes more. */
static int store_run(void *context, const struct drain_run *run, struct err *err)
{
	struct session *s = context;
	int r;

	if (rotation_due(s))
		rotation_turn(s);
	r = session_account(s, run, err);
	if (r < 0)
		return r;
	/* Images and threads of these records come before them in the file. */
	session_catch_up(s);
	if (takes_more(s) && store_sync_info(s->store, &s->full) == 0)
		store_records(s->store, session_thread(s, run->slot), run->near_tsc, run->cpu,
			      run->lost, run->words, run->n, &s->full);
	return 0;
}

/* drain_sink */
static int record_run(void *context, const struct drain_run *run, struct err *err)
{
	struct session *s = context;

	return session_take_run(s, run, store_run, s, err);
}

/* Writes the losses of threads that got no slot in the session memory. */
static void record_threadless(struct session *s, uint64_t lost)
{
	uint32_t thread = lost ? session_threadless(s, lost) : 0;

	if (lost && takes_more(s))
		store_records(s->store, thread, clock_tsc(), 0, lost, NULL, 0, &s->full);
}

/* Writes updates at once: a brace that recovers a dead tracer's records needs their names. Of a
 * ring also the call sites, which nobody else can tell when the program is dead, too. */
static void write_update(struct session *s)
{
	bool update = session_catch_up(s) || s->ring;

	update |= thread_names_look(s);
	if (update && takes_more(s))
		store_flush_info(s->store, &s->full);
}

/* Writes the records of idle threads. */
static void write_old(struct session *s)
{
	if (takes_more(s))
		store_flush(s->store, clock_tsc() - FLUSH_S * s->info->clock.hz, &s->full);
}

/* Drains until all is over. -errno and *err: the program spoiled the memory. */
static int record_loop(struct session *s, struct err *err)
{
	bool overwrite = session_overwrites(s);
	uint64_t partial = clock_tsc();
	int r = 0;

	for (;;) {
		bool due =
			trace_clock_delta_ns(&s->info->clock, clock_tsc() - partial) > PARTIAL_NS;

		/* Before the look, so that an end between look and wait is not slept over. */
		memories_read_wakeups(&s->memories);
		if (session_over(s))
			break;
		POINT(loop_turns);
		session_heartbeat(s);
		write_update(s);
		POINT(update_written);
		r = session_pass(s, overwrite ? PASS_KEEP : due ? PASS_PARTIAL : PASS_FULL,
				 record_run, s, NULL, err);
		if (due)
			partial = clock_tsc();
		if (r < 0)
			break;
		if (!overwrite)
			write_old(s);
		if (rotation_due(s))
			rotation_turn(s);
		memories_wait(&s->memories, WAIT_MS);
	}
	return r;
}

/* Records nothing any more, and lets the program end in peace. */
static void wait_for_end(struct session *s)
{
	session_stop(s);
	for (memories_read_wakeups(&s->memories); !session_over(s);
	     memories_read_wakeups(&s->memories))
		memories_wait(&s->memories, WAIT_MS);
}

/* There was no file for what came since the last turn. */
static void count_unwritten(struct session *s)
{
	s->total.lost += s->total.records;
	s->total.records = s->total.calls = s->total.bytes = 0;
}

/* Also where the disk was full: the index of what is there makes the file readable. */
void session_end_file(struct session *s)
{
	struct err why = { 0 }, early = { 0 };
	struct stat st;
	int r;

	if (!s->store) {
		count_unwritten(s);
		return;
	}
	s->total.bytes = store_bytes(s->store);
	s->info->total = s->total;
	session_tell_run(s);
	r = store_end(s->store, s->info, &why, &early);
	s->store = NULL;
	if (why.code || r < 0)
		s->full = why.code ? why : early;
	s->total = s->info->total;
	if (stat(s->output, &st) == 0 && S_ISREG(st.st_mode))
		/* With records that were still pending, and the index. */
		s->total.bytes = (uint64_t)st.st_size;
}

/* Returns when the programs have ended, or the user has ended the recording. -errno and *err only
 * where records could not be taken. */
int session_record(struct session *s, struct session_result *res, struct err *err)
{
	uint64_t lost = 0;
	int r = record_loop(s, err);

	/* Attached processes are left first: then nobody writes, and the last pass takes
	 * everything. */
	POINT(program_over);
	session_detach(s);
	if (r >= 0)
		r = session_pass(s, PASS_LAST, record_run, s, &lost, err);
	if (r >= 0)
		r = session_take_rest(s, store_run, s, err);
	if (r >= 0)
		record_threadless(s, lost);
	else
		wait_for_end(s);
	thread_names_all(s);
	clock_refine(&s->clock, &s->info->clock);
	session_catch_up(s);
	session_end_file(s);
	POINT(file_finished);
	session_result(s, res);
	return r < 0 ? r : 0;
}

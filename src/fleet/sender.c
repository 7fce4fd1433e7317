/* SPDX-License-Identifier: MIT */
/* Exactly once, without the server's help: a batch is one block of one day, which a table takes
 * whole or not at all, a run has one writer, and a batch whose answer was lost is asked for before
 * it is sent again. push.c calls it, on the command's thread; a thread of its own sends, and sleeps
 * between two tries. Fails if the server is away for too long, refuses, or has other
 * rows under a batch's number. */
#include "fleet/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/monotonic.h"

#define BACK_OFF_LEAST_NS UINT64_C(200000000)
#define BACK_OFF_MOST_NS UINT64_C(10000000000)
#define BATCHES_MOST (1u << 20) /* of a run and table, that a server may name: 262 billion rows */

/* Rows of the other tables, functions and runs, may come twice: their engine, ReplacingMergeTree,
 * keeps one. */
static bool has_batches(const struct fleet_table *t)
{
	return t == &fleet_tables[FLEET_MINUTES] || t == &fleet_tables[FLEET_CALLS] ||
	       t == &fleet_tables[FLEET_TRACES];
}

/* --- what is there ----------------------------------------------------- */

/* Lines of "batch TAB rows", into present. False: there are more than a run has. Keys are batches +
 * 1, since the map does not keep a key of 0. The bound is for a server that is not to be trusted:
 * it could fill the memory. */
static bool take_counts(struct number_map *present, const char *line)
{
	while (*line && present->n < BATCHES_MOST) {
		char *end;
		const uint64_t batch = strtoull(line, &end, 10), rows = strtoull(end, NULL, 10);

		number_map_set(present, batch + 1, rows);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return !*line;
}

/* Begins the table's map anew. The caller's thread calls it before the sender's thread is there,
 * only that one afterwards: `present` needs no lock. */
static int ask_present(struct fleet_sender *s, enum fleet_table_number table, struct err *err)
{
	char *answer, *sql = mem_printf("SELECT batch, count() FROM %s.%s WHERE run = %" PRIu64
					" GROUP BY batch FORMAT TabSeparated",
					s->servers->database, fleet_tables[table].name, s->run);
	int r = fleet_ask(s->servers, s->server, sql, &answer, err);

	free(sql);
	if (r)
		return r;
	number_map_free(&s->present[table]);
	if (!take_counts(&s->present[table], answer))
		r = err_set(err, EPROTO, "%s is not to be trusted: it has more batches than a run can have",
			    s->servers->at.at[s->server].url);
	free(answer);
	return r;
}

/* Whether an insertion of that name runs: 1 or 0, or -errno and *err. The name is made of numbers
 * and a table's name (send_batch()), so that it needs no quoting. */
static int ask_running(struct fleet_sender *s, const char *name, struct err *err)
{
	char *answer, *sql = mem_printf("SELECT count() FROM system.processes WHERE query_id = '%s' "
					"FORMAT TabSeparated", name);
	int r = fleet_ask(s->servers, s->server, sql, &answer, err);

	free(sql);
	if (r)
		return r;
	r = atoi(answer) > 0;
	free(answer);
	return r;
}

/* --- waiting ----------------------------------------------------- */

struct server_patience { uint64_t since, pause; };

/* Sleeps before the next try. 0; -EINTR; -ETIMEDOUT: the server was away for too long, and *err,
 * which says why the last try failed, says so. Pauses double, from 0.2 s to 10 s. The time counts
 * from the first failure of this batch, since each has a patience of its own. */
static int wait_for_server(struct fleet_sender *s, struct server_patience *p, struct err *err)
{
	const uint64_t now = monotonic_ns();

	if (!p->since)
		*p = (struct server_patience){ now, BACK_OFF_LEAST_NS };
	if (stop_asked(s->stop))
		return err_code(err, EINTR);
	if (now - p->since + p->pause > s->retry_ns)
		return err_code(err, ETIMEDOUT);
	fleet_nap(s->stop, p->pause);
	p->pause = p->pause * 2 < BACK_OFF_MOST_NS ? p->pause * 2 : BACK_OFF_MOST_NS;
	return stop_asked(s->stop) ? err_code(err, EINTR) : 0;
}

/* Asks until there is an answer. */
static int ask_patiently(struct fleet_sender *s, enum fleet_table_number table,
			 struct server_patience *p, struct err *err)
{
	int r = ask_present(s, table, err), w;

	while (fleet_may_pass(r)) {
		w = wait_for_server(s, p, err);
		if (w)
			return w;
		r = ask_present(s, table, err);
	}
	return r;
}

/* --- sending ----------------------------------------------------- */

/* 1: the batch is there; 0: it is not; or -errno and *err: there are other rows. */
static int compare(const struct fleet_sender *s, enum fleet_table_number table, uint32_t batch,
		   size_t rows, struct err *err)
{
	const uint64_t there = number_map_get(&s->present[table], (uint64_t)batch + 1);

	if (there == NUMBER_NONE)
		return 0;
	if (there == rows)
		return 1;
	return err_set(err, EEXIST,
		       "%s has %" PRIu64 " rows as batch %" PRIu32 " of %s of run %016" PRIx64
		       ", and the trace makes %zu: another version of brace pushed it",
		       s->servers->at.at[s->server].url, there, batch, fleet_tables[table].name,
		       s->run, rows);
}

/* After an answer was lost: 1: the batch is there; 0: it is not, and will not come; or -errno. The
 * order matters: an insertion that ends between the two questions is seen by the second. In the
 * other order it could be sent twice. */
static int settle(struct fleet_sender *s, enum fleet_table_number table, uint32_t batch,
		  const struct fleet_block *b, const char *name, struct server_patience *p,
		  struct err *err)
{
	int r;

	for (;;) {
		r = wait_for_server(s, p, err);
		if (r)
			return r;
		r = ask_running(s, name, err);
		if (r < 0 && !fleet_may_pass(r))
			return r;
		if (r)
			continue;
		r = ask_patiently(s, table, p, err);
		return r ? r : compare(s, table, batch, b->rows, err);
	}
}

/* Returns 0 when the batch is there, by whichever try. All tries have one name, by which settle()
 * asks whether one still runs. */
static int send_batch(struct fleet_sender *s, enum fleet_table_number table, uint32_t batch,
		      const struct fleet_block *b, struct err *err)
{
	char *name = mem_printf("brace-%016" PRIx64 "-%s-%" PRIu32, s->run, b->table->name, batch);
	struct server_patience p = { 0 };
	int r = fleet_insert(s->servers, s->server, b, name, err);

	while (fleet_may_pass(r)) {
		r = settle(s, table, batch, b, name, &p, err);
		if (r)
			break;
		r = fleet_insert(s->servers, s->server, b, name, err);
	}
	free(name);
	return r > 0 ? 0 : r;
}

/* A table whose engine keeps one of equal rows needs no questions. A second insertion of them does
 * no harm. */
static int send_rows(struct fleet_sender *s, const struct fleet_block *b, struct err *err)
{
	char *name = mem_printf("brace-%016" PRIx64 "-%s", s->run, b->table->name);
	struct server_patience p = { 0 };
	int r = fleet_insert(s->servers, s->server, b, name, err), w = 0;

	while (fleet_may_pass(r) && !w) {
		w = wait_for_server(s, &p, err);
		if (!w)
			r = fleet_insert(s->servers, s->server, b, name, err);
	}
	free(name);
	return w ? w : r;
}

/* `sent` and its like are read by the caller when the thread has ended. A batch that is there is
 * passed over: this is how a push that was cut short goes on. `verify` counts what is missing and
 * sends nothing. */
static int give_batch(struct fleet_sender *s, const struct fleet_block *b, struct err *err)
{
	const enum fleet_table_number table = (enum fleet_table_number)(b->table - fleet_tables);
	const uint32_t batch = b->batch;
	int r = compare(s, table, batch, b->rows, err);

	s->batches++;
	if (r < 0)
		return r;
	s->there += r == 1;
	s->missing += !r;
	if (r || s->verify)
		return 0;
	r = send_batch(s, table, batch, b, err);
	s->sent += !r;
	return r;
}

static int give(struct fleet_sender *s, const struct fleet_block *b, struct err *err)
{
	if (has_batches(b->table))
		return give_batch(s, b, err);
	return s->verify ? 0 : send_rows(s, b, err);
}

/* --- the thread ----------------------------------------------------- */

/* Behind a failure nothing is sent: the run's row, which stands for all, is the last. While `full`
 * is set the block is this thread's, so that it is sent without the lock. One condition serves both
 * threads, since they never wait at once: this one waits for `full`, the caller for its end. The
 * caller learns of a failure when it gives the next block, or at the end. */
static void *send_blocks(void *arg)
{
	struct fleet_sender *s = arg;
	struct err err = { 0 };
	int r = 0;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (!s->full && !s->end)
			pthread_cond_wait(&s->changed, &s->lock);
		if (!s->full)
			break;
		pthread_mutex_unlock(&s->lock);
		r = r ? r : give(s, &s->block, &err);
		pthread_mutex_lock(&s->lock);
		if (r && !s->failed) {
			s->failed = r;
			s->why = err;
		}
		s->full = false;
		pthread_cond_signal(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

uint32_t fleet_sender_batch(const struct fleet_sender *s, enum fleet_table_number table)
{
	return s->next[table];
}

/* The thread's failure; the block is the caller's again. Called with the lock. */
static int wait_for_thread(struct fleet_sender *s, struct err *err)
{
	while (s->full)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->failed)
		*err = s->why;
	return s->failed;
}

/* Swaps the blocks: the caller fills the memory of the block that was sent last, so that two of
 * each size do for a whole push. Numbers are given here, in the caller's order, so that the same
 * trace makes the same batches each time. */
int fleet_send(struct fleet_sender *s, struct fleet_block *b, struct err *err)
{
	struct fleet_block emptied;
	int r;

	if (!b->rows)
		return 0;
	b->batch = s->next[b->table - fleet_tables]++;
	pthread_mutex_lock(&s->lock);
	r = wait_for_thread(s, err);
	if (!r) {
		emptied = s->block;
		s->block = *b;
		s->full = true;
		/* A block that was sent before has room for rows of its table. */
		emptied.table = b->table;
		*b = emptied;
		pthread_cond_signal(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	fleet_block_clear(b);
	return r;
}

/* FLEET_TRACES is asked only if needed: a database that an older brace made may not have the
 * table. */
int fleet_sender_begin(struct fleet_sender *s, struct err *err)
{
	struct server_patience p = { 0 };
	int r = ask_patiently(s, FLEET_MINUTES, &p, err);

	if (!r)
		r = ask_patiently(s, FLEET_CALLS, &p, err);
	if (!r && s->has_file)
		r = ask_patiently(s, FLEET_TRACES, &p, err);
	if (r)
		return r;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	r = pthread_create(&s->thread, NULL, send_blocks, s);
	s->begun = !r;
	return r ? err_set(err, r, "cannot start a thread: %s", strerror(r)) : 0;
}

/* A block that is still full is sent first: send_blocks() looks at `full` before it looks at
 * `end`. */
static void end_thread(struct fleet_sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->end = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
}

int fleet_sender_end(struct fleet_sender *s, int r, struct err *err)
{
	if (s->begun)
		end_thread(s);
	if (!r && s->failed) {
		*err = s->why;
		r = s->failed;
	}
	fleet_block_free(&s->block);
	for (size_t i = 0; i < FLEET_TABLES; i++)
		number_map_free(&s->present[i]);
	return r;
}

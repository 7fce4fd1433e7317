/* SPDX-License-Identifier: MIT */
/* ui/fleet_prune.c calls it, on the command's thread, which sleeps while a server rewrites its
 * tables. Runs are named one by one: a day of a table has rows of several, and a run may have rows
 * of several days. Fails as servers do. */
#include "fleet/prune.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"

#define RUNS_AT_ONCE 2000 /* numbers of 20 digits: a statement may have 256 KB */
#define LOOK_NS UINT64_C(300000000)

typedef VEC(uint64_t) run_numbers;

/* The chosen runs of a server. They are kept as numbers: statements may hold nothing of a server's
 * text. */
static int ask_runs(const struct fleet_prune *p, size_t server, run_numbers *runs, struct err *err)
{
	char *sql = fleet_question_statement("SELECT DISTINCT run FROM %D.runs WHERE %W"
					     " FORMAT TabSeparated", p->servers, p->runs);
	char *text, *at, *line;
	int r = fleet_ask(p->servers, server, sql, &text, err);

	free(sql);
	if (r)
		return r;
	at = text;
	while ((r = fleet_answer_line(&at, &line, err)) > 0)
		*vec_add(runs) = strtoull(line, NULL, 10);
	free(text);
	return r;
}

/* Has the rows of n runs deleted from a table, at some time. ALTER ... DELETE is a mutation: the
 * server answers at once and rewrites the parts later. */
static int delete_from(const struct fleet_prune *p, size_t server, enum fleet_table_number table,
		       const uint64_t *runs, size_t n, struct err *err)
{
	struct out_text text = { 0 };
	struct out o;
	char *sql;
	int r;

	out_init_raw(&o, out_keep_text, &text);
	out_printf(&o, "ALTER TABLE %s.%s DELETE WHERE run IN (", p->servers->database,
		   fleet_tables[table].name);
	for (size_t i = 0; i < n; i++)
		out_printf(&o, "%s%" PRIu64, i ? ", " : "", runs[i]);
	out_str(&o, ")");
	sql = out_text_end(&o);
	r = fleet_ask(p->servers, server, sql, NULL, err);
	free(sql);
	return r;
}

/* Until nothing is to be deleted any more. Mutations of others in this database are waited for,
 * too. 0, or -errno and *err. */
static int wait_for_server(const struct fleet_prune *p, size_t server, struct err *err)
{
	char *sql = mem_printf("SELECT count() FROM system.mutations WHERE database = '%s' AND is_done = 0"
			       " FORMAT TabSeparated", p->servers->database);
	uint64_t left = 1;
	char *text;
	int r = 0;

	while (!r && left) {
		r = fleet_ask(p->servers, server, sql, &text, err);
		if (r)
			break;
		left = strtoull(text, NULL, 10);
		free(text);
		if (left)
			fleet_nap(p->stop, LOOK_NS);
		if (left && stop_asked(p->stop))
			r = err_set(err, EINTR, "interrupted: the server goes on, and the same command deletes what is left");
	}
	free(sql);
	return r;
}

/* The runs' own rows go last, and only when all others have gone: they are what a prune that was
 * interrupted finds its work by. */
static int prune_runs(const struct fleet_prune *p, size_t server, const uint64_t *runs, size_t n,
		      struct err *err)
{
	static const enum fleet_table_number first[] = { FLEET_MINUTES, FLEET_CALLS, FLEET_TRACES };
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(first) / sizeof(*first); i++)
		r = delete_from(p, server, first[i], runs, n, err);
	if (!r)
		r = wait_for_server(p, server, err);
	if (!r)
		r = delete_from(p, server, FLEET_RUNS, runs, n, err);
	return r ? r : wait_for_server(p, server, err);
}

/* A fleet_asker. Portions keep a statement below ClickHouse's max_query_size of 256 KiB; runs that
 * have gone count even if a later portion fails. */
static int prune_server(void *arg, size_t server, struct err *err)
{
	struct fleet_prune *p = arg;
	run_numbers runs = { 0 };
	int r = ask_runs(p, server, &runs, err);

	for (size_t at = 0, n; !r && at < runs.n; at += n) {
		n = runs.n - at < RUNS_AT_ONCE ? runs.n - at : RUNS_AT_ONCE;
		r = prune_runs(p, server, runs.at + at, n, err);
		p->gone += r ? 0 : n;
	}
	vec_free(&runs);
	return r;
}

int fleet_prune(struct fleet_prune *p, struct fleet_answer *a, struct err *err)
{
	return fleet_answer_all(p->servers, prune_server, p, a, err);
}

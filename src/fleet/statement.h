/* SPDX-License-Identifier: MIT */
/* A user's own statement, in ClickHouse's SQL, for all servers of a fleet: each answers of its own
 * runs, and the rows of all become the table `answer`. A second statement, in SQLite's SQL, may add
 * them up. */
#pragma once
#include "fleet/answer.h"
#include "query/query.h"

struct fleet_statement {
	const char *sql;   /* for the servers */
	const char *then;  /* for their rows; NULL: the rows as they are */
	uint64_t limit;    /* of rows without `then`; 0: all */
};

/* Asks the servers and gives the rows to the sink. 0, or -errno and *err: no server answered, one
 * does not understand the statement or would change something by it, or `then` is at fault. */
int fleet_statement_ask(const struct fleet_statement *t, const struct fleet_servers *s,
			const struct query_sink *sink, void *arg, struct fleet_answer *a,
			struct err *err);

/* Rows of several servers. Zeroed, it has none. */
struct fleet_rows {
	char *names;         /* the first server's line of columns' names; NULL: none yet */
	struct query *query; /* their table */
	uint64_t n;
};
/* Adds the rows of a server's answer (lines of names, of types, and of rows). Changes the text,
 * which ends with a NUL and is nothing to trust. 0, or -errno and *err; the rows before stay. */
int fleet_rows_take(struct fleet_rows *rows, char *text, struct err *err);
void fleet_rows_free(struct fleet_rows *rows);

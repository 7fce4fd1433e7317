/* SPDX-License-Identifier: MIT */
/* Calls by groups, without SQLite's steps for each row: the statements that are asked most,
 * `SELECT name, count(*), sum(dur), p99(dur) FROM slice GROUP BY name`. groups_read() knows them by
 * their words, groups_make() computes the groups on all processors, and a SELECT over the table
 * `brace_groups` does the rest. Everything else is SQLite's, which gives the same. Private to
 * src/query; on the query's thread. */
#pragma once
#include "query/table.h"

/* Whether the statement, n bytes, is one of those: fills *w and *select, for free(), which is to be
 * asked in its place. */
bool groups_read(const char *sql, size_t n, struct groups_spec *w, char **select);
/* Computes the groups of q's calls. Returns 1; 0: SQLite has to do it (too many groups, sums that
 * it computes otherwise); or -errno and q->err. */
int groups_make(struct query *q, const struct groups_spec *w);
/* Frees what is in it. */
void groups_free(struct groups *g);

extern const struct query_table groups_table;

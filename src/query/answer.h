/* SPDX-License-Identifier: MIT */
/* A query over rows that the caller has, in place of a trace: the table `answer`, whose columns are
 * keys k0, k1, ..., the hit count n, and values v0, v1, ... */
#pragma once
#include "query/query.h"

/* A text, if it is not NULL, else a number. */
struct query_cell { const char *text; uint64_t number; bool is_signed; };

/* Opens it without rows; query_close() closes it. 0, or -errno and *err. */
int query_answer_open(unsigned keys, unsigned values, struct query **out, struct err *err);
/* Adds a row, of keys + 1 + values cells. A failure is the next query_run()'s. */
void query_answer_add(struct query *q, const struct query_cell *cells, unsigned n);

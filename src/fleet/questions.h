/* SPDX-License-Identifier: MIT */
/* Questions about the runs of a fleet. Each server adds up its own runs; brace joins what they
 * answer, so that servers need not know each other. */
#pragma once
#include "fleet/answer.h"
#include "query/query.h"

struct fleet_question {
	const char *name, *summary;
	bool of_function;             /* it wants the name of one */
	unsigned texts, keys, values; /* of a row: the first keys are texts */
	const char *const *asks;      /* what servers are asked, ends with NULL; see questions.c */
	const char *select;           /* over the table `answer` (query/answer.h) */
};
extern const struct fleet_question fleet_questions[]; /* ends with a name that is NULL */

/* Every function of the chosen runs, with these columns; times in ns, p50 and p99 within 19 %. */
enum fleet_sums_column {
	FLEET_SUMS_NAME, FLEET_SUMS_MODULE, FLEET_SUMS_CALLS, FLEET_SUMS_TOTAL, FLEET_SUMS_SELF,
	FLEET_SUMS_MIN, FLEET_SUMS_MEAN, FLEET_SUMS_P50, FLEET_SUMS_P99, FLEET_SUMS_MAX,
};
extern const struct fleet_question fleet_sums;
/* The question of that name; NULL: there is none. */
const struct fleet_question *fleet_question_find(const char *name);

/* The runs that a question is about; NULL or 0: of all. Only runs that were pushed whole count. */
struct fleet_spec {
	const char *function, *host, *label;
	uint64_t since, before;       /* seconds since 1970; before: runs that began earlier */
	bool of_run;
	uint64_t run;                 /* if of_run: this one alone */
};

/* A statement for servers, in which %D is the database, %F the function's name in quotes, and %W
 * the choice of runs, as conditions on `run`, and `minute` or `begin`; free() it. */
char *fleet_question_statement(const char *ask, const struct fleet_servers *s,
			       const struct fleet_spec *w);
/* Asks the servers and gives the joined rows to the sink. 0, or -errno and *err: no server
 * answered, or one refused. */
int fleet_question_ask(const struct fleet_question *q, const struct fleet_servers *s,
		       const struct fleet_spec *w, uint64_t limit, const struct query_sink *sink,
		       void *arg, struct fleet_answer *a, struct err *err);

/* Adds the rows of a server's answer (lines of fields that tabs part) to the table `answer` of
 * `to`, and their number to a->rows. Changes the text, which ends with a NUL and is nothing to
 * trust. 0, or -EPROTO and *err; the rows before stay. */
int fleet_question_take(const struct fleet_question *q, char *text, struct query *to,
			struct fleet_answer *a, struct err *err);

/* SPDX-License-Identifier: MIT */
/* A statement of sql or latency: translated over the events that a program or a tree has, then
 * shown as `echo`s, executed in a tree, or asked in a session. */
#pragma once
#include "sql/sql.h"
#include "ui/invocation.h"

/* `more`: further writes of the command's own, behind those of the statement. */
struct statement_request {
	const char *text;
	const struct sql_write *more;
	size_t n_more;
	bool hist;  /* the synthetic event's histogram is the answer, not its records */
	/* Called for a fault at a column of the text, which the user did not write so: puts the
	 * user's own words and the column there into *err. NULL: the text is the user's. */
	void (*place)(const struct invocation *inv, const char *text, size_t column,
		      struct err *err);
};

/* Translates, and does what inv's options ask for. Returns the exit status; failures are said. */
int statement_run(struct invocation *inv, const struct statement_request *r);

/* SPDX-License-Identifier: MIT */
/* Rows of an answer as one page: a table that sorts, with bars. The viewer is the files of
 * rows/. */
#pragma once
#include "base/out.h"

struct html_rows {
	struct out *to;
	struct out lines;  /* write here: lines of JSON, the first of which has "schema" */
};

/* Begins the page. */
void html_rows_begin(struct html_rows *p, struct out *to);
/* Ends it. notes: sentences that the page shows above the table, n of them. */
void html_rows_end(struct html_rows *p, const char *title, char *const *notes, unsigned n);

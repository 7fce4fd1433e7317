/* SPDX-License-Identifier: MIT */
/* Runs a session for a question (inv->definitions, inv->lines) over a tree of its own, and prints
 * the answer: histograms, at the end or again and again, or records as they come. */
#pragma once
#include "ui/answer_rows.h"
#include "ui/invocation.h"

struct answer {
	VEC(char *) hists;        /* "SYSTEM:EVENT": those whose `hist` files are printed */
	bool records;             /* trace_pipe is printed as it grows */
	uint64_t limit;           /* at most so many records; UINT64_MAX: all */
	struct answer_select select; /* of the histogram, in its place; sql NULL: none */
	uint64_t every_ns;        /* print it each time; 0: at the end, or by inv->top */
};

/* Prints to inv->output, or to standard output; with inv->top the histograms once a second.
 * Returns the exit status; failures are said. */
int answer_run(struct invocation *inv, const struct answer *a);
/* Adds a histogram's event; takes the text over. */
void answer_add_hist(struct answer *a, char *event);
void answer_free(struct answer *a);

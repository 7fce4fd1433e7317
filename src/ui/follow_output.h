/* SPDX-License-Identifier: MIT */
/* The output of brace follow, whosever objects are followed: graphs or lines of JSON, and the
 * first sentence of the summary. */
#pragma once
#include "follow/copies.h"
#include "follow/print.h"
#include "ui/invocation.h"
#include "ui/screen.h"

struct follow_output {
	struct screen screen;
	struct follow_print print;
	struct follow_objects *objects;
	struct follow_copies copies; /* by identity */
	bool by_identity, json;
};

/* Opens the screen, or the file of -o that was begun. *print is copied, but for `to`, which is set
 * here; what it points to outlives *o. */
void follow_output_open(struct follow_output *o, struct invocation *inv,
			const struct follow_print *print);
/* A follow_sink. */
void follow_output_event(void *output, const struct follow_event *e);
/* Prints what is kept. */
void follow_output_end(struct follow_output *o);
/* With --json the totals as a line, which is the first one of the summary; otherwise nothing. */
void follow_output_print_totals(struct follow_output *o);
/* "brace: 2 objects, ..." */
void follow_output_say_totals(const struct follow_output *o);
/* Says "BEFORE N WHAT" if n is not 0; *before becomes a comma. */
void follow_output_say_count(uint64_t n, const char *what, const char **before);
/* A zeroed one that was never opened is left as it is. Returns status, or EXIT_BRACE. */
int follow_output_close(struct follow_output *o, int status);

/* The options that both sides have. 0, or -EINVAL and *err. */
int follow_output_by(const struct invocation *inv, bool *identity, struct err *err);
/* -l and -n, which may have no conditions on arguments. */
int follow_output_lists(const struct settings *lists, struct err *err);

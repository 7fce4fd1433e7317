/* SPDX-License-Identifier: MIT */
/* The question of `brace hist`, as text: "TARGET [KEY[,KEY]...] [PART]... [if FILTER]". TARGET is
 * an event or a function, KEYs and PARTs (vals=, sort=, size=, ...) are those of a hist trigger.
 * Commas and blanks both part keys. Knows nothing of events. */
#pragma once
#include <stddef.h>

#include "base/err.h"

struct hist_question {
	const char *text;
	size_t at, n;             /* TARGET, in the text */
	char *trigger;            /* "hist:keys=...", $argN and $retval without their $ */
};

/* Returns 0 and *out, which hist_question_free() frees; or -EINVAL and *err with the column. text
 * has to live on. */
int hist_question_parse(const char *text, struct hist_question *out, struct err *err);
/* Names another field wherever `name`, n characters, stands without a modifier. n is not 0. */
void hist_question_rename(struct hist_question *q, const char *name, size_t n, const char *field);
void hist_question_free(struct hist_question *q);

/* SPDX-License-Identifier: MIT */
/* The content of an event's `filter` file, and of its system's: set, shown, cleared, as in ftrace.
 * A refused text stands there with its error, and nothing is filtered. */
#pragma once
#include "event/filter_compile.h"

struct event_filter {
	char *text;                     /* text of the file without the last newline; NULL: none */
	struct filter_program *program; /* NULL: everything passes */
};

/* `echo text > filter`. "0" clears it. Returns 0, or -errno and *fault, which points into text, for
 * error_log. Of more than FILTER_TEXT_MAX - 1 characters nothing is taken or changed: -EINVAL, and
 * fault->code is 0. */
int event_filter_write(struct event_filter *f, const struct event_format *e, const char *text,
		       const struct filter_context *c, struct filter_fault *fault);
/* `cat filter`; free() it. */
char *event_filter_read(const struct event_filter *f);
/* Frees what is in f, and makes it empty. */
void event_filter_free(struct event_filter *f);

/* An event of the system whose filter file is written. */
struct event_filter_member {
	const struct event_format *event;
	struct event_filter *filter;
};

/* `echo text > events/SYSTEM/filter`: writes to each of the n events. Those that lack a field lose
 * their filter and show why. Returns 0, even if none took it, as in ftrace; -EINVAL if there are
 * none. *faults: how often error_log gets *fault. */
int event_filter_write_system(struct event_filter *system,
			      const struct event_filter_member *members, size_t n, const char *text,
			      const struct filter_context *c, struct filter_fault *fault,
			      unsigned *faults);
/* `cat events/SYSTEM/filter`; free() it. */
char *event_filter_read_system(const struct event_filter *system);

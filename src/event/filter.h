/* SPDX-License-Identifier: MIT */
/* What stands in an event's `filter` file, and in the one of its system: set, shown, cleared, as in ftrace. A
 * text that is refused stands there with its error, and nothing is filtered. */
#pragma once
#include "event/filter_compile.h"

struct event_filter {
	char *text;                     /* as the file shows it, without the last newline; NULL: none */
	struct filter_program *program; /* NULL: everything passes */
};

/* `echo text > filter`. "0" clears. 0, or -errno and *fault, which points into text; error_log gets it. Of more than
 * FILTER_TEXT_MAX - 1 characters nothing is taken or changed: -EINVAL, and fault->code is 0. */
int event_filter_write(struct event_filter *f, const struct event_format *e, const char *text,
		       const struct filter_context *c, struct filter_fault *fault);
/* `cat filter`; free() it. */
char *event_filter_read(const struct event_filter *f);
void event_filter_free(struct event_filter *f);

/* An event of the system whose filter file is written. */
struct event_filter_member {
	const struct event_format *event;
	struct event_filter *filter;
};

/* `echo text > events/SYSTEM/filter`: into each of the n events. Those that lack a field lose the filter they had and
 * show why. 0, also if none took it, as in ftrace; -EINVAL if there
 * are none. *faults: how often error_log gets *fault. */
int event_filter_write_system(struct event_filter *system, const struct event_filter_member *members, size_t n,
			      const char *text, const struct filter_context *c, struct filter_fault *fault, unsigned *faults);
char *event_filter_read_system(const struct event_filter *system);

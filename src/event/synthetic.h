/* SPDX-License-Identifier: MIT */
/* Synthetic events: events that no program records, but that a histogram's action makes of values
 * that it has (src/hist). A line of synthetic_events:
 *   NAME TYPE FIELD[; TYPE FIELD]...      defines one; of dynamic_events: s:[synthetic/]NAME ...
 *   !NAME                                 removes it
 * Sentences and columns are the kernel's. */
#pragma once
#include "base/out.h"
#include "event/format.h"
#include "event/provider.h"

#define SYNTHETIC_SYSTEM "synthetic"
#define SYNTHETIC_FIELDS_MAX 63u   /* the words of a record; the kernel has 64 */
#define SYNTHETIC_STRING_MAX 256u  /* bytes of a string, its NUL included */

extern const struct event_provider synthetic_provider;

enum synthetic_action { SYNTHETIC_NOTHING /* empty */, SYNTHETIC_DEFINE, SYNTHETIC_REMOVE };

struct synthetic_command {
	enum synthetic_action action;
	char *name;
	/* of DEFINE: the event's, without an id; strings are its own */
	struct event_format *format;
};

/* Takes a line apart that has no newline, no comment and no blanks at its begin. 0, or -EINVAL and
 * *err with the column; nothing is left to free then. synthetic_command_free() frees what is in
 * *out. */
int synthetic_command_parse(const char *line, struct synthetic_command *out, struct err *err);
/* Parses a line of dynamic_events that begins with `s:`, with the results of
 * synthetic_command_parse(). */
int synthetic_command_parse_dynamic(const char *line, struct synthetic_command *out,
				    struct err *err);
void synthetic_command_free(struct synthetic_command *c);

/* Writes "NAME\tTYPE FIELD; TYPE FIELD", which can be written back. */
void synthetic_show(const struct event_format *f, struct out *to);

/* Whether the field's bytes stand behind the fixed ones: a string or stack without a length. */
bool synthetic_is_dynamic(const struct event_field *f);
/* Whether the field is a string; a stack. */
bool synthetic_is_string(const struct event_field *f);
bool synthetic_is_stack(const struct event_field *f);

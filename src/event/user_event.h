/* SPDX-License-Identifier: MIT */
/* Events that programs register by themselves, over the kernel's interface user_events: the file
 * user_events_data of a tree (tree/user_events.h). A program describes an event in one line,
 *   NAME [TYPE FIELD[; TYPE FIELD]...]
 * and writes its records, as the fields lie in them. The grammar is that of Linux 6.12. */
#pragma once
#include "base/out.h"
#include "event/format.h"
#include "event/provider.h"

#define USER_EVENT_SYSTEM "user_events"
#define USER_EVENT_MULTI_SYSTEM "user_events_multi"
#define USER_EVENT_LINE_MAX 512u   /* bytes of a line, its NUL included, as the kernel's */

extern const struct event_provider user_event_provider;

/* Whether the name, a pattern perhaps, is of the systems of these events, "user_events:request",
 * and what to say of it where there is no such event. */
bool user_event_is_name(const char *name);
#define USER_EVENT_CURE                                                                           \
	"programs register the events of user_events while they run, in a tree: "                  \
	"brace shell --run PROGRAM, then echo 1 > events/user_events/NAME/enable (brace help shell)"

struct user_event_command {
	char *name;
	char *fields;             /* "TYPE FIELD; ...", each once written alike; "": none */
	VEC(struct event_field) at; /* types and names are its own */
};

/* Takes a line apart. 0; or -EINVAL, or -E2BIG for fields that no record has room for, and *err
 * with the column; nothing is left to free then. user_event_command_free() frees what is in *out.
 * Any thread. */
int user_event_parse(const char *line, struct user_event_command *out, struct err *err);
void user_event_command_free(struct user_event_command *c);

/* Makes the format of an event with the command's fields; event_format_free() frees it. NULL and
 * *err: the names make it another text. */
struct event_format *user_event_format(const struct user_event_command *c, const char *system,
				       const char *name, struct err *err);

/* The fields of a format that user_event_format() made, as they stand in a command. */
void user_event_show(const struct event_format *f, struct out *to);

/* Whether n bytes are a record of the event, without the common fields: 0; -EINVAL: they are too
 * few; -EFAULT: a field of variable length reaches behind them, or a string has no end. */
int user_event_check(const struct event_format *f, const void *bytes, size_t n);
/* Whether the event is one of these, by its system. */
bool user_event_is(const struct event_format *f);

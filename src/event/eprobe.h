/* SPDX-License-Identifier: MIT */
/* Events on the fields of other events. A line of dynamic_events:
 *   e[:[GRP/][EVENT]] SYSTEM/EVENT|SYSTEM.EVENT [FETCHARG...] [if FILTER]
 * and the definition that it makes (fetch.h: FETCHARG; $FIELD is a field of the other event, FILTER
 * one of its filters). A record is made of each of the other event's records that the filter
 * passes. Sentences are the kernel's. Beyond it, the other event may be a probe. */
#pragma once
#include "event/fetch.h"
#include "event/filter_compile.h"

#define EPROBE_SYSTEM "eprobes"
/* Where fetch programs find the other event's record, from common_type on: no process has memory
 * at addresses of the upper half. */
#define EPROBE_RECORD UINT64_C(0xffffb00000000000)

struct event_catalogue;
struct event_entry;
struct event_provider;

extern const struct event_provider eprobe_provider;

/* A defined event on another one. */
struct eprobe {
	const struct event_entry *base; /* lives as long as the catalogue */
	char *arguments;                /* as listed: " a=$prev_pid b=$next_pid", or "" */
	struct filter_program *filter;  /* on the other event; NULL: all records */
	struct fetch_program *program;
	uint32_t program_bytes;
};

struct eprobe_command {
	char *group, *event;
	struct eprobe *eprobe;
	char *format;             /* text for events_add_eprobe() */
	/* The filter's text of a line that is refused, for the error_log, if that is at fault,
	 * else NULL; and the kernel's column in it, or in the line, which may be behind the
	 * end. */
	char *filter;
	size_t column;
};

/* Whether the line defines such an event. */
bool eprobe_command_is(const char *line);
/* Takes a line apart, without its newline. 0, or -EINVAL, -E2BIG and *err with the column: in
 * out->filter, if that is set, else in the line. eprobe_command_free() frees what is in *out, also
 * after an error. */
int eprobe_command_parse(const char *line, struct event_catalogue *c, struct eprobe_command *out,
			 struct err *err);
void eprobe_command_free(struct eprobe_command *c);
void eprobe_free(struct eprobe *e); /* NULL: nothing */

/* Returns " SYSTEM.EVENT ARGUMENT...", as the kernel lists it; free() it. */
char *eprobe_text(const struct eprobe *e);

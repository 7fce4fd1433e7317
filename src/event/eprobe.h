/* SPDX-License-Identifier: MIT */
/* Events that are made of other events' records. A line of dynamic_events:
 *   e[:[GRP/][EVENT]] SYSTEM/EVENT|SYSTEM.EVENT [FETCHARG...] [if FILTER]
 *   t[:[GRP/][EVENT]] [SYSTEM:]TRACEPOINT [FETCHARG...]
 * and the definition that it makes (fetch.h: FETCHARG). With e $FIELD is a field of the other
 * event, FILTER one of its filters, and a record is made of each record that the filter passes.
 * With t the other event is a tracepoint: a static event, a marker, or whatever else the session
 * has that nobody defined; $argN is its field number N. Sentences are the kernel's. Beyond it, the
 * other event of e may be a probe, and TRACEPOINT may have its SYSTEM, or a marker's PROVIDER. */
#pragma once
#include "event/fetch.h"
#include "event/filter_compile.h"

#define EPROBE_SYSTEM "eprobes"
#define TPROBE_SYSTEM "tracepoints"
/* Where fetch programs find the other event's record, from common_type on: no process has memory
 * at addresses of the upper half. */
#define EPROBE_RECORD UINT64_C(0xffffb00000000000)

struct event_catalogue;
struct event_entry;
struct event_provider;
struct line_words;

extern const struct event_provider eprobe_provider;

/* A defined event on another one. */
struct eprobe {
	const struct event_entry *base; /* lives as long as the catalogue */
	char *tracepoint;               /* as listed; NULL: it was defined by e */
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

/* Whether the line defines such an event: by e; by t. */
bool eprobe_command_is(const char *line);
bool tprobe_command_is(const char *line);
/* Takes a line apart, without its newline. 0, or -EINVAL, -E2BIG and *err with the column: in
 * out->filter, if that is set, else in the line. eprobe_command_free() frees what is in *out, also
 * after an error. */
int eprobe_command_parse(const char *line, struct event_catalogue *c, struct eprobe_command *out,
			 struct err *err);
void eprobe_command_free(struct eprobe_command *c);
/* Parses a line with t, with eprobe_command_parse()'s results; all faults are in the line. */
int tprobe_command_parse(const char *line, struct event_catalogue *c, struct eprobe_command *out,
			 struct err *err);
void eprobe_free(struct eprobe *e); /* NULL: nothing */

/* Compiles a field of the record that a program is made for: its number, or the address of its
 * string. */
void eprobe_emit_field(struct fetch_build *b, const struct event_field *f);
/* For both parsers. Cuts the line into words, and begins *out; `missing` is the sentence for a line
 * of one word. 0, or -errno and w->err. eprobe_line_end() frees w's copy, also after an error. */
int eprobe_line_cut(const char *line, const char *missing, struct line_words *w,
		    struct eprobe_command *out);
/* Compiles the arguments by a build that was begun for the other event's record, and frees it.
 * out->event is the event's name. 0, or -errno and w->err. */
int eprobe_arguments(const struct line_words *w, struct eprobe_command *out, struct fetch_build *b);
/* r: the result so far, which it returns; notes the column of a fault. */
int eprobe_line_end(struct line_words *w, struct eprobe_command *out, int r);
/* Returns " SYSTEM.EVENT ARGUMENT...", " TRACEPOINT ARGUMENT...", as the kernel lists it; free()
 * it. */
char *eprobe_text(const struct eprobe *e);

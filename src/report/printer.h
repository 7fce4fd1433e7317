/* SPDX-License-Identifier: MIT */
/* The printer of a trace: function_graph's or function's, by its tracer. */
#pragma once
#include "report/format.h"
#include "trace/event.h"

struct printer_ops;
struct callers;
struct source_text;

struct printer {
	const struct printer_ops *ops;
	const struct trace_info *info;
	void *state;
};

/* Chooses the printer by info->tracer ("nop" prints as "function"). info may grow; it and out must
 * outlive p. */
void printer_open(struct printer *p, const struct trace_info *info, uint64_t options,
		  struct out *out);
/* Prints the lines that begin with #. */
void printer_header(struct printer *p, const struct trace_header *h);
/* printer_open and printer_header, for a whole trace. */
void printer_begin(struct printer *p, const struct trace_info *info, uint64_t options,
		   struct out *out);
/* graph_set_callers, before the first event; `function` ignores them. */
void printer_set_callers(struct printer *p, const struct callers *callers);
/* Calls have their lines of the source; NULL: they have not. `function` ignores it. */
void printer_set_sources(struct printer *p, struct source_text *sources);
/* Whether the trace's printer would use the callers. */
bool printer_wants_callers(const struct trace_info *info, uint64_t options);
void printer_event(struct printer *p, const struct event *e);
/* Prints the record that waits for a next one: no more come for now. */
void printer_flush(struct printer *p);
/* Flushes and frees. */
void printer_close(struct printer *p);
/* Whether records are binary numbers (the option bin), not text. */
bool printer_is_binary(const struct trace_info *info, uint64_t options);

/* SPDX-License-Identifier: MIT */
/* The printer that belongs to a trace: function_graph's or function's. */
#pragma once
#include "report/format.h"
#include "trace/event.h"

struct printer_ops;

struct printer {
	const struct printer_ops *ops;
	void *state;
};

/* Chooses by info->tracer ("nop" prints as "function"). */
void printer_open(struct printer *p, const struct trace_info *info, uint64_t options, struct out *out);
/* The lines that begin with #. */
void printer_header(struct printer *p, const struct trace_header *h);
/* Both, for a whole trace. */
void printer_begin(struct printer *p, const struct trace_info *info, uint64_t options, struct out *out);
void printer_event(struct printer *p, const struct event *e);
/* Nothing more is coming for now: what waits for a next event is printed. */
void printer_flush(struct printer *p);
void printer_close(struct printer *p);
/* Are records numbers in binary (the option bin), no text? */
bool printer_is_binary(const struct trace_info *info, uint64_t options);

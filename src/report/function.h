/* SPDX-License-Identifier: MIT */
/* The function tracer's output as ftrace prints it: a line a call, `name <-caller`.
 *
 * The caller is the function around the call site; where none is known, module+offset or the bare
 * address. A call's own offset is 0: records name functions, not addresses.
 *
 * Options that change it: print-parent, sym-offset, sym-addr, irq-info, record-tgid, context-info,
 * latency-format, verbose, raw, hex, bin, fields. */
#pragma once
#include "report/format.h"
#include "trace/event.h"

struct function_printer;

/* info may grow; it and out must outlive the printer. function_free frees. */
struct function_printer *function_new(const struct trace_info *info, uint64_t options,
				      struct out *out);
void function_free(struct function_printer *p);

/* Prints the lines that begin with #. */
void function_header(struct function_printer *p, const struct trace_header *h);
/* Prints calls, events and lost records; other events are not the function tracer's and are
 * skipped. With latency-format one record is held back: its mark tells how long until the next. */
void function_event(struct function_printer *p, const struct event *e);
/* latency-format: lines count from this time, not from the program's launch. */
void function_start(struct function_printer *p, uint64_t tsc);
/* Prints the record held back. Does not flush `out`. */
void function_flush(struct function_printer *p);

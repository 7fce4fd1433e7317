/* SPDX-License-Identifier: MIT */
/* The text of ftrace:wakeup and ftrace:context_switch, which the latency tracers write: the
 * kernel's, to the byte (trace_ctxwake_print). */
#pragma once
#include "base/out.h"
#include "report/event_text.h"

/* Prints the record behind its context, with a newline; false: it is another event. The name is
 * that of the thread with the record's next_pid, at the record's time. */
bool ctxwake_text_record(struct out *out, const struct trace_info *info, struct event_texts *texts,
			 const struct event *e);
/* Returns the text of ctxwake_text_record() without its newline, for free(); NULL: it is another
 * event. */
char *ctxwake_text(const struct trace_info *info, struct event_texts *texts, const struct event *e);

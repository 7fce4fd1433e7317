/* SPDX-License-Identifier: MIT */
/* Events of the traced programs as text, printed by their print formats with libtraceevent, as
 * trace-cmd shows them. Formats and records may be anybody's: a format that could lead out of its
 * record, and a record that does not fit its format, are shown by their fields. Not locked: each
 * printer has its own. */
#pragma once
#include "base/out.h"
#include "trace/event.h"

struct event_texts;

/* info may grow; it must outlive the result, which event_texts_free frees. */
struct event_texts *event_texts_new(const struct trace_info *info);
void event_texts_free(struct event_texts *t);

/* Text of trace_marker begins with this. */
#define EVENT_TEXT_MARKER "tracing_mark_write: "

/* Returns "name: ..." (or `<stack trace>`, of several lines) without a newline at its end, valid
 * until the next call. options: `fields` and those about stacks are used. */
const char *event_text(struct event_texts *t, const struct event *e, uint64_t options);
/* Returns a marker as option raw shows it; NULL: another event, which has no raw form. Valid until
 * the next call. */
const char *event_text_raw(struct event_texts *t, const struct event *e);
/* Whether e is ftrace's own event of this name. */
bool event_text_is(struct event_texts *t, const struct event *e, const char *name);
/* The number in the event's `id` file; 0: the trace does not have it. */
uint32_t event_text_id(struct event_texts *t, const struct event *e);

/* SPDX-License-Identifier: MIT */
/* Events of the traced programs as text: what their print formats make of a record, by libtraceevent, as trace-cmd
 * shows it. Formats and records may be anybody's: a format that could lead out of its record, and a record that is
 * not of its format, are shown by their fields. */
#pragma once
#include "base/out.h"
#include "trace/event.h"

struct event_texts;

struct event_texts *event_texts_new(const struct trace_info *info);
void event_texts_free(struct event_texts *t);

/* What text that was written to trace_marker begins with. */
#define EVENT_TEXT_MARKER "tracing_mark_write: "

/* "name: ..." (or `<stack trace>`, of several lines) without a newline at its end, valid until the next call. options: of
 * them `fields`, and how stacks are told. */
const char *event_text(struct event_texts *t, const struct event *e, uint64_t options);
/* Whether it is the event of ftrace's own with this name. */
/* A marker as option raw has it; NULL: another event, which has no raw form. Until the next call. */
const char *event_text_raw(struct event_texts *t, const struct event *e);
bool event_text_is(struct event_texts *t, const struct event *e, const char *name);
/* The number that stands in its `id` file; 0: the trace does not say. */
uint32_t event_text_id(struct event_texts *t, const struct event *e);

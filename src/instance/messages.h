/* SPDX-License-Identifier: MIT */
/* Records as messages of the triggers `notify` and `exec`: a line, an object of JSON, or variables
 * of a command. On the pump's thread. */
#pragma once
#include "event/catalogue.h"
#include "event/outside.h"
#include "report/event_text.h"
#include "trace/trace_info.h"

/* A record, an EVENT_TRACE of a thread that info has. */
struct message_source {
	const struct trace_info *info;
	const struct event_entry *entry;
	const struct event *event;
	uint64_t tsc; /* its time: buffer_time_of() */
};

/* Gives the messenger what the trigger says of the record; what it cannot take is counted. */
void messages_make(struct outside *o, const struct message_source *s, struct event_texts *texts);

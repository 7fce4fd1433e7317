/* SPDX-License-Identifier: MIT */
/* The text of the tracers that measure (osnoise, timerlat, hwlat): headers and records, to the
 * kernel's byte. */
#pragma once
#include "base/out.h"
#include "report/event_text.h"

/* Prints the columns of the tracer of this name; false: it is another tracer. */
bool osnoise_text_header(struct out *out, const char *tracer);
/* Prints the record behind its context, with a newline; false: it is another event. */
bool osnoise_text_record(struct out *out, struct event_texts *texts, const struct event *e);

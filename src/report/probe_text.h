/* SPDX-License-Identifier: MIT */
/* The text of a probe's record as the kernel prints it: (0xPLACE), (0xCALLER <- 0xFUNCTION), arrays
 * in braces, (fault) for a string that could not be read. */
#pragma once
#include <traceevent/event-parse.h>

#include "event/format.h"

/* Whether the event is a probe's, by its first fields. */
bool probe_text_is(const struct event_format *f);

/* Whether the record, of `size` bytes, has the probe's place: a tracepoint's may have none. */
bool probe_text_has_place(const struct event_format *f, const uint8_t *record, uint32_t size);

/* Returns a function's name at *address, and makes it the function's begin; NULL: none is there. As
 * tep_func_resolver_t. */
typedef char *(*probe_symbol)(void *context, unsigned long long *address, char **module);

/* Appends the text behind the event's name; no_place: its fields alone, of an event on another
 * one. `record` has `size` bytes with the common fields, in
 * which all fixed fields lie. False: the print format is none that a probe has; then something may
 * have been appended. */
bool probe_text(const struct event_format *f, bool no_place, const uint8_t *record, uint32_t size,
		probe_symbol symbol, void *context, struct trace_seq *to);

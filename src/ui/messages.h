/* SPDX-License-Identifier: MIT */
/* Messages of traced processes, as lines: programs that ran untraced, processes that stopped
 * recording. */
#pragma once
#include <stddef.h>

#include "base/out.h"
#include "trace/trace_info.h"

/* A word for machines: "static", "stopped", ... */
const char *messages_kind(uint32_t kind);
/* Prints the notes in lines that begin with `prefix`. */
void messages_print(struct out *o, const char *prefix, const struct trace_message *messages,
		    size_t n);

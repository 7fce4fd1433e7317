/* SPDX-License-Identifier: MIT */
/* What traced processes had to say, as lines: programs that ran untraced, processes that stopped recording. */
#pragma once
#include <stddef.h>

#include "base/out.h"
#include "trace/trace_info.h"

/* A word for machines: "static", "stopped", ... */
const char *notes_kind(uint32_t kind);
void notes_print(struct out *o, const char *prefix, const struct trace_note *notes, size_t n);

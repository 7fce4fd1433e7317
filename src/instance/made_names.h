/* SPDX-License-Identifier: MIT */
/* Names for code that programs make while they run: what they tell profilers in /tmp/perf-PID.map
 * and in jitdump files (sym/made_code.h). A function that is asked for becomes a module of the
 * trace_info, so that every reader of it, and the trace file, has the name. Not locked: it belongs
 * to the triggers, which run under pump_lock. */
#pragma once
#include "trace/trace_info.h"

#define MADE_NAMES_BYTES (UINT64_C(64) << 20) /* of a session: made_code_bytes() of all */

struct made_names;
/* info must outlive it; modules are added to it. Reads nothing yet. */
struct made_names *made_names_new(struct trace_info *info);
void made_names_free(struct made_names *n); /* NULL is fine */

/* Whether the image's program has told of any code that it made. Reads its files, at most every few
 * milliseconds. */
bool made_names_any(struct made_names *n, uint32_t image);
/* Whether the program has told of code at the address. If so trace_info_function_at() finds it from
 * here on at times up to tsc and later, up to a bound for the functions of a session; addresses in
 * files keep their names. Pointers into info->modules may become invalid. What a program told is
 * forgotten after its image is complete; tsc grows from call to call, about. */
bool made_names_know(struct made_names *n, uint32_t image, uint64_t address, uint64_t tsc);

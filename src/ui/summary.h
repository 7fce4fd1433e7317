/* SPDX-License-Identifier: MIT */
/* Figures for the user, on standard error. */
#pragma once
#include "session/session.h"

/* Prints the closing summary of a traced run. `trace_file` NULL: none was written. */
void summary_print(const struct session_result *r, const char *trace_file);

/* Says what befell programs, and events that have no probe somewhere; nothing if all went well. */
void summary_messages(const struct session_result *r);

/* Says that the file could not take all, and how much it lacks; nothing if it could. */
void summary_full(const struct session_result *r);

/* Says which process could not be left as it was, and the cure. True if brace had attached to it,
 * which is an error then; of a launched program, its own status matters more. */
bool summary_stuck(const struct session_result *r);

/* Prints the black box: the last n calls of each thread of a program that a signal ended, from its
 * trace file. */
void summary_black_box(const char *trace_file, int wait_status, unsigned n);

/* 12345678 -> "12,345,678". buf has 32 bytes; returns it. */
const char *summary_grouped(uint64_t v, char *buf);

/* "brace: N of M functions hooked: A jump, B short; not hooked: C too-short; D filtered out",
 * from counts by enum hook_kind and enum hook_reason (of those not hooked). */
void summary_hooks(const uint32_t *by_kind, const uint32_t *by_reason);
/* Says how much of the code all known functions are, where that is little. */
void summary_coverage(uint64_t code_bytes, uint64_t unknown_bytes);

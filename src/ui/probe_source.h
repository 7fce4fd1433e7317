/* SPDX-License-Identifier: MIT */
/* The lists of brace probe: places of a file in the words of its source. */
#pragma once
#include "ui/invocation.h"

/* Each prints one list to standard output, as perf probe does, and returns brace's exit status.
 * path: the program or library. */

/* Functions whose first instruction can be probed, of those that match the questions. */
int probe_source_functions(const struct invocation *inv, const char *path);
/* The variables at the place inv->of_probe.variables. */
int probe_source_variables(const struct invocation *inv, const char *path);
/* The lines of inv->of_probe.lines: FUNCTION[@FILE][:FROM[-TO]] or FILE[:FROM[-TO]]; a number
 * before those that can be probed, a dash before those that have code where no probe fits. */
int probe_source_lines(const struct invocation *inv, const char *path);

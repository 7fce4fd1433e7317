/* SPDX-License-Identifier: MIT */
/* Opening a trace file, as replay, report and info do. */
#pragma once
#include "store/store.h"
#include "ui/invocation.h"

/* Opens the command's first operand, or trace.brace. Says what is wrong, and warns of a file that
 * was cut short. 0, or EXIT_BRACE. The caller closes *out. */
int trace_file_open(const struct invocation *inv, struct store_reader **out);
